"""CUB's radix sort, where the package cuda-cccl (``cuda.compute``) is installed: 16 bytes a pair and pass, ours 20.

Its first call in a process compiles for several seconds, which is why it is no dependency and small sorts go without.
"""

from __future__ import annotations

import functools
import warnings
from typing import NamedTuple

import numpy as np

from ....arrays.cuda import elementwise

# CUB sorts 1.1, 10 and 30 million ids in 0.17, 0.41 and 0.94 ms, this package in 0.13, 0.53 and 1.77 ms (H200).
MIN_SORTED_IDS = 1 << 22


@functools.cache
def compute():
    """The module ``cuda.compute``, or None where it is not installed or finds no driver."""
    with warnings.catch_warnings():
        # Without a driver it warns, and is empty.
        warnings.simplefilter("ignore", RuntimeWarning)
        try:
            from cuda import compute
        except ImportError:
            return None
    return compute if hasattr(compute, "radix_sort") else None


class Stream(NamedTuple):
    """A stream as ``cuda.compute`` takes it."""

    handle: int

    def __cuda_stream__(self):
        return 0, self.handle


@elementwise
def _keys(i, ids, height, keys, order):
    keys[i], order[i] = np.int64(min(np.uint64(ids[i]), np.uint64(height))), i


def sort_pairs(ids, height, kind):
    """``sort.argsort`` by ``cuda.compute``, on the bits that ids have."""
    n, stream = ids.size, Stream(ids.library.stream(ids.device))
    keys, order, sorted_keys, sorted_order = (ids.like((n,), kind) for _ in range(4))
    _keys(n, ids, height, keys, order)
    with ids.library.on(ids.device):
        compute().radix_sort(
            d_in_keys=keys.array,
            d_out_keys=sorted_keys.array,
            d_in_values=order.array,
            d_out_values=sorted_order.array,
            num_items=n,
            order=compute().SortOrder.ASCENDING,
            begin_bit=0,
            end_bit=max(1, height.bit_length()),
            stream=stream,
        )
    return sorted_keys, sorted_order
