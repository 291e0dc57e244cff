"""Memory for big arrays: private anonymous mappings on huge pages, kept for the next array when the last one is gone.

A fresh page costs more than what a kernel writes to it (52 MB: 3.7 ms of faults, 1.8 ms to fill), and batches follow
each other in much the same sizes. What is kept is given to the system to take whenever it is short of memory
(MADV_FREE), so that it is no process's burden.
"""

from __future__ import annotations

import mmap
import weakref

import numpy as np

MOST = 1 << 28  # bytes that are kept

# Whole operations of lists are atomic, and no lock is held when the collector runs ``_keep`` in the midst of others.
_kept: list[mmap.mmap] = []


def allocate(size):
    """An array of at least ``size`` bytes, with whatever was in them."""
    if not hasattr(mmap, "MAP_PRIVATE"):
        return np.empty(size, np.uint8)
    mapping = _taken(size) or _mapped(size)
    array = np.frombuffer(mapping, np.uint8)
    weakref.finalize(array, _keep, mapping).atexit = False
    return array


def _taken(size):
    """The smallest mapping that is kept and fits; none of more than twice the size."""
    for mapping in sorted((m for m in tuple(_kept) if size <= len(m) <= 2 * size), key=len):
        try:
            _kept.remove(mapping)
        except ValueError:  # another thread took it
            continue
        return mapping
    return None


def _mapped(size):
    """A new mapping. Python's default is shared: forks see it, and huge pages skip it."""
    try:
        mapping = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    except (OSError, OverflowError) as error:
        raise MemoryError(f"there is no memory for {size:,} bytes") from error
    _advise(mapping, "MADV_HUGEPAGE")
    return mapping


def _keep(mapping):
    """Called when no view of the array is left."""
    if len(mapping) <= MOST:
        _advise(mapping, "MADV_FREE")
        _kept.append(mapping)
    while sum(map(len, tuple(_kept))) > MOST:
        del _kept[:1]


def _advise(mapping, advice):
    """Advice is taken where the system knows it."""
    if hasattr(mapping, "madvise") and hasattr(mmap, advice):
        try:
            mapping.madvise(getattr(mmap, advice))
        except OSError:
            return
