"""LoDTensor: variable-length, nested sequences laid end to end without padding."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Never, Self

import numpy as np

from ..arrays import check_dense, device_of, from_lists, is_array, is_cpu_tensor, plain_array, remedy_for
from ..arrays.objects import OBJECTS, refuse_objects
from ..arrays.recorded import is_recorded, plain_view, state, track
from ..arrays.types import DenseLike, Levels, Values
from ..base.binding import hide_unknown
from ..base.errors import LoDError
from ..base.loading import module_above, public
from ..base.tracebacks import shorten
from . import levels as _levels
from .arithmetic import Arithmetic
from .columnar import Columnar
from .comparison import Comparison
from .encodings import Conversions
from .exchange import Exchange
from .index_advice import advise_on_arguments
from .indexing import Indexing
from .nested_tensors import NestedTensors
from .relevel import Relevelling
from .sparse_matrix import SparseMatrices
from .structure import Structure

if TYPE_CHECKING:
    # jedi, which IPython completes by, fails at properties whose hints are literals: it does not find these.
    from ..arrays.types import Device

_new = object.__new__


@public
class LoDTensor(
    Structure,
    Comparison,
    Indexing,
    Relevelling,
    Conversions,
    Columnar,
    NestedTensors,
    SparseMatrices,
    Exchange,
    Arithmetic,
):
    """A batch of nested sequences: an array of rows, and lengths per level that group them.

    Offsets are copied in, checked and read-only; values are shared and mutable.

    Parameters
    ----------
    values : array or list
        ``(rows, *item)``: a NumPy or CUDA array, or a tensor of PyTorch. None for structure without values (see
        ``set_values``).
    recursive_sequence_lengths : list of lists of int, optional
        Lengths per level, outermost first. Each level has as many lengths as the level above sums to;
        the innermost sums to the number of rows. Default: a plain array, lod_level 0.
    lod : list of lists of int, optional
        Offsets per level, instead of lengths; they count sequences of the next level.

    Examples
    --------
    Two articles, of two sentences and of one:

    >>> t = LoDTensor([10, 11, 12, 20, 30, 31], [[2, 1], [3, 1, 2]])
    >>> t
    LoDTensor([[[10, 11, 12], [20]], [[30, 31]]],
              recursive_sequence_lengths=[[2, 1], [3, 1, 2]], shape=(6,), dtype=int64)
    >>> t[0, 1], t.lengths(0, absolute=True)
    (array([20]), array([4, 2]))
    >>> t % 10 + 1
    LoDTensor([[[1, 2, 3], [1]], [[1, 2]]],
              recursive_sequence_lengths=[[2, 1], [3, 1, 2]], shape=(6,), dtype=int64)
    """

    __slots__ = ("__weakref__", "_base", "_locked", "_lod", "_numba", "_numba_dtype", "_rows", "_values")
    __hash__ = None  # type: ignore[assignment]

    @hide_unknown
    def __init__(
        self,
        values: DenseLike | None,
        recursive_sequence_lengths: Levels | None = None,
        *,
        lod: Levels | None = None,
        **unknown: Never,
    ) -> None:
        try:
            if unknown:
                raise TypeError(advise_on_arguments(unknown))
            if lod is not None and recursive_sequence_lengths is not None:
                raise TypeError("give recursive_sequence_lengths or lod=, not both")
            if lod is not None:
                levels = _levels.from_offsets(lod)
            else:
                levels = _levels.from_lengths(() if recursive_sequence_lengths is None else recursive_sequence_lengths)
            self._values, self._lod, self._base, self._rows, self._numba = _rows_of(values), levels, 0, None, None
            if values is None and not levels:
                raise TypeError("a LoDTensor without values needs lengths: LoDTensor(None, [[...]])")
            _levels.check_rows(levels, self._values, lod is not None)
        except Exception as error:
            shorten(error)
            raise

    @classmethod
    def _wrap(cls, values, levels, base=0):
        """Make a tensor unchecked; ``levels`` are read-only int64 offsets that fit ``values``."""
        self = _new(cls)
        self._values = values
        self._lod = levels
        self._base = base
        self._rows = None
        self._numba = None
        return self

    def recursive_sequence_lengths(self) -> list[list[int]]:
        """Return lengths per level, outermost first, as lists."""
        return [_levels.lengths_between(offsets).tolist() for offsets in self._lod]

    def set_recursive_sequence_lengths(self, lengths: Levels) -> None:
        """Replace the structure in place; lengths that do not sum to the rows raise and change nothing."""
        self._set_levels(_levels.from_lengths(lengths))

    def has_valid_recursive_sequence_lengths(self) -> bool:
        """Return whether the lengths sum to the rows; False only if the array was resized since."""
        return self._values is None or not self._lod or bool(self._lod[-1][-1] == self._values.shape[0])

    def lod(self, absolute: bool = False) -> list[list[int]]:
        """Return offsets per level, outermost first, as lists.

        Offsets count sequences of the next level, or rows if ``absolute`` (Paddle's ToAbsOffset).
        """
        if absolute:
            return [self.offsets(level, True).tolist() for level in range(len(self._lod))]
        return [offsets.tolist() for offsets in self._lod]

    def set_lod(self, offsets: Levels) -> None:
        """Replace the structure in place, by offsets that count sequences of the next level."""
        self._set_levels(_levels.from_offsets(offsets), True)

    def _set_levels(self, levels, offsets=False):
        if not levels and self._values is None:
            raise LoDError("a LoDTensor without values needs lengths")
        _levels.check_rows(levels, self._values, offsets)
        self._lod, self._rows, self._numba, self._locked = levels, None, None, {}

    @property
    def values(self) -> Values:
        """Rows of all sequences, ``(rows, *item)``; shared, not copied. None for structure only.

        While a tape is open, what NumPy computes of floating values is recorded.
        """
        return track(self._values) if state.open else self._values

    def set_values(self, values: DenseLike | None) -> None:
        """Replace the values in place; the structure stays."""
        values = _rows_of(values)
        if values is None and not self._lod:
            raise LoDError("a LoDTensor without lengths needs values")
        _levels.check_rows(self._lod, values)
        self._values, self._base, self._numba = values, 0, None

    def with_values(self, values: DenseLike | None) -> Self:
        """Return a tensor of the same structure with these values."""
        if type(values) is not np.ndarray or not values.ndim or values.dtype.kind in OBJECTS:
            values = _rows_of(values)
        lod = self._lod
        if values is None and not lod:
            raise LoDError("a LoDTensor without lengths needs values")
        if values is None or (lod and lod[-1].item(-1) != values.shape[0]):
            _levels.check_rows(lod, values)
        made = self._wrap(values, lod)
        made._rows = self._rows
        return made

    def _like(self, values):
        """Return a tensor of the same structure, unchecked."""
        made = self._wrap(values, self._lod)
        made._rows = self._rows
        return made

    @property
    def lod_level(self) -> int:
        """Number of levels; 0 for a plain array."""
        return len(self._lod)

    @property
    def dtype(self) -> np.dtype[Any] | Any:
        """Dtype of the values; None for structure only."""
        return getattr(self._values, "dtype", None)

    @property
    def device(self) -> Device:
        """Device of the values, ``"cpu"`` or ``"cuda"``. Offsets are always on the CPU."""
        return "cpu" if self._values is None else device_of(self._values)

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of ``values``, ``(rows, *item)``."""
        return (int(self._lod[-1][-1]),) if self._values is None else tuple(self._values.shape)

    @property
    def nbytes(self) -> int:
        """Bytes of values and offsets."""
        values = 0 if self._values is None else self.dtype.itemsize * math.prod(self.shape)
        return values + sum(offsets.nbytes for offsets in self._lod)

    def __len__(self) -> int:
        return len(self._lod[0]) - 1 if self._lod else self._values.shape[0]

    # A type checker takes a class that has this for an array.
    if not TYPE_CHECKING:

        def __array__(self, dtype=None, copy=None):
            raise TypeError(
                "a LoDTensor is not an array; use .values (all rows), .to_padded() or .to_uniform(); for a Series or a "
                "column of pandas .to_list(), as in pd.Series(t.to_list())"
            )

    @property
    def _numba_type_(self):
        kind, values = self._numba, self._values
        if kind is None:
            return module_above("interop.numba.objects").type_of_lod_tensor(self)
        if values is not None and values.dtype is not self._numba_dtype:
            module_above("interop.numba.objects").check_dtype(self, values.dtype)
        return kind

    def __reduce__(self):
        lod = tuple(offsets.astype("<i8").tobytes() for offsets in self._lod)
        return _restore_lod_tensor, (self._whole(), lod, self._base)

    def __repr__(self):
        from .repr_text import text

        return text(self._like(plain_view(self._values)))

    def _repr_html_(self):
        from .repr_html import html

        return html(self._like(plain_view(self._values)))


@public
def _restore_lod_tensor(values, lod, base):
    """Make a LoDTensor from the parts of a pickle: offsets are bytes, which ``torch.load`` takes as they are."""
    made = LoDTensor(values, lod=[np.frombuffer(offsets, "<i8") for offsets in lod])
    made._base = base
    return made


def _rows_of(values):
    """Return ``values`` as an array of at least one dimension; lists become NumPy arrays."""
    if values is None:
        return None
    given = None
    if isinstance(values, list | tuple):
        given, values = values, from_lists(values, "values")
    if isinstance(values, np.ndarray) and not is_recorded(values):
        values = plain_array(values, "values")
    if not isinstance(values, np.ndarray):
        if is_cpu_tensor(values):
            check_dense(values, "values")
        elif not is_array(values):
            rule = f"values must be a NumPy or CUDA array, a tensor or a list, got {type(values).__name__}"
            raise TypeError(f"{rule}; {remedy_for(values, 'values')}")
    if len(values.shape) == 0:
        raise ValueError("values must have at least one dimension, (rows, *item)")
    return refuse_objects(values, "values", given) if isinstance(values, np.ndarray) else values


def values_of(x):
    """Return the values of a LoDTensor, anything else unchanged (PyTorch has a ``values`` method)."""
    return x.values if isinstance(x, LoDTensor) else x
