"""LoDTensor and SelectedRows: structure, encodings, indexing, batching, text and Jupyter views."""

from .levels import check_lengths, check_lod, check_vector, frozen, mismatch
from .lod_tensor import LoDTensor, values_of
from .rank_table import RankTable
from .selected_rows import SelectedRows, bad_row
