"""LoDTensors from and to columns of other libraries: Arrow's interface, and awkward arrays."""

from __future__ import annotations

from typing import Any, Literal, Self, overload

from ..base.loading import module_above
from .large import needs_memory


class Columnar:
    """A LoDTensor is an Arrow array: ``pyarrow.array(t)``, ``polars.Series(t)`` and others share its memory."""

    __slots__ = ()

    @overload
    @classmethod
    def from_arrow(
        cls, x: Any, *, nulls: Literal["raise", "empty"] = "raise", dictionary: Literal[False] = False
    ) -> Self: ...

    @overload
    @classmethod
    def from_arrow(
        cls, x: Any, *, nulls: Literal["raise", "empty"] = "raise", dictionary: Literal[True]
    ) -> tuple[Self, list[str]]: ...

    @classmethod
    def from_arrow(
        cls, x: Any, *, nulls: Literal["raise", "empty"] = "raise", dictionary: bool = False
    ) -> Self | tuple[Self, list[str]]:
        """Make a LoDTensor from a column of lists, of any library that speaks Arrow. No Arrow library is needed.

        Lists become levels, to any depth; lists of fixed size below them items ``(rows, *item)``; a column of plain
        numbers a tensor of lod_level 0. Values are a read-only view that keeps the column's memory alive; a column in
        several chunks is copied once. Offsets are checked and copied to int64.

        Parameters
        ----------
        x : object with ``__arrow_c_array__`` or ``__arrow_c_stream__``
            Arrays and chunked arrays of pyarrow, Series of polars and pandas 3, duckdb relations of one column; also
            columns of datasets of Hugging Face, and awkward arrays (``from_awkward``).
            ``lodkit.interop.arrow.columns`` reads tables of several columns.
        nulls : {"raise", "empty"}
            ``"empty"``: a list that is null is read as an empty one, whatever it hides. Nulls inside lists raise, but
            those among times, which are NaT.
        dictionary : bool
            True: the column holds words, dictionary-encoded or not, which become ids. pyarrow encodes them where it is
            loaded, or where they are many and it is installed.

        Returns
        -------
        LoDTensor, or with ``dictionary=True`` (LoDTensor of int64 ids, list of str)
            Numbers keep their type; booleans and the numbers of dictionaries are copied. Dates and timestamps are
            datetime64, those with a time zone in UTC; durations are timedelta64. Dates of days are copied.

        Raises
        ------
        LoDError
            There are nulls, named by position; offsets decrease or leave their buffers; it was consumed before.
        DTypeError
            The column holds words, records, times of day or others that are neither numbers nor times.

        Examples
        --------
        >>> import pyarrow  # doctest: +SKIP
        >>> LoDTensor.from_arrow(pyarrow.array([[1, 2], [], [3]])).to_list()  # doctest: +SKIP
        [[1, 2], [], [3]]

        Any object of the interface will do; a LoDTensor is one:

        >>> from lodkit import LoDTensor
        >>> t = LoDTensor.from_arrow(LoDTensor([1.0, 2.0, 3.0], [[2, 1]]))
        >>> t, t.values.flags.writeable
        (LoDTensor([[1., 2.], [3.]], recursive_sequence_lengths=[[2, 1]], shape=(3,), dtype=float64), False)
        """
        return module_above("interop.arrow.reading").from_arrow(x, nulls, dictionary)

    def __arrow_c_array__(self, requested_schema: object | None = None) -> tuple[object, object]:
        """Return capsules of the type and of the array: large lists of numbers, items as lists of fixed size.

        Values and offsets are shared: do not write to the values while others read them. Values that are not
        C-contiguous or are booleans are copied. ``requested_schema`` may ask for other numbers that hold all of the
        values, and for lists with offsets of 32 bits.
        """
        return module_above("interop.arrow.exporting").tensor(self, requested_schema)

    def __arrow_c_schema__(self) -> object:
        """Return a capsule of the type that ``__arrow_c_array__`` gives."""
        return module_above("interop.arrow.exporting").tensor(self, with_array=False)

    @needs_memory
    def to_arrow(self) -> Any:
        """Return a pyarrow array that shares values and offsets: ``pyarrow.array(t)``."""
        return module_above("interop.arrow.exporting").pyarrow_array(self)

    @classmethod
    def from_awkward(cls, x: Any) -> Self:
        """Make a LoDTensor from an awkward array of lists of numbers.

        Variable dimensions become levels; regular ones below them items ``(rows, *item)``. Values are shared where the
        lists lie one after the other, else copied once. Offsets are checked and copied.

        Raises
        ------
        DTypeError
            Options (None), records, unions and strings; the message names the function of awkward that helps.

        Examples
        --------
        >>> import awkward  # doctest: +SKIP
        >>> LoDTensor.from_awkward(awkward.Array([[1, 2], [], [3]])).to_list()  # doctest: +SKIP
        [[1, 2], [], [3]]
        """
        return module_above("interop.awkward").from_awkward(cls, x)

    @needs_memory
    def to_awkward(self) -> Any:
        """Return an ``awkward.Array`` that shares values and offsets."""
        return module_above("interop.awkward").to_awkward(self)
