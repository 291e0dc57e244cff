"""The errors that lodkit raises. A message states the rule, the place, the values and the remedy."""

from __future__ import annotations


class LodkitError(Exception):
    """What every error of lodkit derives from."""


class LoDError(LodkitError, ValueError):
    """Malformed structure: lengths that do not add up, offsets that decrease, a tensor without rows for them."""


class LoDLevelError(LoDError):
    """An operator needs more (or fewer) levels than the tensor has."""


class LoDMismatchError(LoDError):
    """Two operands have different structure."""


class ShapeMismatchError(LodkitError, ValueError):
    """Two arrays that must have one shape have two."""


class SegmentIdError(LodkitError, ValueError):
    """Segment ids are unsorted where they must be sorted, negative, or past the number of segments."""


class RowIndexError(LodkitError, IndexError):
    """A row or an id lies outside the table."""


class DTypeError(LodkitError, TypeError):
    """The operation has no meaning for values of this type."""


class NoKernelError(LodkitError, NotImplementedError):
    """No kernel is registered for these inputs; the message lists the kernels there are."""


class DeviceError(LodkitError, RuntimeError):
    """Inputs live on different devices, or on one that cannot be reached."""


class UnknownOperatorError(LodkitError, KeyError):
    """No operator has this name; the message suggests the nearest ones."""

    def __str__(self):
        return str(self.args[0])
