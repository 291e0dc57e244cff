"""CUDA runtime: launch, memory, libraries, vectors. Knows no operator."""

# The whole of Numba, before threads import parts of it concurrently.
import numba

from .ids import check_as_read, check_vector, checked_ids, find_outside, ids_of
from .kernels import add_number, add_to, convert, copy_elements, fill, iota
from .launcher import BLOCK, cuda, device, elementwise, extending, launch, numba_types
from .libraries import library_of
from .memory import (
    copy_of,
    copy_to,
    full_like,
    grad_output_like,
    join_rows,
    norm,
    output,
    overlap,
    refuse_overlap,
    rows_on_device_of,
    view,
)
from .slots import slots
from .views import View
