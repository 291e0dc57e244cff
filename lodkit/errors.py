"""The errors that lodkit raises. A message states the rule, the place, the values and the remedy."""

from __future__ import annotations

import numpy as np

from .public import public


@public
class LodkitError(Exception):
    """What every error of lodkit derives from."""


@public
class LoDError(LodkitError, ValueError):
    """Malformed structure: lengths that do not add up, offsets that decrease, a tensor without rows for them."""


@public
class LoDLevelError(LoDError):
    """An operator needs more (or fewer) levels than the tensor has."""


@public
class LoDMismatchError(LoDError):
    """Two operands have different structure."""


@public
class ShapeMismatchError(LodkitError, ValueError):
    """Two arrays that must have one shape have two."""


@public
class OutputError(LodkitError, ValueError):
    """An array given as ``out=``, or to be updated in place, cannot take the result."""


@public
class SegmentIdError(LodkitError, ValueError):
    """Segment ids are unsorted where they must be sorted, negative, or past the number of segments."""


@public
class RowIndexError(LodkitError, IndexError):
    """A row or an id lies outside the table."""


@public
class DTypeError(LodkitError, TypeError):
    """The operation has no meaning for values of this type."""


@public
class NoKernelError(LodkitError, NotImplementedError):
    """No kernel is registered for these inputs; the message lists the kernels there are."""


@public
class DeviceError(LodkitError, RuntimeError):
    """Inputs live on different devices, or on one that cannot be reached."""


@public
class UnknownOperatorError(LodkitError, KeyError):
    """No operator has this name; the message suggests the nearest ones."""

    def __str__(self):
        return str(self.args[0])


def bad_id(ids, height, name, position):
    """The error for the id at ``position`` of the flattened ids."""
    where = tuple(int(i) for i in np.unravel_index(position, ids.shape))
    place = ", ".join(map(str, where))
    return RowIndexError(
        f"{name}[{place}] = {ids[where]} is outside [0, {height}) (the table has {height} rows); "
        "map unknown ids to a row of their own first"
    )


def bad_along(size, axis):
    """What makes the error for a bad id along an axis, whose entries are rows on the first alone."""
    if not axis:
        return None

    def error(ids, position):
        place = ", ".join(str(int(i)) for i in np.unravel_index(position, ids.shape))
        number = ids.reshape(-1)[position]
        return RowIndexError(f"ids[{place}] = {number} is outside [0, {size}) (axis {axis} of data has {size} entries)")

    return error
