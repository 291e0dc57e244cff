"""The CPU, as launchers that serve every device see it: the argument ``on`` of those in ``kernels/common``.

Arrays are NumPy's. Both devices have these names, with the same arguments; other names are the families' modules of
this device, as ``on.gather_scatter``.
"""

from __future__ import annotations

import functools
import sys

import numpy as np

from ....arrays import integers as integers
from ....arrays import native
from ....arrays import output as output
from ....arrays.ids import checked_ids as checked_ids
from ....ops.shared.plain import largest_id as largest_id
from ....ops.shared.plain import read as read
from ....ops.shared.plain import wrap_ids as wrap_ids
from ... import importing


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


def fill(out, number):
    """Put ``number`` into every element of ``out``."""
    out[...] = number
    return out


fill_rows = fill


def convert(x, dtype):
    """An array in another type; itself where it has that type."""
    return x.astype(native(dtype), copy=False)


#: Names that are imported when they are first used: module -> names.
HOMES = {
    "cells": ("absent_in", "cells_of", "find_columns", "find_last", "put_last"),
    "copy_by_plan": ("moved", "moved_back", "placed", "placed_back", "structure"),
    "gather": ("gather",),
    "gradients": ("values_grad", "weights_grad"),
    "merge": ("dense_rows", "merge_rows", "rows_grad", "table_grad"),
    "reduce": ("argreduce_rows", "reduce_into"),
    "softmax": ("softmax_grad_rows", "softmax_rows"),
    "update": ("update",),
}

__getattr__ = importing(__name__, HOMES)
