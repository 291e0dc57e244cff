"""The kinds that an input may be of: Dense, LoDTensor, SelectedRows (or None, where it is optional)."""

from __future__ import annotations

import types
import typing

import numpy as np

from .lod_tensor import LoDTensor
from .selected_rows import SelectedRows

if typing.TYPE_CHECKING:
    Dense: typing.TypeAlias = typing.Any
else:

    class Dense:
        """The kind of plain arrays: numpy.ndarray, or whatever exports ``__cuda_array_interface__``."""


CONTAINERS = (LoDTensor, SelectedRows)


def kinds_of(hint):
    """The kinds that an annotation allows."""
    kinds = typing.get_args(hint) if typing.get_origin(hint) in (typing.Union, types.UnionType) else (hint,)
    return frozenset(kinds)


def kind_key(kinds, variadic):
    """What stands in a kernel's key for an input that it takes as one of ``kinds``."""
    names = sorted(kind.__name__ for kind in kinds if kind is not type(None))
    return "|".join(names) if variadic else names[0]


def kind_of(x):
    """The kind of a value."""
    if x is None:
        return type(None)
    return type(x) if isinstance(x, CONTAINERS) else Dense


def accept(x, allowed):
    """``x`` as kernels take it: a list becomes an array, a LoDTensor without levels its values."""
    if isinstance(x, LoDTensor) and x.lod_level == 0 and LoDTensor not in allowed:
        return x.values
    if isinstance(x, list | tuple | int | float | np.generic) and Dense in allowed:
        return np.asarray(x)
    return x
