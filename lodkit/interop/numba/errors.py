"""Errors that compiled code raises: it passes numbers, the message is made where Python asks for it."""

from __future__ import annotations

from ...base.errors import LoDError, LoDLevelError, RowIndexError


class NoSequence(RowIndexError):
    """Raised with an index and the number of sequences."""

    def __str__(self):
        index, count = self.args
        return f"sequence index {index} is out of range for {count} sequences (level 0)"


class NoLevel(LoDLevelError):
    """Raised with a level and the number of levels."""

    def __str__(self):
        level, count = self.args
        return f"level {level} does not exist: the tensor has lod_level {count}"


class OtherRowCount(LoDError):
    """Raised with a level, its last offset and the number of rows."""

    def __str__(self):
        level, last, rows = self.args
        difference = f"{last - rows} too many" if last > rows else f"{rows - last} too few"
        return (
            f"last offset {last} at level {level} does not equal values.shape[0]={rows} ({difference}); "
            "the innermost lengths must sum to the rows"
        )
