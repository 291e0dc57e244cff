"""Compiled functions over offsets: made of lengths, cut, merged, sorted and checked."""

from __future__ import annotations

import numpy as np

from ..arrays.sizes import size_error
from ..jit import Flags, Numbers, Table, compile_typed, jitable, njit
from ..jit.search import plus
from .levels import bad_length

_INT64 = np.dtype(np.int64)


def lengths_to_offsets(lengths, what="lengths"):
    """Return the offsets of int64 ``lengths``, from 0. A negative length, or a sum beyond int64, raises.

    ``what`` names the argument. Lengths are read once: another thread that changes them gets offsets as good as any.
    """
    offsets = np.empty(len(lengths) + 1, _INT64)
    if not sum_up(lengths, offsets):
        raise bad_length(lengths, what)
    return offsets


@compile_typed
def sum_up(lengths: Numbers, offsets: Numbers):
    """Fill in offsets of lengths. Returns False if one is negative, or the sum does not fit int64."""
    total = np.int64(0)
    # Every negative number sets the sign bit, without a branch per length.
    signs = np.int64(0)
    offsets[0] = 0
    for i in range(len(lengths)):
        length = lengths[i]
        # The first total that wraps is negative.
        total = plus(total, length)
        signs |= length | total
        offsets[i + 1] = total
    return signs >= 0


@compile_typed
def add_offsets(offsets: Numbers, others: Numbers, out: Numbers):
    """Fill ``out`` with sums of offsets. Returns False if they do not fit int64: the last one, which is the largest."""
    for i in range(len(out)):
        out[i] = plus(offsets[i], others[i])
    return out[-1] >= 0


@compile_typed
def longest_length(offsets: Numbers):
    """The longest of the lengths between checked offsets; 0 if there are none."""
    longest = 0
    for i in range(1, len(offsets)):
        longest = max(longest, offsets[i] - offsets[i - 1])
    return longest


@compile_typed
def find_extremes(numbers: Numbers):
    """The least and the greatest of some numbers and 0."""
    least = most = np.int64(0)
    for i in range(len(numbers)):
        # Read once: another thread may write the number.
        number = numbers[i]
        least, most = min(least, number), max(most, number)
    return least, most


def measure_lengths(offsets):
    """The lengths between offsets, and the longest; 0 if there are none."""
    lengths = np.empty(len(offsets) - 1, _INT64)
    # Uncompiled, the result is a number of NumPy.
    return lengths, int(_measure.code(offsets, lengths))


@compile_typed
def _measure(offsets: Numbers, lengths: Numbers):
    longest = 0
    for s in range(len(lengths)):
        lengths[s] = offsets[s + 1] - offsets[s]
        longest = max(longest, lengths[s])
    return longest


@njit
def first_decrease(numbers):
    """Position of the first number below its predecessor; 0 where there is none."""
    for i in range(1, len(numbers)):
        if numbers[i] < numbers[i - 1]:
            return i
    return 0


def cut_parts(offsets, starts, stops, count, name="a selection of x", level=0):
    """Offsets, from 0, of the sequences ``starts[k]:stops[k]`` of a level, ``count`` in all.

    Also the starts and stops of their parts in the next level, and the parts of all ranges before each. Starts and
    stops are C-contiguous int64; ``name`` and ``level`` are for an error.
    """
    out, first, last, to = np.empty(count + 1, _INT64), starts.copy(), stops.copy(), np.empty(len(starts), _INT64)
    if cut_level.code(offsets, first, last, to, out) < 0:
        raise part_count_error(
            offsets[starts], offsets[stops], f"the lengths, at level {level}, of all that {name} takes"
        )
    return out, first, last, to


def part_count_error(starts, stops, what):
    """The error for ranges of parts that are too many in all."""
    return size_error(sum(stops.tolist()) - sum(starts.tolist()), what, "add up to")


@compile_typed
def runs_of(mask: Flags, starts: Table, stops: Table, to: Table):
    """Find the runs of True, in row 0, and of False, in row 1; ``to`` are their starts where those of a row are joined.

    Returns the numbers of runs of True and of False, and of their elements.
    """
    i, runs, others, trues, falses = 0, 0, 0, 0, 0
    while i < len(mask):
        first = i
        while i < len(mask) and mask[i] == mask[first]:
            i += 1
        if mask[first]:
            starts[0, runs], stops[0, runs], to[0, runs] = first, i, trues
            runs, trues = runs + 1, trues + i - first
        else:
            starts[1, others], stops[1, others], to[1, others] = first, i, falses
            others, falses = others + 1, falses + i - first
    return runs, others, trues, falses


@jitable
def _append(offsets, r, starts, stops, to, k, out):
    """Append the offsets of run r to ``out[:k + 1]``, and make it the run of the next level, in place. Returns k."""
    to[r] = out[k]
    shift = out[k] - offsets[starts[r]]
    for i in range(starts[r], stops[r]):
        k += 1
        out[k] = plus(offsets[i + 1], shift)
    starts[r], stops[r] = offsets[starts[r]], offsets[stops[r]]
    return k


@compile_typed
def cut_level(offsets: Numbers, starts: Numbers, stops: Numbers, to: Numbers, out: Numbers):
    """Fill ``out`` with the offsets of runs, which become those of the next level.

    Returns the last offset; a negative number where that does not fit int64.
    """
    out[0] = 0
    k = signs = np.int64(0)
    for r in range(len(starts)):
        k = _append(offsets, r, starts, stops, to, k, out)
        # Offsets of a run ascend unless they wrap: then the last one is negative.
        signs |= out[k]
    return out[k] if signs >= 0 else signs


@compile_typed
def merge_level(
    in_true: Numbers, in_false: Numbers, side: int, runs: int, starts: Table, stops: Table, to: Table, out: Numbers
):
    """``cut_level`` of runs of two levels in turn, from ``side`` on: 0 starts with a run of ``in_true``.

    Each run is taken once: the sums do not wrap where the last offsets of both levels add up.
    """
    out[0] = 0
    k = 0
    for turn in range(runs):
        offsets = in_true if side == 0 else in_false
        k = _append(offsets, turn // 2, starts[side], stops[side], to[side], k, out)
        side = 1 - side
    return out[k]


def sort_by_segment(ids, num_segments):
    """Return the offsets of segments, and the numbers of their rows, segment by segment, in input order."""
    offsets = np.empty(num_segments + 1, np.int64)
    order = np.empty(len(ids), np.int64)
    _counting_sort(ids, offsets, order)
    return offsets, order


@njit
def _counting_sort(ids, offsets, order):
    offsets[:] = 0
    # An unsigned index skips Numba's branch for negative ones.
    for i in range(len(ids)):
        offsets[np.uint64(ids[i]) + np.uint64(1)] += 1
    for s in range(1, len(offsets)):
        offsets[s] += offsets[s - 1]
    place = offsets[:-1].copy()
    for i in range(len(ids)):
        s = np.uint64(ids[i])
        order[np.uint64(place[s])] = i
        place[s] += 1


def numbering(rule):
    """Make a function of checked offsets: ``rule(offsets, s, i)`` for every part i, in sequence s, as int64."""
    rule = jitable(inline=True)(rule)

    @njit
    def kernel(offsets, numbers):
        for s in range(len(offsets) - 1):
            for i in range(offsets[s], offsets[s + 1]):
                numbers[i] = rule(offsets, s, i)

    def numbers_of(offsets):
        numbers = np.empty(offsets.item(-1), np.int64)
        kernel(offsets, numbers)
        return numbers

    return numbers_of


#: The number of the sequence of each part.
segment_numbers = numbering(lambda offsets, s, i: s)
#: The numbers of all parts, those of each sequence from its last to its first.
reversed_numbers = numbering(lambda offsets, s, i: offsets[s] + offsets[s + 1] - 1 - i)
#: The number of each part within its sequence.
inner_numbers = numbering(lambda offsets, s, i: i - offsets[s])


@njit
def tiles_of(offsets, size):
    """Offsets of the tiles of segments, and of segments over tiles; empty where no segment is longer than a tile."""
    longest = 0
    for s in range(len(offsets) - 1):
        longest = max(longest, offsets[s + 1] - offsets[s])
    if longest <= size:
        return offsets[:0], offsets[:0]
    tile_offsets = np.zeros(len(offsets), np.int64)
    for s in range(len(offsets) - 1):
        tile_offsets[s + 1] = tile_offsets[s] + (offsets[s + 1] - offsets[s] + size - 1) // size
    tiles = np.empty(tile_offsets[-1] + 1, np.int64)
    for s in range(len(offsets) - 1):
        for p in range(tile_offsets[s], tile_offsets[s + 1]):
            tiles[p] = offsets[s] + (p - tile_offsets[s]) * size
        tiles[tile_offsets[s + 1]] = offsets[s + 1]
    return tiles, tile_offsets


def rank_lengths(offsets):
    """Sequences from the longest to the shortest, equal ones in order; and how many are longer than 0, 1, 2 ..."""
    lengths, longest = measure_lengths(offsets)
    shorter, order = sort_by_segment(longest - lengths, longest + 1)
    return order, shorter[longest:0:-1].copy()


def time_major(offsets, order, running, reverse):
    """Parts of sequences step by step: at step t part t of the first ``running[t]`` in ``order``, or t from the end."""
    numbers = np.empty(offsets.item(-1), np.int64)
    _time_major(offsets, order, running, bool(reverse), numbers)
    return numbers


@njit
def _time_major(offsets, order, running, reverse, numbers):
    at = 0
    for t in range(len(running)):
        for r in range(running[t]):
            s = order[r]
            numbers[at] = offsets[s + 1] - 1 - t if reverse else offsets[s] + t
            at += 1
