"""Levels added to and removed from a LoDTensor; rows are shared."""

from __future__ import annotations

from typing import Self

import numpy as np

from ..arrays.types import ArrayLike, DenseLike
from ..base.errors import LoDError, LoDLevelError
from . import levels as _levels
from .large import needs_memory
from .levels import freeze
from .members import Members


class Relevelling(Members):
    """``append_level`` and ``drop_level``."""

    __slots__ = ()

    @needs_memory
    def append_level(self, lengths: ArrayLike | None = None, values: DenseLike | None = None) -> Self:
        """Return the tensor with an innermost level added: each row becomes a sequence of rows.

        Parameters
        ----------
        lengths : array of int, optional
            One per current row; for a plain array, any number that sum to its rows. Default: all 1.
        values : array, optional
            Rows below the new level, as many as the lengths sum to. Default: those of the tensor.

        Raises
        ------
        LoDError
            There is not one length per row, or they do not sum to the rows.

        Notes
        -----
        Paddle's AppendLoD.

        Examples
        --------
        Sentences of words, and the letters of each word:

        >>> from lodkit import LoDTensor
        >>> words = LoDTensor([7, 8, 9], [[2, 1]])
        >>> words.append_level([2, 0, 1], [97, 98, 99]).to_list()
        [[[97, 98], []], [[99]]]
        """
        self._whole()
        rows = self.shape[0]
        if lengths is None:
            below = freeze(np.arange(rows + 1))
        else:
            (below,) = _levels.from_lengths([_levels.check_lengths(lengths)])
            if len(below) - 1 != rows and (self._lod or values is not None):
                raise LoDError(f"{len(below) - 1} lengths for {rows} rows; give one per row of the tensor")
        made = self._values if values is None else type(self)(values)._values
        levels = (*self._lod, below)
        _levels.check_rows(levels, made)
        return self._wrap(made, levels, self._base if values is None else 0)

    def drop_level(self, level: int | None = None) -> Self:
        """Return the tensor without a level: its sequences are joined within those of the level above.

        Parameters
        ----------
        level : int, optional
            Default: the innermost, whose lengths must then all be 1 (a batch of images needs no index).

        Raises
        ------
        LoDLevelError
            The level does not exist, or, without ``level``, a length is not 1.

        Examples
        --------
        Articles of sentences of words become articles of words, or sentences of words:

        >>> from lodkit import LoDTensor
        >>> t = LoDTensor([1, 2, 3, 4, 5, 6], [[2, 1], [3, 1, 2]])
        >>> t.drop_level(-1).to_list(), t.drop_level(0).to_list()
        ([[1, 2, 3, 4], [5, 6]], [[1, 2, 3], [4], [5, 6]])
        """
        if level is None:
            lengths = self.lengths(-1)
            if (lengths != 1).any():
                i = int(np.argmax(lengths != 1))
                raise LoDLevelError(
                    f"the innermost lengths must be 1; the length at position {i} is {lengths[i]}; "
                    "drop_level(-1) joins sequences of any length"
                )
        at = self._level(-1 if level is None else level)
        if self._values is None and len(self._lod) == 1:
            raise LoDError("structure without values needs its only level; give it rows with set_values first")
        above, below = self._lod[:at], self._lod[at + 1 :]
        if above:
            above = (*above[:-1], freeze(self._lod[at][above[-1]]))
        return self._wrap(self._values, above + below, self._base)
