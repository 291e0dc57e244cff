"""Errors that compiled code raises: it passes numbers, the message is made where Python receives them."""

from __future__ import annotations

from ...errors import LoDError, LoDLevelError, RowIndexError


class NoSequence(RowIndexError):
    def __init__(self, index, count):
        super().__init__(f"sequence index {index} is out of range for {count} sequences (level 0)")


class NoLevel(LoDLevelError):
    def __init__(self, level, count):
        super().__init__(f"level {level} does not exist: the tensor has lod_level {count}")


class OtherRowCount(LoDError):
    def __init__(self, level, last, rows):
        difference = f"{last - rows} too many" if last > rows else f"{rows - last} too few"
        super().__init__(
            f"last offset {last} at level {level} does not equal values.shape[0]={rows} ({difference}); "
            "the innermost lengths must sum to the rows"
        )
