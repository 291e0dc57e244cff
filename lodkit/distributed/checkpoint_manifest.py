"""What a manifest must have, which may come from anybody."""

from __future__ import annotations

import numpy as np

from ..models.storage.reading import MOST_DIMENSIONS
from .checkpoint_files import EXTRA, NAME, SHARD

LONGEST_DTYPE = len("<f16")


def is_sound(content):
    """Whether a manifest has what reading relies on: names without folders, numbers that are sizes."""

    def number(x):
        return type(x) is int and 0 <= x < 2**62

    def array(x):
        dtype, shape = x["dtype"], x["shape"]
        numbers = len(dtype) <= LONGEST_DTYPE and np.dtype(dtype).kind in "fiu" and np.dtype(dtype).str == dtype
        return numbers and 0 < len(shape) <= MOST_DIMENSIONS and all(map(number, shape))

    def file(x):
        named = SHARD.fullmatch(x["name"]) and x["array"] in content["arrays"]
        numbers = all(number(x[key]) for key in ("first", "rows", "bytes", "crc32"))
        return numbers and (named or (x["name"] == EXTRA and x["array"] is None))

    try:
        return (
            all(isinstance(x, dict) for x in content["tables"].values())
            and all(NAME.fullmatch(name) and array(x) for name, x in content["arrays"].items())
            and all(file(x) for x in content["files"])
            and len({x["name"] for x in content["files"]}) == len(content["files"])
        )
    except (KeyError, TypeError, AttributeError, ValueError):
        return False
