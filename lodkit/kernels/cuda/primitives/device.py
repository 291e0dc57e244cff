"""A GPU, as launchers that serve every device see it: the argument ``on`` of those in ``kernels/common``.

Arrays are Views of any CUDA library's. Both devices have these names, with the same arguments; other names are the
families' modules of this device, as ``on.gather_scatter``.
"""

from __future__ import annotations

import functools
import sys

import numpy as np

from ....arrays.cuda import View, elementwise, memory, vector, view
from ....arrays.cuda import add_number as add_number
from ....arrays.cuda import check_vector as check_vector
from ....arrays.cuda import checked_ids as checked_ids
from ....arrays.cuda import checked_ids as ids_in_range  # noqa: F401
from ....arrays.cuda import convert as convert
from ....arrays.cuda import copy_elements as copy_elements
from ....arrays.cuda import fill as fill
from ....arrays.cuda import ids_of as integers  # noqa: F401
from ....arrays.cuda import refuse_overlap as refuse_overlap
from ....lod import LoDTensor, RankTable, SelectedRows
from ... import importing

#: Reductions of a vector by unsorted ids that ``segments.scatter`` makes without a sort: none.
SCATTERED = ()


def launcher(function):
    """Wrap a launcher for the registry: inputs become Views, and Views in the result arrays."""

    @functools.wraps(function)
    def launch(*inputs, **attrs):
        given = views(inputs)
        result = function(sys.modules[__name__], *given, **attrs)
        return inputs[0] if type(result) is SelectedRows and result is given[0] else _to_array(result)

    launch.__kwdefaults__ = function.__kwdefaults__
    return launch


def views(inputs):
    """Inputs as launchers get them."""
    return list(map(_to_view, inputs))


def _to_view(x):
    if isinstance(x, LoDTensor):
        if len(x._lod) > 1:
            # Kept with x, so that offsets are sent to the device once.
            x._row_offsets(0)
        made = x._wrap(None if x.values is None else view(x.values), x._lod, x._base)
        made._rows = x._rows
        return made
    if isinstance(x, SelectedRows):
        return SelectedRows._wrap(view(x._rows), view(x.value), x.height, x.is_merged, x._runs)
    return x if x is None or isinstance(x, RankTable) else view(x)


def _to_array(x):
    if isinstance(x, tuple):
        return tuple(map(_to_array, x))
    if isinstance(x, LoDTensor):
        made = x._wrap(_to_array(x.values), x._lod, x._base)
        made._rows = x._rows
        return made
    if isinstance(x, SelectedRows):
        return x._wrap(_to_array(x._rows), _to_array(x.value), x.height, x.is_merged, x._runs)
    return x.array if type(x) is View else x


def output(shape, dtype, out=None, like=None):
    """The View that a kernel fills: of ``out`` where it fits, else of a new array like ``like``."""
    return memory.output(like, shape, dtype, out)


def zeros(shape, dtype, like):
    """A new array of zeros, on the device of ``like``."""
    return fill(like.like(shape, dtype), 0)


def send(like, x):
    """A NumPy array on the device of ``like``."""
    return like.send(x)


def read(x):
    """An array as one of NumPy's. Synchronises with the device."""
    return x.read()


def view_as(x, dtype):
    """The memory of an array as numbers of another type of the same width."""
    return x.view_as(dtype)


def part(x, start, stop):
    """The rows from ``start`` to ``stop``, in place."""
    return x.part(start, stop)


def join_rows(arrays):
    """The rows of all arrays, one after another."""
    return view(memory.join_rows(arrays))


def namespace_and_arrays(*arrays):
    """Functions under the names of the array API, and the arrays in the type in which they are computed."""
    xp = arrays[0].library.namespace()
    given = [xp.asarray(x.array) for x in arrays]
    return xp, *(xp.astype(x, xp.float32) if x.dtype == xp.float16 else x for x in given)


def round_like(like, *results):
    """Results that were computed so, in the type of ``like``."""
    xp = like.library.namespace()
    found = tuple(xp.astype(x, like.array.dtype, copy=False) for x in results)
    return found if len(found) > 1 else found[0]


def to_contiguous(x):
    """A View itself, whose memory is C-contiguous; one of what the array library computed."""
    return view(x)


def upcast(x):
    """A View itself: float16 is its bits, which loads convert."""
    return x


@elementwise
def _wrap(i, ids, height, out):
    """Count ids that are counted from the end from the start; those before the start stay as they are."""
    row = vector.number(ids, i)
    out[i] = row + height if -height <= row < 0 else row


def wrap_ids(ids, height, wrap):
    """Ids that count from the end, counted from the start; those before the start stay as they are."""
    ids = view(ids)
    return _wrap.into(ids.like(ids.shape, np.int64), ids, height) if wrap else ids


#: Names that are imported when they are first used: module -> names.
HOMES = {
    ".conversions": ("clip_lengths", "sum_lengths"),
    "cells": ("absent_in", "cells_of", "find_columns", "find_last", "largest_id", "put_last"),
    "copy_runs": ("copy_runs", "move_runs", "scatter_rows", "structure"),
    "gather": ("add_rows", "fill_rows", "gather", "gather_loop", "put_rows", "take", "take_rows"),
    "gradients": ("sums_of_products", "values_grad", "weights_grad"),
    "indices": ("reduce_with_index",),
    "jitter": ("jitter",),
    "map_rows": ("loop_of", "map_rows", "numbers_of"),
    "matrices": (
        "columns_of",
        "matmul",
        "matmul_ahead",
        "multiply_arrays",
        "squared_norm",
        "stepped_loops",
        "stepped_norms",
    ),
    "merge": ("dense_rows", "group_rows", "merge_rows", "rows_grad", "sort_rows", "table_grad", "total"),
    "offsets": ("send_offsets",),
    "reduce": ("reduce_into", "reduce_loop"),
    "softmax": ("softmax_grad_rows", "softmax_rows"),
    "update": (
        "can_spread",
        "dense_loops",
        "dense_update",
        "put_together",
        "record_like",
        "rows_loops",
        "single_runs",
        "update_all",
        "rows_update",
        "update_runs",
    ),
}

__getattr__ = importing(__name__, HOMES)
