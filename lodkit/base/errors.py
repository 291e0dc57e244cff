"""Errors of lodkit. A message states the rule, the place, the values and the remedy."""

from __future__ import annotations

import numpy as np

from .loading import public

#: Characters of a message at most: names, words and shapes in it may come from a file, and be as long as the file.
MOST_CHARACTERS, FIRST_CHARACTERS, LAST_CHARACTERS = 2000, 1200, 700


@public
class LodkitError(Exception):
    """Base of all errors of lodkit. A message has at most 2,000 characters: of a longer one the middle is left out."""

    def __init__(self, *args: object) -> None:
        super().__init__(*[cut_message(arg) if isinstance(arg, str) else arg for arg in args])


def cut_message(text: str) -> str:
    """Return a message without its middle if it is long: the place stands first in it, and the remedy last."""
    if len(text) <= MOST_CHARACTERS:
        return text
    left_out = len(text) - FIRST_CHARACTERS - LAST_CHARACTERS
    return f"{text[:FIRST_CHARACTERS]} ... ({left_out:,} characters) ... {text[-LAST_CHARACTERS:]}"


@public
class LoDError(LodkitError, ValueError):
    """Malformed structure: lengths that do not sum to the rows, decreasing offsets."""


@public
class LoDLevelError(LoDError):
    """The tensor has too few or too many levels."""


@public
class LoDMismatchError(LoDError):
    """Operands differ in structure."""


@public
class ShapeMismatchError(LodkitError, ValueError):
    """Shapes do not match."""


@public
class SizeError(LodkitError, MemoryError):
    """There is no memory for a result of the size that was asked for."""


@public
class OutputError(LodkitError, ValueError):
    """An array given as ``out=``, or to be updated in place, cannot hold the result."""


@public
class SegmentIdError(LodkitError, ValueError):
    """Segment ids are unsorted, negative, or not below the number of segments."""


@public
class RowIndexError(LodkitError, IndexError):
    """A row or an id is out of range: negative, or not below the height of the table.

    Raised before anything is written: tables, ``out=`` and the states of optimizers are as they were (on a GPU
    ``lodkit.bounds_check`` may put that off). The message has the place, the id and the bound. Give unknown ids a row
    of their own, with ``lodkit.vocabulary`` or ``np.where``; or use a ``GrowingTable``, whose keys need not be known
    before.
    """


@public
class DTypeError(LodkitError, TypeError):
    """The operation is not defined for this dtype."""


@public
class NoKernelError(LodkitError, NotImplementedError):
    """No kernel is registered for these inputs; the message lists those that are."""


@public
class DeviceError(LodkitError, RuntimeError):
    """Inputs are on different devices, or on an unavailable one."""


@public
class UnknownOperatorError(LodkitError, KeyError):
    """No operator has this name; the message suggests the nearest ones."""

    def __str__(self):
        return str(self.args[0])


def bad_id(ids, height, name, position):
    """Return the error for the id at ``position`` of the flattened ids."""
    index = tuple(int(i) for i in np.unravel_index(position, ids.shape))
    place = ", ".join(map(str, index))
    return RowIndexError(
        f"{name}[{place}] = {ids[index]} is outside [0, {height}) (the table has {height} rows); "
        "map unknown ids to a row of their own first"
    )


def bad_along(size, axis, wrap=False):
    """Return a function that makes the error for a bad id along an axis; None for the default: axis 0 without wrap."""
    if not (axis or wrap):
        return None
    bounds = f"[{-size if wrap else 0}, {size})"
    why = f"axis {axis} of data has {size} entries" if axis else f"the table has {size} rows"

    def error(ids, position):
        place = ", ".join(str(int(i)) for i in np.unravel_index(position, ids.shape))
        number = ids.reshape(-1)[position]
        return RowIndexError(f"ids[{place}] = {number} is outside {bounds} ({why})")

    return error
