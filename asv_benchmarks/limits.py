"""What the memory of this machine allows: the least time in which a call could move its bytes.

    python asv_benchmarks/limits.py

prints the size and the bandwidth of each level. The bandwidth is that of one thread which sums an array in order, half
as large as the level: an upper bound for rows at random places.
"""

from __future__ import annotations

import functools
import pathlib
import time

import numba
import numpy as np

KIB, MIB = 1 << 10, 1 << 20
#: Levels of a machine that does not tell its own: bytes of the caches of one core.
USUAL_BYTES = (32 * KIB, 512 * KIB, 8 * MIB)
MEMORY_BYTES = 512 * MIB
SECONDS = 0.1


@functools.cache
def cache_sizes(root="/sys/devices/system/cpu/cpu0/cache"):
    """Return the bytes of the caches that hold data, smallest first."""
    found = []
    for index in sorted(pathlib.Path(root).glob("index*")):
        if (index / "type").read_text().strip() != "Instruction":
            size = (index / "size").read_text().strip()
            found.append(int(size[:-1]) * {"K": KIB, "M": MIB}[size[-1]])
    return tuple(sorted(found)) or USUAL_BYTES


@numba.njit(fastmath=True)
def total(x, times):
    result = np.float32(0)
    for _ in range(times):
        for i in range(x.size):
            result += x[i]
    return result


@functools.cache
def bandwidth(level):
    """Return the bytes a second that one thread reads from a level of the cache; from memory beyond the last."""
    sizes = cache_sizes()
    x = np.ones((sizes[level] // 2 if level < len(sizes) else MEMORY_BYTES) // 4, np.float32)
    times, best = max(1, 4 * MIB // x.nbytes), np.inf
    total(x, times)
    start = time.perf_counter()
    while time.perf_counter() - start < SECONDS:
        before = time.perf_counter()
        total(x, times)
        best = min(best, time.perf_counter() - before)
    return x.nbytes * times / best


def level_of(footprint):
    """Return the level of the cache that holds so many bytes; one beyond the last for memory."""
    sizes = cache_sizes()
    return next((level for level, size in enumerate(sizes) if footprint <= size), len(sizes))


def least_milliseconds(moved, footprint):
    """Return the time in which a call could move its bytes.

    Parameters
    ----------
    moved : int
        Bytes that a call reads and writes.
    footprint : int
        Bytes that all calls touch between two touches of the same: what a cache would have to hold.
    """
    return moved / bandwidth(level_of(footprint)) * 1e3


if __name__ == "__main__":
    for level, size in enumerate((*cache_sizes(), MEMORY_BYTES)):
        print(f"{size / KIB:10,.0f} KiB  {bandwidth(level) / 1e9:7.1f} GB/s")
