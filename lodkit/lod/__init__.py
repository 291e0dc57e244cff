"""LoDTensor and SelectedRows: structure, encodings, indexing, batching, text and Jupyter views."""

from .levels import check_lengths, check_lod, check_vector, freeze, mismatch
from .lod_tensor import LoDTensor, values_of
from .rank_table import RankTable
from .row_numbers import bad_row
from .selected_rows import SelectedRows
from .structure import check_bag, check_lod_level
