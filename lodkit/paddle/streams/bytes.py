"""Binary files with a known number of remaining bytes."""

from __future__ import annotations

import io
import os
import struct

import numpy as np

from ...base.errors import LodkitError
from ...base.loading import public


@public(home="lodkit.paddle")
class StreamError(LodkitError, ValueError):
    """The bytes are not a Paddle stream; the message gives the error, the byte and a remedy."""


class Reader:
    """Reader that checks for remaining bytes before it allocates memory for them."""

    def __init__(self, file):
        if isinstance(file, io.TextIOBase):
            raise TypeError('the file is open as text; open it with mode "rb"')
        if not (hasattr(file, "readinto") and hasattr(file, "seekable") and file.seekable()):
            raise TypeError("the file must be seekable and have readinto; else read it, and call loads(data)")
        self.file, self.at = file, file.tell()
        self.end = file.seek(0, os.SEEK_END)
        self.go(self.at)

    def go(self, at):
        self.at = self.file.seek(at)

    @property
    def left(self):
        return self.end - self.at

    def need(self, count, what):
        """Raise unless ``count`` bytes are left."""
        if count > self.left:
            raise StreamError(
                f"truncated: {what} at byte {self.at} takes {count:,} bytes, {self.left:,} are left; "
                "copy or save the file again"
            )

    def fill(self, array, what):
        """Read into a contiguous array."""
        self.need(array.nbytes, what)
        rest = memoryview(array.reshape(-1).view(np.uint8))
        while len(rest):
            read = self.file.readinto(rest)
            if not read:
                raise StreamError(f"truncated: the file ended within {what}; is it being written?")
            self.at, rest = self.at + read, rest[read:]
        return array

    def take(self, count, what):
        """Read ``count`` bytes."""
        self.need(count, what)
        return self.fill(np.empty(count, np.uint8), what).tobytes()

    def number(self, form, what):
        return struct.unpack(form, self.take(struct.calcsize(form), what))[0]

    def integers(self, count, what):
        """Read ``count`` int64; uint64 beyond int64 read as negative."""
        self.need(8 * count, what)
        return self.fill(np.empty(count, "<i8"), what).astype(np.int64, copy=False)
