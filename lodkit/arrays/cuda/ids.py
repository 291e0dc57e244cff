"""Checks of ids on a GPU, as ``lodkit.bounds_check`` says."""

from __future__ import annotations

import numpy as np

from ...base.errors import DTypeError, LoDError, RowIndexError, bad_id
from ..bounds import bounds_check
from ..numpy_arrays import refuse_large
from ..objects import id_remedy_of
from . import vector
from .kernels import convert
from .launcher import elementwise
from .memory import view
from .slots import slots
from .views import pending, raise_pending

#: Integers that int64 holds, and kernels do not read as ids.
_SMALL_TYPES = frozenset(map(np.dtype, ("int8", "int16", "uint8", "uint16", "uint32")))


@elementwise
def find_outside(i, ids, height, first):
    """Store the position of the first id outside ``[0, height)`` in ``first[0]``, initially -1."""
    row = vector.number(ids, i)
    if (row < 0) | (row >= height):
        vector.atomic_first(first, 0, i)


def ids_of(ids, name):
    """View of int32 or int64 ids of any shape; smaller integers, and none, whose type says nothing, as int64."""
    ids = view(ids)
    if ids.dtype not in (np.int32, np.int64):
        if not ids.size:
            return ids.like(ids.shape, np.int64)
        if ids.dtype in _SMALL_TYPES:
            return convert(ids, np.int64)
        if ids.dtype == np.uint64:
            # Of the first one the CPU says what is wrong; this waits for the device.
            refuse_large(ids.read(), name)
            return ids.view_as(np.int64)
        raise DTypeError(f"{name} must be integers, not {ids.dtype}; {id_remedy_of(ids.dtype, name)}")
    return ids


def check_vector(x, name):
    """The View of an int32 or int64 vector."""
    x = ids_of(x, name)
    if x.ndim != 1:
        raise LoDError(f"{name} must be one-dimensional, got shape {x.shape}; pass {name}.reshape(-1)")
    return x


# Each deferred check keeps its ids alive.
MOST_PENDING = 256
# The ids of a kernel that reads more bytes are checked before it, by a kernel that takes less time to wait for.
LATE = 32 << 20


def checked_ids(ids, height, name="ids", error=None, always=False):
    """Check that ids are in ``[0, height)``, as ``bounds_check`` says. Returns their View.

    ``error(ids, position)`` makes the exception, from NumPy's ids. ``always`` raises in every mode, for routines of the
    array library, which do not check.
    """
    ids = ids_of(ids, name)
    mode = "raise" if always else bounds_check()
    if mode != "clamp" and ids.size:
        _check(ids, height, mode, lambda first: find_outside(ids.size, ids, height, first), name, error)
    return ids


def check_as_read(ids, height, size, run):
    """Check ids where a kernel reads ``size`` bytes by them into new memory: one launch less.

    Call ``run(first)``, which launches the kernel that notes the first position of an id outside in ``first[0]``, or
    ``run(None)``, of one that need not.
    """
    mode = bounds_check()
    if mode == "raise" and size > LATE:
        checked_ids(ids, height)
        mode = "clamp"
    if mode == "clamp" or not ids.size:
        run(None)
    else:
        _check(ids, height, mode, run)


def _check(ids, height, mode, note, name="ids", error=None):
    """Have ``note(first)`` note the first position of an id outside in ``first[0]``; raise now, or in a later call."""
    error = error or (lambda numbers, at: bad_id(numbers, height, name, at))
    slot = slots(ids, 1, f'{name} cannot be checked while a CUDA graph is captured; set lodkit.bounds_check("clamp")')
    note(slot.view)
    if mode == "raise":
        (at,) = slot.read()
        if at >= 0:
            raise error(ids.read(), at)
        return
    queue = ids.library.queue(ids.device)
    pending.append((slot, queue, lambda at: _late_error(error, ids.library.read(ids.array), at, height, name)))
    if len(pending) > MOST_PENDING:
        raise_pending()


def _late_error(error, numbers, at, height, name):
    """Error of a deferred check, whose ids may have been overwritten since."""
    number = numbers.reshape(-1)[at]
    if 0 <= number < height:
        return RowIndexError(f"{name}: the id at position {at} was outside [0, {height}) (it is {number} by now)")
    return error(numbers, at)
