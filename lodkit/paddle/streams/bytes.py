"""A binary file of which it is known how many bytes are left."""

from __future__ import annotations

import io
import os
import struct

import numpy as np

from ...errors import LodkitError
from ...public import public


@public(home="lodkit.paddle")
class StreamError(LodkitError, ValueError):
    """Bytes that are no stream of Paddle: the message says what is wrong, at which byte, and what helps."""


class Reader:
    """What is read next, after a look whether it is there: no memory is taken for bytes that are not."""

    def __init__(self, file):
        if isinstance(file, io.TextIOBase):
            raise TypeError('the file is open as text; open it with mode "rb"')
        if not (hasattr(file, "readinto") and hasattr(file, "seekable") and file.seekable()):
            raise TypeError("the file cannot tell how many bytes are left; read it, and call loads(data)")
        self.file, self.at = file, file.tell()
        self.end = file.seek(0, os.SEEK_END)
        self.go(self.at)

    def go(self, at):
        self.at = self.file.seek(at)

    @property
    def left(self):
        return self.end - self.at

    def need(self, count, what):
        """Raise unless ``count`` bytes are there."""
        if count > self.left:
            raise StreamError(
                f"truncated: {what} at byte {self.at} takes {count:,} bytes, {self.left:,} are left; "
                "copy or save the file again"
            )

    def fill(self, array, what):
        """Read the memory of a contiguous array."""
        self.need(array.nbytes, what)
        rest = memoryview(array.reshape(-1).view(np.uint8))
        while len(rest):
            read = self.file.readinto(rest)
            if not read:
                raise StreamError(f"truncated: the file ended within {what}; is it being written?")
            self.at, rest = self.at + read, rest[read:]
        return array

    def take(self, count, what):
        """The next ``count`` bytes."""
        self.need(count, what)
        return self.fill(np.empty(count, np.uint8), what).tobytes()

    def number(self, form, what):
        return struct.unpack(form, self.take(struct.calcsize(form), what))[0]

    def integers(self, count, what):
        """``count`` int64, which the stream may hold as uint64: what is too large reads as negative."""
        self.need(8 * count, what)
        return self.fill(np.empty(count, "<i8"), what).astype(np.int64, copy=False)
