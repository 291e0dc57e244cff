"""The CPU, as launchers that serve every device see it: the argument ``on`` of those in ``kernels/common``.

Arrays are NumPy's. Both devices have these names, with the same arguments; other names are the families' modules of
this device, as ``on.gather_scatter``.
"""

from __future__ import annotations

import functools
import operator
import sys

import numpy as np

from ....arrays import native
from ....arrays import output as output
from ....arrays.generic import refuse_overlap as refuse_overlap
from ....arrays.ids import checked_ids as checked_ids
from ....ops.shared.plain import squared_norm as squared_norm
from ....ops.shared.plain import wrap_ids as wrap_ids
from ... import importing

take = operator.getitem


def launcher(function):
    """What the registry calls: ``function`` takes this module first."""
    launch = functools.partial(function, sys.modules[__name__])
    functools.update_wrapper(launch, function)
    launch.__kwdefaults__ = function.__kwdefaults__
    return launch


def zeros(shape, dtype, like):
    """A new array of zeros."""
    return np.zeros(shape, native(dtype))


def send(like, x):
    """A NumPy array on the device of ``like``."""
    return x


def read(x):
    """An array as one of NumPy's."""
    return x


def convert(x, dtype):
    """An array in another type; itself where it has that type."""
    return x.astype(native(dtype), copy=False)


def fill(out, number):
    """Put ``number`` into every element of ``out``."""
    out[...] = number
    return out


#: Names that are imported when they are first used: module -> names.
HOMES = {
    "copy_by_plan": ("moved", "moved_back", "placed", "placed_back", "structure"),
    "gather": ("gather",),
    "gradients": ("values_grad", "weights_grad"),
    "merge": ("dense_rows", "merge_rows", "rows_grad", "table_grad"),
    "reduce": ("argreduce_rows", "reduce_into"),
    "softmax": ("softmax_grad_rows", "softmax_rows"),
    "sort": ("sort_rows",),
    "update": ("record_like", "single_runs", "update_all", "update_rows", "update_runs"),
}

__getattr__ = importing(__name__, HOMES)
