"""Compiling CPU kernels: Numba's flags, a disk cache and a threading layer that is safe to enter."""

from .compiling import jitable, njit, parallel_kernel, settings
from .prange import prange
from .search import advance, lower_bound, segment_of, segments_in
from .threading_layer import get_num_threads, limits, run, set_num_threads
from .typed import Bytes, Flags, Numbers, Table, compile_typed
