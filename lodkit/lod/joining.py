"""Arrays of rows joined to one."""

from __future__ import annotations

import numpy as np

from ..arrays import from_lists, plain_array
from ..arrays.sizes import total_size
from ..base.errors import DTypeError, LoDError
from .large import needs_memory


def rows_of(x, name):
    """A sequence, given as an array or as a list, as an array of rows."""
    array = from_lists(x, name) if isinstance(x, list | tuple) else plain_array(x, name)
    if not array.ndim:
        raise LoDError(f"{name} is {x!r:.200}, which has no length; sequences are (length, *item)")
    return array


@needs_memory
def joined_rows(arrays, what):
    """The rows of several arrays in one; ``what`` names them in errors."""
    total_size(map(len, arrays), f"the rows of all {what}")
    try:
        return np.concatenate(arrays)
    except TypeError as error:
        types = ", ".join(sorted({str(a.dtype) for a in arrays}))
        raise DTypeError(f"{what} of the types {types} have no type in common; convert all to one") from error
