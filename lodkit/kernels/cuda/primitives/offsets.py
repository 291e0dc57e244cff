"""Offsets on a GPU. A LoDTensor keeps its own on the CPU: each array of them is sent once."""

from __future__ import annotations

import types
import typing
import weakref

import numpy as np

from ....arrays.cuda import vector
from ....arrays.cuda.elementwise import fill
from ....arrays.cuda.launch import cuda, device, launch
from ....lod.offsets import pieces_of
from .scan import offsets_of

#: ``piece_rows``: rows that one group of threads reduces; longer segments are cut.
settings = types.SimpleNamespace(piece_rows=256)

_sent: dict[tuple, tuple] = {}  # (id of an offsets array, and where to) -> (the array, weakly, Offsets)


class Offsets:
    """Checked offsets on a device.

    Attributes
    ----------
    offsets : View
        int64, one more than there are segments.
    rows : int
        The last offset; of a level of pieces, at least that.
    pieces, owners : View and Offsets, or None
        Where a segment is longer than ``settings.piece_rows``: offsets of segments cut into pieces, and the offsets of
        the segments over those pieces, which may be too long again.
    """

    __slots__ = ("offsets", "owners", "pieces", "rows")

    def __init__(self, offsets, rows, pieces=None, owners=None):
        self.offsets, self.rows, self.pieces, self.owners = offsets, rows, pieces, owners

    def __len__(self):
        """How many segments there are."""
        return len(self.offsets) - 1


def offsets_like(array, offsets):
    """NumPy offsets that nobody changes, on the device of ``array``, for its stream; Offsets are those already."""
    if type(offsets) is Offsets:
        return offsets
    stream = array.library.stream(array.device)
    key = id(offsets), array.library, array.device, stream, settings.piece_rows
    found = _sent.get(key)
    if found is not None and found[0]() is offsets:
        return found[1]
    made = _sent_with_pieces(array, offsets)
    _sent[key] = weakref.ref(offsets, lambda _: _sent.pop(key, None)), made
    return made


def _sent_with_pieces(array, offsets):
    pieces, owners = pieces_of(offsets, settings.piece_rows)
    if not len(pieces):
        return Offsets(array.send(offsets), int(offsets[-1]))
    return Offsets(array.send(offsets), int(offsets[-1]), array.send(pieces), _sent_with_pieces(array, owners))


class Found(typing.NamedTuple):
    """What a look at offsets on a device told."""

    decrease: int  # the first position where they decrease, or -1
    longest: int
    first: int
    last: int


def found_in(kernel, array, *numbers, slots):
    """Run a kernel that notes things about an array in a few int64 slots, -1 so far, and read them. Waits."""
    noted = fill(array.like((slots,), np.int64), -1)
    launch(kernel, array.size, array, *numbers, noted)
    return noted.read().tolist()


LONG = 1 << 62


@cuda.jit
def _inspect(offsets, n, piece, found):
    s = cuda.grid(1)
    while s < n:
        here = vector.number(offsets, s)
        length = here - vector.number(offsets, s - 1) if s > 0 else 0
        if length < 0:
            vector.atomic_first(found, 0, s)
        elif length > piece:
            vector.atomic_first(found, 1, LONG - length)
        if s == 0:
            found[2] = here
        if s == n - 1:
            found[3] = here
        s += cuda.gridsize(1)


def inspected(offsets, piece=None):
    """Look at offsets (at least one) on their device: ``longest`` counts from ``piece`` rows up. Waits."""
    piece = settings.piece_rows if piece is None else piece
    decrease, short, first, last = found_in(_inspect, offsets, offsets.size, piece, slots=4)
    return Found(decrease, LONG - short if short >= 0 else 0, first, last)


@device
def last_at_most(offsets, n, row):
    """Position of the last of the offsets ``0 .. n`` that is <= row."""
    low, high = 0, n
    while low < high:
        middle = (low + high + 1) >> 1
        if vector.number(offsets, middle) <= row:
            low = middle
        else:
            high = middle - 1
    return low


@cuda.jit
def _count_pieces(offsets, n, piece, counts):
    s = cuda.grid(1)
    while s < n:
        counts[s] = (vector.number(offsets, s + 1) - vector.number(offsets, s) + piece - 1) // piece
        s += cuda.gridsize(1)


@cuda.jit
def _cut(offsets, owners, n, most, piece, pieces):
    """Where each piece starts; those that there are not, all behind the last, have no rows."""
    p = cuda.grid(1)
    while p <= most:
        s = last_at_most(owners, n, p)
        pieces[p] = vector.number(offsets, s)
        if s < n:
            pieces[p] += (p - vector.number(owners, s)) * piece
        p += cuda.gridsize(1)


def cut(offsets, found):
    """Offsets, with the pieces of its long segments where there are some."""
    n, piece = len(offsets) - 1, settings.piece_rows
    if found.longest <= piece:
        return Offsets(offsets, found.last)
    counts = offsets.like((n,), np.int64)
    launch(_count_pieces, n, offsets, n, piece, counts)
    owners, most = offsets_of(counts), n + found.last // piece
    pieces = offsets.like((most + 1,), np.int64)
    launch(_cut, most + 1, offsets, owners, n, most, piece, pieces)
    upper = cut(owners, Found(-1, -(-found.longest // piece), 0, most))
    return Offsets(offsets, found.last, pieces, upper)
