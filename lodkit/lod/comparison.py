"""Comparison of LoDTensors by content."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn, Self

import numpy as np

from ..arrays import array_of, is_cpu_tensor, tensor_of
from ..base.bfloat16 import to_readable
from ..base.errors import LoDMismatchError
from .large import needs_memory
from .levels import are_equal, mismatch
from .members import Members


class Comparison(Members):
    """``same_lod``, ``equals``, ``==`` and ``!=``."""

    __slots__ = ()
    __hash__ = None  # type: ignore[assignment]

    def same_lod(self, other: Comparison) -> bool:
        """Return whether the structure is the same, by content."""
        if not isinstance(other, Comparison):
            raise TypeError(f"same_lod compares with a LoDTensor, got {type(other).__name__}")
        if self._lod is other._lod:
            return len(self) == len(other)
        if len(self._lod) != len(other._lod) or len(self) != len(other):
            return False
        return all(a is b or are_equal(a, b) for a, b in zip(self._lod, other._lod, strict=True))

    def equals(self, other: object) -> bool:
        """Return whether structure and values are the same, by content; NaN equals NaN."""
        if not isinstance(other, Comparison) or self.shape != other.shape or not self.same_lod(other):
            return False
        a, b = map(_to_comparable, (self._values, other._values))
        if a is None or b is None:
            return a is b
        return bool(((a == b) | ((a != a) & (b != b))).all())

    def __eq__(self, other: object) -> Self:  # type: ignore[override]
        return self._compare(other, "==", lambda a, b: a == b)

    def __ne__(self, other: object) -> Self:  # type: ignore[override]
        return self._compare(other, "!=", lambda a, b: a != b)

    @needs_memory
    def _compare(self, other, sign, compare):
        if isinstance(other, Comparison):
            if not self.same_lod(other):
                raise mismatch(sign, self, other)
            other = other._values
        elif isinstance(other, list | tuple):
            other = np.asarray(other)
        elif not (np.isscalar(other) or hasattr(other, "dtype")):
            return NotImplemented
        values = self._need_values()
        if is_cpu_tensor(values) or is_cpu_tensor(other):
            made = self._like(_to_comparable(values))._compare(_to_comparable(other), sign, compare)
            return self.with_values(tensor_of(made._values))
        try:
            fits = np.broadcast_shapes(values.shape, np.shape(other)) == values.shape
        except ValueError:
            fits = False
        if not fits:
            raise LoDMismatchError(f"{sign}: shape {np.shape(other)} does not broadcast to {self.shape} (values)")
        return self.with_values(compare(_to_comparable(values), _to_comparable(other)))

    def __bool__(self) -> NoReturn:
        raise ValueError("a LoDTensor has no truth value; use len(t), t.equals(u), t.values.any() or .all()")

    if TYPE_CHECKING:  # what NDArrayOperatorsMixin makes keeps the structure

        def __neg__(self) -> Self: ...
        def __abs__(self) -> Self: ...
        def __invert__(self) -> Self: ...
        def __add__(self, other: Any) -> Self: ...
        def __radd__(self, other: Any) -> Self: ...
        def __sub__(self, other: Any) -> Self: ...
        def __rsub__(self, other: Any) -> Self: ...
        def __mul__(self, other: Any) -> Self: ...
        def __rmul__(self, other: Any) -> Self: ...
        def __truediv__(self, other: Any) -> Self: ...
        def __rtruediv__(self, other: Any) -> Self: ...
        def __floordiv__(self, other: Any) -> Self: ...
        def __rfloordiv__(self, other: Any) -> Self: ...
        def __mod__(self, other: Any) -> Self: ...
        def __rmod__(self, other: Any) -> Self: ...
        def __pow__(self, other: Any) -> Self: ...
        def __rpow__(self, other: Any) -> Self: ...
        def __lt__(self, other: Any) -> Self: ...
        def __le__(self, other: Any) -> Self: ...
        def __gt__(self, other: Any) -> Self: ...
        def __ge__(self, other: Any) -> Self: ...
        def __and__(self, other: Any) -> Self: ...
        def __or__(self, other: Any) -> Self: ...


def _to_comparable(values):
    """Numbers to compare: a CPU tensor as an array, whether it requires grad or not."""
    values = array_of(values, "values", record=False) if is_cpu_tensor(values) else values
    return to_readable(values) if isinstance(values, np.ndarray | np.generic) else values
