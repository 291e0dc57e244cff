"""A map from int64 keys to slots 0, 1, 2 ... in the order in which keys came: open addressing, on the CPU."""

from __future__ import annotations

import numpy as np

from ..arrays.sizes import memory_for
from ..jit import jitable, njit, parallel_kernel, prange

EMPTY = -1
# Spreads keys that follow each other over all places.
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


@jitable(inline=True)
def _place(key, places):
    mask = np.uint64(len(places) - 1)  # a power of 2
    spread = np.uint64(key) * _GOLDEN
    return np.int64((spread ^ (spread >> np.uint64(32))) & mask)


@jitable
def _find(key, keys, places):
    """The place of a key, or the empty one where it belongs."""
    at = _place(key, places)
    while places[at] != EMPTY and keys[places[at]] != key:
        at = (at + 1) & (len(places) - 1)
    return at


@parallel_kernel
def find(wanted, keys, places, out):
    """Return the slot of each wanted key, -1 for absent keys."""
    for i in prange(len(wanted)):
        out[i] = places[_find(wanted[i], keys, places)]


@njit
def insert(wanted, keys, places, count):
    """Give each new key the next slot, as long as there are any; ``count[0]`` is the number of keys."""
    for i in range(len(wanted)):
        at = _find(wanted[i], keys, places)
        if places[at] == EMPTY and count[0] < len(keys):
            keys[count[0]], places[at] = wanted[i], count[0]
            count[0] += 1


_wrapping = np.errstate(over="ignore")  # products modulo 2**64, uncompiled


class Keys:
    """Distinct keys by slot, and where each is found. No interrupt parts what is written: compiled code does it all."""

    @_wrapping
    def __init__(self, capacity, keys=()):
        with memory_for(f"the keys of a table of capacity {capacity}"):
            self.slots = np.empty(capacity, np.int64)
            # At most half of the places are taken.
            self.places = np.full(2 << max(capacity - 1, 1).bit_length(), EMPTY, np.int64)
        self._count = np.zeros(1, np.int64)
        self.insert(np.array(keys, np.int64))

    @property
    def count(self):
        """Number of keys."""
        return self._count.item()

    @_wrapping
    def find(self, wanted):
        """Slot of each key, -1 where there is none."""
        out = np.empty(len(wanted), np.int64)
        find(len(wanted), wanted, self.slots, self.places, out)
        return out

    @_wrapping
    def insert(self, wanted):
        """Give each new key the next slot; there must be room."""
        insert(wanted, self.slots, self.places, self._count)
