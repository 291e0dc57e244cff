"""Offsets and lengths of a LoDTensor, and what follows from them."""

from __future__ import annotations

import numpy as np

from ..arrays import integer
from ..arrays.tensors import check_storage, is_tensor
from ..arrays.types import Array
from ..base.errors import LoDLevelError
from . import levels as _levels
from .large import needs_memory
from .members import Members


class Structure(Members):
    """Offsets, lengths and segment ids of a level."""

    __slots__ = ()

    def _level(self, level):
        """Return ``level`` as a non-negative number."""
        levels = len(self._lod)
        level = level if type(level) is int else integer(level, "level")
        if not -levels <= level < levels:
            hint = "" if levels else "; attach lengths: LoDTensor(x, [[...]])"
            raise LoDLevelError(f"level {level} does not exist: the tensor has lod_level {levels}{hint}")
        return level % levels

    def _whole(self):
        """Return the values, None for structure alone; raise if they were resized since, as NumPy and PyTorch allow."""
        values, lod = self._values, self._lod
        if is_tensor(values):
            check_storage(values, "values")
        if values is None or not lod:
            return values
        rows = lod[-1].item(-1)
        try:
            whole = values.shape[0] == rows
        except IndexError:  # no dimension is left
            whole = False
        if not whole:
            raise _levels.resized("this LoDTensor", rows, values)
        return values

    def row_offsets(self, level: int = -1) -> Array:
        """Return the offsets of a level in rows of ``values``, from 0; int64, read-only."""
        return self._hand_out(level, True)

    def _row_offsets(self, level=-1):
        """``row_offsets`` as they are kept: their flag would make them writable."""
        if type(level) is int and level == -1 and self._lod:
            return self._lod[-1]
        level = self._level(level)
        if self._rows is None:
            rows = [self._lod[-1]]
            for offsets in self._lod[-2::-1]:
                rows.append(_levels.freeze(rows[-1][offsets]))
            self._rows = tuple(reversed(rows))
        return self._rows[level]

    def _hand_out(self, level, in_rows):
        """Offsets to hand out, of a copy: PyTorch writes to read-only arrays too, and kernels trust what is kept."""
        lenders = getattr(self, "_locked", None)
        found = lenders.get((level, in_rows)) if lenders and type(level) is int else None
        return self._lender(level, in_rows)() if found is None else found()

    def _lender(self, level, in_rows):
        place = self._level(level)
        # The innermost level counts rows.
        key = place, in_rows and place < len(self._lod) - 1
        if getattr(self, "_locked", None) is None:
            self._locked = {}
        lenders = self._locked
        if key not in lenders:
            lenders[key] = _levels.lender(self._row_offsets(place) if in_rows else self._lod[place])
        if type(level) is int:
            lenders[level, in_rows] = lenders[key]
        return lenders[key]

    def offsets(self, level: int = -1, absolute: bool = False) -> Array:
        """Return the offsets of a level, int64.

        Parameters
        ----------
        level : int
            Innermost by default.
        absolute : bool
            False: sequences of the next level, from 0. True: rows; for a slice, rows of the tensor it views.
        """
        if absolute:
            return self._row_offsets(level) + self._base
        return self._hand_out(level, False)

    def lengths(self, level: int = -1, absolute: bool = False) -> Array:
        """Return the lengths of a level, in sequences of the next level, or in rows if ``absolute``."""
        return _levels.lengths_between(self._row_offsets(level) if absolute else self._lod[self._level(level)])

    @needs_memory
    def segment_ids(self, level: int = -1) -> Array:
        """Return the sequence of each row, as an index into a level."""
        lengths = self.lengths(level, absolute=True)
        return np.repeat(np.arange(len(lengths)), lengths)

    def max_length(self, level: int = -1) -> int:
        """Return the longest length of a level; 0 without sequences."""
        return int(self.lengths(level).max(initial=0))

    def padding_waste(self) -> float:
        """Return the fraction of a padded batch (``to_padded``) that is padding."""
        padded = len(self)
        for level in range(self.lod_level):
            padded *= self.max_length(level)
        return 1 - self.shape[0] / padded if padded else 0.0


def check_bag(ids, what="embedding_bag"):
    """Return ids with lengths, one a row; raise if ``what`` was given others."""
    if ids.lod_level and ids.values.ndim == 1:
        return ids
    check_lod_level(ids, what)
    if ids.values.ndim == 2 and ids.values.shape[1] == 1:
        return ids.with_values(ids.values.reshape(-1))
    raise LoDLevelError(f"{what} takes one id a row, got ids of shape {ids.values.shape}")


def check_lod_level(ids, what="embedding_bag"):
    """Raise if ids, or a description of them, have no lengths."""
    if ids.lod_level < 1:
        remedy = "attach lengths: LoDTensor(ids, [[...]])"
        if 0 in getattr(ids, "shape", ())[:1]:  # not of a VarDesc
            remedy = "pass the number of levels if x may be empty: LoDTensor.from_nested(x, lod_level=1)"
        raise LoDLevelError(f"{what} needs ids with lod_level >= 1; {remedy}")
