"""The CPU, as launchers that serve every device see it: the argument ``on`` of those in ``kernels/common``.

Arrays are NumPy's. Both devices have these names, with the same arguments; other names are the families' modules of
this device, as ``on.gather_scatter``.
"""

from __future__ import annotations

import functools
import sys

import numpy as np

from ....arrays import integers, native, output, refuse_overlap, to_dtype, upcast  # noqa: F401
from ....arrays.ids import checked_ids, ids_in_range  # noqa: F401
from ....lod import check_vector  # noqa: F401
from ....lod.copy_runs import copy_runs, move_runs  # noqa: F401
from ....ops.shared.plain import clip_lengths, largest_id, put_rows, read, send, take, wrap_ids  # noqa: F401
from ... import importing

#: Reductions of a vector by unsorted ids that ``segments.scatter`` makes without a sort.
SCATTERED = ("sum", "mean", "sqrt", "prod", "max", "min")


def launcher(function):
    """Wrap a launcher for the registry: it takes this module first."""
    launch = functools.partial(function, sys.modules[__name__])
    functools.update_wrapper(launch, function)
    launch.__kwdefaults__ = function.__kwdefaults__
    return launch


def views(inputs):
    """Inputs as launchers get them."""
    return inputs


def zeros(shape, dtype, like):
    """A new array of zeros."""
    return np.zeros(shape, native(dtype))


def join_rows(arrays):
    """The rows of all arrays, one after another. Big ones in pages as ``output`` has them: 3 times as fast."""
    dtypes = {x.dtype for x in arrays}
    dtype = np.result_type(*dtypes) if len(dtypes) > 1 else native(arrays[0].dtype)
    return np.concatenate(arrays, out=output((sum(map(len, arrays)), *arrays[0].shape[1:]), dtype))


def part(x, start, stop):
    """The rows from ``start`` to ``stop``, in place."""
    return x[start:stop]


def convert(x, dtype, new=False):
    """An array in another type; itself where it has that type, unless it must be ``new``: in C order then."""
    made = to_dtype(x, native(np.dtype(dtype)))
    return np.array(made, order="C") if new and (made is x or not made.flags.c_contiguous) else made


def view_as(x, dtype):
    """The memory of an array as numbers of another type of the same width, in C order."""
    return to_contiguous(x).view(dtype)


def add_number(x, number):
    """A new array of int64, ``x + number`` modulo 2**64."""
    return x + np.int64(number)


def fill(out, number):
    """Put ``number`` into every element of ``out``."""
    out[...] = number
    return out


fill_rows = fill


def copy_elements(source, out):
    """Copy all elements, in order, rounded to the type of ``out``."""
    out[...] = source
    return out


def structure(x):
    """Numbers that plans read, on the CPU."""
    return x


def send_offsets(like, offsets):
    """Checked offsets of a LoDTensor on the device of ``like``, once."""
    return offsets


def namespace_and_arrays(*arrays):
    """Functions under the names of the array API, and the arrays in the type in which they are computed."""
    return np, *map(upcast, arrays)


def round_like(like, *results):
    """Results that were computed so, in the type of ``like``."""
    dtype, found = native(like.dtype), results
    if not all(type(x) is np.ndarray and x.dtype == dtype for x in results):
        # np.errstate takes 1.2 us.
        with np.errstate(over="ignore"):
            found = tuple(to_dtype(np.asarray(x), dtype) for x in results)
    return found if len(found) > 1 else found[0]


def to_contiguous(x):
    """An array as C-contiguous memory in native byte order; itself where it is."""
    return np.ascontiguousarray(x, native(x.dtype))


#: Names that are imported when they are first used: module -> names.
HOMES = {
    ".conversions": ("sum_lengths",),
    "cells": ("absent_in", "cells_of", "find_columns", "find_last", "put_last"),
    "gather": ("gather", "gather_loop", "scatter_rows", "take_rows"),
    "gradients": ("values_grad", "weights_grad"),
    "indices": ("reduce_with_index",),
    "jitter": ("jitter",),
    "map_rows": ("map_rows",),
    "merge": ("add_rows", "dense_rows", "merge_rows", "rows_grad", "single_runs", "table_grad", "total"),
    "norms": ("squared_norm", "stepped_loops", "stepped_norms"),
    "products": ("columns_of", "matmul", "matmul_ahead", "multiply_arrays"),
    "reduce": ("reduce_into", "reduce_loop", "specialize_reduction"),
    "templates": ("loop_of", "numbers_of"),
    "softmax": ("softmax_grad_rows", "softmax_rows", "sums_of_products"),
    "sort": ("group_rows", "sort_rows"),
    "update": (
        *("can_spread", "dense_loops", "dense_update", "put_together", "record_like", "rows_loops"),
        *("update_all", "rows_update", "update_runs"),
    ),
}

__getattr__ = importing(__name__, HOMES)
