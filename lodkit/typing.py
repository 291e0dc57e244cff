"""Types of what operators take and give, for annotations in code that uses lodkit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from .arrays.types import (
    Array,
    ArrayLike,
    DenseLike,
    Device,
    DeviceArray,
    Integer,
    Levels,
    Number,
    PadValue,
    Scalar,
    Values,
)
from .lod import LoDTensor, SelectedRows

__all__ = [
    "Array",
    "ArrayLike",
    "ArrayOrLoDTensor",
    "DenseLike",
    "Device",
    "DeviceArray",
    "Integer",
    "Levels",
    "LoDTensorLike",
    "Number",
    "PadValue",
    "Scalar",
    "Value",
    "Values",
]

#: What operators compute with.
Value: TypeAlias = Array | DeviceArray | LoDTensor | SelectedRows

#: What an operator takes for an input that can only be a LoDTensor: a list of sequences too.
LoDTensorLike: TypeAlias = LoDTensor | Sequence[list[Any] | tuple[Any, ...]]

if TYPE_CHECKING:

    class ArrayOrLoDTensor(Array, LoDTensor):  # type: ignore[misc]
        """A result that is a LoDTensor where levels are left, and an array otherwise; to checkers it is both."""
else:
    ArrayOrLoDTensor: TypeAlias = Array | LoDTensor

#: The library of an operator's inputs and results.
A = TypeVar("A", bound=DeviceArray)
