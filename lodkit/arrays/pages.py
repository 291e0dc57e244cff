"""Memory for big arrays: private anonymous mappings on huge pages, kept for later arrays.

Page faults cost more than filling a page (52 MB: 3.7 ms of faults, 1.8 ms to fill), and batches repeat in similar
sizes. The system may reclaim most of what is kept whenever it is short (MADV_FREE).
"""

from __future__ import annotations

import contextlib
import mmap
import weakref

import numpy as np

MAX_KEPT_BYTES = 1 << 28
#: Bytes that are kept as they are. To offer memory to the system tells every CPU that has used it: 0.05 ms of the 1.5
#: of a call with a result of 4 MiB on two threads.
HOT = 1 << 25

# No lock: the collector may run ``_keep`` at any point, and single operations of lists are atomic.
_hot: list[mmap.mmap] = []
_kept: list[mmap.mmap] = []


def allocate(size):
    """Allocate an uninitialised array of at least ``size`` bytes."""
    if not hasattr(mmap, "MAP_PRIVATE"):
        return np.empty(size, np.uint8)
    return np.asarray(_Owner(_take_mapping(size) or _map_pages(size)))


class _Owner:
    """What arrays have as the root of their ``base``: as long as anything refers to their memory, this lives.

    A mapping itself would not do: who finds it can make arrays of it, which the ones made before know nothing of.
    """

    __slots__ = ("__array_interface__", "__mapping", "__weakref__")

    def __init__(self, mapping):
        address = np.frombuffer(mapping, np.uint8).__array_interface__["data"][0]
        self.__array_interface__ = {"data": (address, False), "shape": (len(mapping),), "typestr": "|u1", "version": 3}
        # Held by each mapping too: nothing is kept any more as Python ends.
        self.__mapping = mapping
        weakref.finalize(self, _keep, mapping).atexit = False


def _take_mapping(size):
    """Take the smallest kept mapping of ``size`` to ``2 * size`` bytes, if any; one as it is before one of its size."""
    found = [(len(m), place is _kept, m, place) for place in (_hot, _kept) for m in tuple(place)]
    for length, _, mapping, place in sorted(found, key=lambda each: each[:2]):
        if size <= length <= 2 * size:
            try:
                place.remove(mapping)
            except ValueError:
                # Another thread took it.
                continue
            return mapping
    return None


def _map_pages(size):
    """Make a private mapping; Python's default, a shared one, is visible to forks and gets no huge pages."""
    try:
        mapping = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    except (OSError, OverflowError) as error:
        raise MemoryError(f"there is no memory for {size:,} bytes") from error
    _advise(mapping, "MADV_HUGEPAGE")
    return mapping


def _keep(mapping):
    """Keep a mapping whose array is gone, and offer older ones to the system."""
    if HOT < len(mapping) <= MAX_KEPT_BYTES:
        _advise(mapping, "MADV_FREE")
        _kept.append(mapping)
    elif len(mapping) <= MAX_KEPT_BYTES:
        _hot.append(mapping)
    while sum(map(len, tuple(_hot))) > HOT:
        for oldest in _hot[:1]:
            # Another thread took it.
            with contextlib.suppress(ValueError):
                _hot.remove(oldest)
                _advise(oldest, "MADV_FREE")
                _kept.append(oldest)
    while _kept and sum(map(len, (*_hot, *_kept))) > MAX_KEPT_BYTES:
        del _kept[:1]


def _advise(mapping, advice):
    """Advise the system on a mapping, if it knows the advice."""
    if hasattr(mapping, "madvise") and hasattr(mmap, advice):
        try:
            mapping.madvise(getattr(mmap, advice))
        except OSError:
            return
