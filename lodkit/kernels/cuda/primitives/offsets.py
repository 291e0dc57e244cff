"""Offsets on a GPU. A LoDTensor keeps its own on the CPU: each array of them is sent once."""

from __future__ import annotations

import types
import typing
import weakref

import numpy as np

from ....arrays.cuda import View, elementwise, slots, vector
from ....base.errors import DeviceError
from ....lod.offsets import tiles_of
from .row_kernels import lower_bound
from .scan import offsets_of

#: ``tile_rows``: rows that one group of threads reduces; longer segments are cut. ``run_rows``: the same for runs of
#: equal rows of a gradient. ``warp_rows``: rows that a warp goes through several times; where a segment has more, there
#: are several launches.
settings = types.SimpleNamespace(tile_rows=256, run_rows=64, warp_rows=8192)

_sent: dict[tuple, tuple] = {}  # (what it was made by, id of an array, where to) -> (the array, weakly, what is there)
#: Numbers whose memory on a device a CUDA graph reads. It may be replayed for as long as the process lives, and what is
#: here keeps its entry of ``_sent``.
_captured: dict[int, np.ndarray] = {}


class Offsets:
    """Checked offsets on a device.

    Attributes
    ----------
    offsets : View
        int64, one more than there are segments.
    rows : int
        The last offset; of a level of tiles, at least that.
    tiles, tile_offsets : View and Offsets, or None
        Where a segment is longer than ``settings.tile_rows``: offsets of segments cut into tiles, and the offsets of
        the segments over those tiles, which may be too long again.
    longest : int
        Rows of the longest segment, if there are tiles.
    """

    __slots__ = ("longest", "offsets", "rows", "tile_offsets", "tiles")

    def __init__(self, offsets, rows, tiles=None, tile_offsets=None, longest=0):
        self.offsets, self.rows, self.tiles, self.tile_offsets = offsets, rows, tiles, tile_offsets
        self.longest = longest

    def __len__(self):
        """Number of segments."""
        return len(self.offsets) - 1


def offsets_like(array, offsets):
    """NumPy offsets that nobody changes, on the device of ``array``, for its stream; Offsets are those already."""
    return offsets if type(offsets) is Offsets else _find_or_send(_with_tiles, array, offsets, settings.tile_rows)


def send_offsets(like, offsets):
    """Checked offsets of a LoDTensor on the device of ``like``, once."""
    return offsets_like(like, offsets).offsets


def send_once(array, numbers):
    """NumPy's numbers that nobody changes, on the device of ``array``, for its stream."""
    return _find_or_send(View.send, array, numbers)


def _find_or_send(send, array, numbers, *by):
    """``send(array, numbers)``, once for a stream, and for what it goes ``by``, while the numbers live."""
    key = send, id(numbers), array.library, array.device, array.library.queue(array.device), *by
    found = _sent.get(key)
    if found is not None and found[0]() is numbers:
        if array.library.captures():
            _captured[id(numbers)] = numbers
        return found[1]
    if array.library.captures():
        raise DeviceError(
            "offsets cannot be sent while a CUDA graph is captured; make this call once before, on the same stream and "
            "with the same LoDTensor, or one that shares its structure"
        )
    made = send(array, numbers)
    _sent[key] = weakref.ref(numbers, lambda _: _sent.pop(key, None)), made
    return made


def _with_tiles(array, offsets):
    sent, rows = send_once(array, offsets), int(offsets[-1])
    tiles, tile_offsets = tiles_of(offsets, settings.tile_rows)
    if not len(tiles):
        return Offsets(sent, rows)
    return Offsets(sent, rows, array.send(tiles), _with_tiles(array, tile_offsets), int(np.diff(offsets).max()))


class Found(typing.NamedTuple):
    """Facts about offsets that were read back from a device."""

    decrease: int  # the first position where they decrease, or -1
    longest: int
    first: int
    last: int


def find_facts(kernel, array, *numbers, count):
    """Run a kernel that records facts about an array in int64 slots, initially -1, and read them. Synchronises."""
    noted = slots(array, count)
    kernel(array.size, array, *numbers, noted.view)
    return noted.read()


LENGTH_BOUND = 1 << 62


@elementwise
def _inspect(s, offsets, last, tile, found):
    here = vector.number(offsets, s)
    length = here - vector.number(offsets, s - 1) if s > 0 else 0
    if length < 0:
        vector.atomic_first(found, 0, s)
    elif length > tile:
        vector.atomic_first(found, 1, LENGTH_BOUND - length)
    if s == 0:
        found[2] = here
    if s == last:
        found[3] = here


def inspect_offsets(offsets, tile=None):
    """Inspect offsets (at least one) on their device: ``longest`` counts from ``tile`` rows up. Synchronises."""
    tile = settings.tile_rows if tile is None else tile
    decrease, short, first, last = find_facts(_inspect, offsets, offsets.size - 1, tile, count=4)
    return Found(decrease, LENGTH_BOUND - short if short >= 0 else 0, first, last)


@elementwise
def _count_tiles(s, offsets, tile, counts):
    counts[s] = (vector.number(offsets, s + 1) - vector.number(offsets, s) + tile - 1) // tile


@elementwise
def _cut(p, offsets, tile_offsets, n, tile, tiles):
    """Start of each tile; unused ones, all behind the last, have no rows."""
    s = lower_bound(tile_offsets, 0, n + 1, p + 1) - 1
    tiles[p] = vector.number(offsets, s)
    if s < n:
        tiles[p] += (p - vector.number(tile_offsets, s)) * tile


def cut(offsets, found):
    """Offsets, with the tiles of its long segments where there are some."""
    n, tile = len(offsets) - 1, settings.tile_rows
    if found.longest <= tile:
        return Offsets(offsets, found.last)
    tile_offsets = offsets_of(_count_tiles.into(offsets.like((n,), np.int64), offsets, tile))
    most = n + found.last // tile
    tiles = _cut.into(offsets.like((most + 1,), np.int64), offsets, tile_offsets, n, tile)
    upper = cut(tile_offsets, Found(-1, -(-found.longest // tile), 0, most))
    return Offsets(offsets, found.last, tiles, upper, found.longest)
