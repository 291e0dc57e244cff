"""Base of the classes that LoDTensor is made of: for type checkers, the members that each uses of the others."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from ..arrays.types import Array, DenseLike, Device, Levels, Values


class Members:
    """Base of the classes that LoDTensor is made of."""

    if TYPE_CHECKING:
        _base: int
        _lod: tuple[Array, ...]
        _locked: dict[Any, Callable[[], Array]]
        _numba: Any
        _numba_dtype: np.dtype[Any]
        _rows: tuple[Array, ...] | None
        _values: Values

        def __init__(
            self,
            values: DenseLike | None,
            recursive_sequence_lengths: Levels | None = None,
            *,
            lod: Levels | None = None,
        ) -> None: ...
        def __len__(self) -> int: ...
        @property
        def values(self) -> Values: ...
        @property
        def shape(self) -> tuple[int, ...]: ...
        @property
        def lod_level(self) -> int: ...
        @property
        def device(self) -> Device: ...
        @classmethod
        def _wrap(cls, values: Values, levels: tuple[Array, ...], base: int = 0) -> Self: ...
        def _like(self, values: Values) -> Self: ...
        def _whole(self) -> Values: ...
        def _need_values(self) -> Values: ...
        def _level(self, level: Any) -> int: ...
        def lengths(self, level: int = -1, absolute: bool = False) -> Array: ...
        def with_values(self, values: DenseLike | None) -> Self: ...
    else:
        __slots__ = ()
