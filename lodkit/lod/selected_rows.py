"""SelectedRows: the few rows of a tall table that a gradient touches."""

from __future__ import annotations

import math
import operator
import typing

import numpy as np

from ..arrays import (
    array_of,
    device_of,
    holds_rows,
    is_cpu_tensor,
    is_floating,
    is_number,
    is_scalar,
    is_tensor,
    to_device,
)
from ..arrays.checks import is_plain_number
from ..arrays.objects import refuse_bits
from ..arrays.recorded import is_on_tape, plain_view, refuse_unrecorded, state, track
from ..arrays.tensors import check_storage
from ..arrays.types import ArrayLike, DenseLike, Integer, Number, Values
from ..base.errors import DTypeError, LoDError
from ..base.loading import module_above, public
from ..base.tracebacks import shorten
from .coordinates import Coordinates
from .elsewhere import SELECTED_ROWS, suggest
from .large import needs_memory
from .levels import check_vector, lender, lock_array
from .row_numbers import checked_parts

if typing.TYPE_CHECKING:
    # jedi, which IPython completes by, fails at properties whose hints are literals: it does not find these.
    from ..arrays.types import Device

_new, _set = object.__new__, object.__setattr__


@public
@suggest(SELECTED_ROWS)
class SelectedRows(Coordinates):
    """Rows of a tall array, by number: ``dense[rows[i]] += value[i]``.

    PaddlePaddle's SelectedRows, TensorFlow's IndexedSlices, PyTorch's sparse COO gradient. Rows may be in
    any order and repeat: duplicates are summed.

    Parameters
    ----------
    rows : array or list of int
        Copied to a read-only int64 array; each must be in ``[0, height)``.
    value : array of shape (len(rows), *item)
        An array of NumPy or CUDA, or a tensor of PyTorch; shared, not copied.
    height : int
        Rows of the table.

    Raises
    ------
    RowIndexError
        A row is out of range; the message gives its position.

    Examples
    --------
    >>> SelectedRows([73, 84], [[1., 2.], [3., 4.]], 100)
    SelectedRows(rows=[73, 84], value=[[1., 2.], [3., 4.]], height=100)
    """

    __slots__ = ("__weakref__", "_locked", "_numba", "_numba_dtype", "_rows", "_runs", "_value", "height", "is_merged")
    _rows: Values
    _value: Values
    height: int
    is_merged: bool
    _runs: dict[str, typing.Any]
    _numba: typing.Any
    _numba_dtype: np.dtype
    __array_ufunc__ = None

    def __init__(self, rows: DenseLike, value: DenseLike, height: Integer) -> None:
        try:
            rows, value, height = checked_parts(rows, value, height)
            self._fill(rows, value, height, False, {})
        except Exception as error:
            shorten(error)
            raise

    @classmethod
    def _wrap(cls, rows, value, height, merged=False, runs=None):
        """Make from checked parts. ``rows`` become read-only: pass an array that is not written elsewhere."""
        if type(rows) is np.ndarray:
            rows = lock_array(rows)
        self = _new(cls)
        self._fill(rows, value, height, merged, {} if runs is None else runs)
        return self

    def _fill(self, rows, value, height, merged, runs):
        _set(self, "_rows", rows)
        _set(self, "_value", value)
        _set(self, "height", height)
        _set(self, "is_merged", merged)
        # A table of runs of equal rows per device, for all SelectedRows that have these rows.
        _set(self, "_runs", runs)

    def _with_value(self, value):
        """The same rows, and what is known of them, with another value."""
        made = _new(type(self))
        made._fill(self._rows, value, self.height, self.is_merged, self._runs)
        return made

    @property
    def rows(self) -> Values:
        """Row numbers, int64: read-only; on a GPU, where no array is, a new copy each time."""
        found = getattr(self, "_locked", None)
        if found is None:
            if type(self._rows) is not np.ndarray:
                from ..arrays.cuda import copy_of

                return copy_of(self._rows)
            # Lent from a copy: PyTorch writes to read-only arrays, and kernels trust rows.
            found = lender(self._rows)
            _set(self, "_locked", found)
        return found()

    @property
    def value(self) -> Values:
        """Rows of numbers, ``(len(rows), *item)``; shared, not copied.

        While a tape is open, what NumPy computes of floating values is recorded.
        """
        return track(self._value) if state.open else self._value

    def __setattr__(self, name, value):
        raise AttributeError(f"{name} of SelectedRows is read-only; make a new SelectedRows(rows, value, height)")

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the dense array, ``(height, *item)``."""
        return (self.height, *self._value.shape[1:])

    @property
    def ndim(self) -> int:
        """Number of dimensions of the dense array."""
        return self._value.ndim

    @property
    def dtype(self) -> np.dtype[typing.Any] | typing.Any:
        """Dtype of the value."""
        return self._value.dtype

    @property
    def nbytes(self) -> int:
        """Bytes of rows and value."""
        return self._rows.nbytes + self._value.nbytes

    @property
    def device(self) -> Device:
        """Device of rows and value, ``"cpu"`` or ``"cuda"``."""
        return device_of(self._value)

    def __len__(self) -> int:
        return len(self._rows)

    def to(self, device: Device) -> SelectedRows:
        """Return a copy on ``"cpu"`` or ``"cuda"``; itself if it is on that device."""
        if device == self.device:
            return self
        rows, value = to_device(self._rows, device), to_device(self._value, device)
        # CPU kernels trust rows; those from a GPU may be unchecked.
        if device == "cpu":
            rows = SelectedRows(rows, value, self.height)._rows
        return self._wrap(rows, value, self.height, self.is_merged)

    def _whole(self, what="this SelectedRows"):
        """Return the value; raise if it was resized since, as NumPy and PyTorch allow."""
        value, count = self._value, len(self._rows)
        if is_tensor(value):
            check_storage(value, "value")
        shape = tuple(value.shape)
        if shape[:1] != (count,):
            now = shape[0] if shape else f"shape {shape}"
            raise LoDError(f"{what} lists {count} rows, its value has {now} now; make it anew")
        return value

    def get_tensor(self) -> Values:
        """Return ``value``, one row per entry (Paddle's name)."""
        return self.value

    def merge(self) -> SelectedRows:
        """Return sorted, unique rows with duplicates summed; itself if merged."""
        if self.is_merged:
            self._whole()
            return self
        return module_above("ops.selected_rows").merge_selected_rows(self)

    def to_dense(self) -> Values:
        """Return the dense array, ``(height, *item)``."""
        return module_above("ops.selected_rows").selected_rows_to_dense(self)

    @needs_memory
    def norm(self) -> float:
        """Return the Euclidean norm of the dense array, a float: a constant to a tape."""
        value = plain_view(self.merge()._value)
        if self.device == "cuda":
            from ..arrays.cuda import norm

            return norm(value)
        value = array_of(value, "value") if is_cpu_tensor(value) else value
        return float(np.sqrt(np.square(value, dtype=np.float64).sum()))

    def clip_by_norm(self, max_norm: Number) -> SelectedRows:
        """Return the merged gradient, scaled so that its norm is at most ``max_norm``."""
        if not is_scalar(array_of(max_norm, "max_norm") if is_cpu_tensor(max_norm) else max_norm):
            raise TypeError(f"max_norm must be a number >= 0, got {max_norm!r:.200}")
        if not max_norm >= 0:
            raise ValueError(f"max_norm must be a number >= 0, got {max_norm}")
        if is_on_tape(track(self._value)):
            refuse_unrecorded("clip_by_norm")
        merged = self.merge()
        norm = merged.norm()
        return merged if norm <= max_norm else merged * (max_norm / norm)

    def split(self, height_sections: ArrayLike) -> list[SelectedRows]:
        """Split along the height: one SelectedRows per section, rows counted from its start, order kept.

        >>> SelectedRows([7, 1], [[1.], [2.]], 10).split([5, 5])[1]
        SelectedRows(rows=[2], value=[[1.]], height=5)
        """
        sections = check_vector(height_sections, "height_sections").tolist()
        return list(module_above("ops.row_selection").split_selected_rows(self, height_sections=tuple(sections)))

    def __add__(self, other):
        if isinstance(other, SelectedRows) or holds_rows(other):
            return module_above("ops.selected_rows").sum(self, other)
        return NotImplemented

    __radd__ = __add__

    def __sub__(self, other):
        return self + (-other) if isinstance(other, SelectedRows) or holds_rows(other) else NotImplemented

    def __rsub__(self, other):
        return -self + other if holds_rows(other) else NotImplemented

    def _scale(self, operation, number):
        # Python numbers keep the dtype of the values, NumPy scalars would widen it.
        if is_on_tape(number):
            refuse_unrecorded("scaling SelectedRows by an array", "make SelectedRows of rows and value * number")
        if is_tensor(number) and not number.requires_grad:
            number = array_of(number, "number") if is_cpu_tensor(number) else np.asarray(number.tolist())
        if isinstance(number, np.generic | np.ndarray) and number.size == 1:
            number = number.item()
        if not isinstance(number, int | float):
            return NotImplemented
        dtype = self._value.dtype
        whole = isinstance(number, int) and hasattr(dtype, "kind") and not is_floating(dtype)
        if type(number) is int and not (is_plain_number if whole else is_number)(number):
            raise DTypeError(
                f"number has {number.bit_length()} bits, more than {self._value.dtype} holds; pass a smaller one"
            )
        refuse_bits(f"{operation.__name__} of SelectedRows", value := self._whole())
        return self._with_value(operation(track(value), number))

    def __mul__(self, number: typing.Any) -> SelectedRows:
        return self._scale(operator.mul, number)

    __rmul__ = __mul__

    def __truediv__(self, number: typing.Any) -> SelectedRows:
        return self._scale(operator.truediv, number)

    def __neg__(self) -> SelectedRows:
        refuse_bits("the negative of SelectedRows", value := self._whole())
        return self._with_value(-track(value))

    # A type checker takes a class that has this for an array.
    if not typing.TYPE_CHECKING:

        def __array__(self, dtype=None, copy=None):
            size = self.dtype.itemsize * math.prod(self.shape)
            raise TypeError(
                f"SelectedRows of height {self.height} is not an array; its dense form takes {size:,} bytes: "
                "call .to_dense(), or use .rows and .value"
            )

        def __iter__(self):
            # pandas keeps what does not iterate as one object, in silence.
            raise TypeError(
                "SelectedRows are no sequence; use zip(s.rows, s.value) for entries, s.to_dense() for the table, "
                "pd.Series(list(s.value), s.rows) in pandas"
            )

    @property
    def _numba_type_(self):
        try:
            kind = self._numba
        except AttributeError:
            return module_above("interop.numba.objects").type_of_selected_rows(self)
        if self._value.dtype is not self._numba_dtype:
            module_above("interop.numba.objects").check_dtype(self, self._value.dtype)
        return kind

    def __reduce__(self):
        rows = self._rows.astype("<i8").tobytes() if type(self._rows) is np.ndarray else self._rows
        return _restore_selected_rows, (rows, self._whole(), self.height, self.is_merged)

    def __repr__(self):
        from .repr_text import selected_rows_text

        return selected_rows_text(self._with_value(plain_view(self._value)))

    def _repr_html_(self):
        from .repr_html import selected_rows_html

        return selected_rows_html(self._with_value(plain_view(self._value)))


@public
def _restore_selected_rows(rows, value, height, merged):
    """Make SelectedRows from the parts of a pickle: rows of NumPy are bytes, which ``torch.load`` takes as they are."""
    rows = np.frombuffer(rows, "<i8") if isinstance(rows, bytes) else rows
    made = SelectedRows(rows, value, height)
    rows = made._rows
    ascending = merged and (type(rows) is not np.ndarray or bool((rows[1:] > rows[:-1]).all()))
    _set(made, "is_merged", ascending)
    return made
