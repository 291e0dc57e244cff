"""What is refused of arrays to be saved, before a file is opened."""

from __future__ import annotations

import numpy as np

from ...base.errors import SizeError

SHOWN = 40  # characters of a long name in an error


def encode_name(name):
    """A name in UTF-8, in which files have it."""
    try:
        return name.encode()
    except UnicodeEncodeError:
        raise ValueError(
            f"{shorten_name(name)} is no text that UTF-8 holds (half a surrogate pair, as in file names that are no "
            "text); rename it"
        ) from None


def shorten_name(name):
    """A name for an error, cut short."""
    return repr(name) if len(name) <= SHOWN else f"{name[:SHOWN]!r}..."


def check_room(name, array, dtype):
    """Refuse an array whose copy no memory holds, where writing it in order and in a type takes one."""
    if array.dtype != dtype or not array.flags.c_contiguous:
        name_size_errors(name, lambda: np.empty(array.shape, dtype), array, dtype)


def name_size_errors(name, make, array, dtype):
    """What ``make`` returns for an array, whose error for sizes knows no names."""
    try:
        return make()
    except (MemoryError, ValueError) as error:
        raise SizeError(
            f"{shorten_name(name)}: there is no memory for a copy in order of the array of shape {array.shape}, "
            f"{array.size * np.dtype(dtype).itemsize} bytes as {dtype}; save a part of it"
        ) from error
