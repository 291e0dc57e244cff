"""Sums and products of sizes, which NumPy would let wrap round int64: here they raise.

All sizes are added up and multiplied by these functions, or by ``lengths_to_offsets``, which is compiled.
"""

from __future__ import annotations

import contextlib
import math
import operator

import numpy as np

from ..base.errors import LoDError, SizeError
from .checks import MAX_INT64


@contextlib.contextmanager
def memory_for(what):
    """Context of making an array: one that no memory holds, or that NumPy refuses, raises a SizeError."""
    try:
        yield
    except (MemoryError, ValueError, OverflowError) as error:
        raise SizeError(f"there is no memory for {what} ({error}); pass smaller sizes") from error


def total_size(sizes, what):
    """The sum of sizes, a list or an array; ``what`` names them in an error, and the argument that they belong to."""
    sizes = sizes.tolist() if isinstance(sizes, np.ndarray) else map(operator.index, sizes)
    return checked_size(sum(sizes), what, "add up to")


def size_product(sizes, what):
    """The product of sizes, a list or a shape."""
    return checked_size(math.prod(map(operator.index, sizes)), what)


def checked_size(size, what, verb="is"):
    """A size that Python computed, which has integers of any size."""
    if size > MAX_INT64:
        raise size_error(size, what, verb)
    return size


def size_error(size, what, verb="is"):
    """The error for a size that no offset of 64 bits holds."""
    return LoDError(
        f"{what} {verb} {size}, more than int64 holds ({MAX_INT64} = 2**63 - 1); give fewer or smaller ones"
    )


def size_products(sizes, by, what):
    """The products of the elements of two arrays of sizes, or of an array and a number."""
    found = sizes * by
    if found.size and np.multiply(sizes, by, dtype=np.float64).max() >= float(MAX_INT64):
        most = np.multiply(sizes, by, dtype=object).max()
        if most > MAX_INT64:
            raise size_error(most, what)
    return found
