"""Levels sliced, appended, dropped and checked, at every depth."""

from __future__ import annotations

import numpy as np
import pytest

from lodkit import LoDError, LoDLevelError, LoDTensor, RowIndexError, check_lod, concat, split
from lodkit.paddle import dumps
from lodkit.testing import assert_equal

WORDS = LoDTensor(np.arange(15), [[3, 1, 2], [3, 2, 4, 1, 2, 3]])
DEEP = LoDTensor(np.arange(20), lod=[[0, 2, 3], [0, 2, 4, 7], [0, 2, 5, 7, 10, 12, 15, 20]])


def test_the_worked_example_of_slice_in_level():
    """Of Paddle's own tests of a LoD of three levels."""
    part = DEEP.slice_in_level(0, 0, 2)
    assert part.lod() == DEEP.lod()
    part = DEEP.slice_in_level(0, 1, 2)
    assert part.lod() == [[0, 1], [0, 3], [0, 2, 5, 10]]
    part = DEEP.slice_in_level(1, 1, 3)
    assert part.lod() == [[0, 2, 5], [0, 2, 5, 7, 10, 15]]
    assert part.lod(absolute=True) == [[5, 10, 20], [5, 7, 10, 12, 15, 20]]
    assert part.values.tolist() == list(range(5, 20))
    assert np.shares_memory(part.values, DEEP.values)


def test_offsets_of_all_levels_in_rows():
    assert DEEP.lod(absolute=True) == [[0, 10, 20], [0, 5, 10, 20], [0, 2, 5, 7, 10, 12, 15, 20]]
    assert WORDS.slice(2).lod(absolute=True) == [[10, 15], [10, 12, 15]]
    assert LoDTensor(np.zeros(3)).lod(absolute=True) == []


def test_slices_of_nothing():
    assert WORDS.slice_in_level(1, 6, 6).lod() == [[0]]
    assert WORDS.slice_in_level(0, 1, 1).lod() == [[0], [0]]
    nothing = LoDTensor(np.empty((0, 2)), [[], [], []])
    assert nothing.slice_in_level(-1, 0, 0).shape == (0, 2)
    assert LoDTensor(None, [[2], [1, 4]]).slice_in_level(1, 1, 2).recursive_sequence_lengths() == [[4]]


@pytest.mark.parametrize(("start", "stop"), [(-1, 2), (0, 4), (2, 1), (4, 4)])
def test_slices_outside(start, stop):
    with pytest.raises(
        RowIndexError, match=rf"start={start}, stop={stop} is not a range of the 3 sequences of level 0"
    ):
        WORDS.slice_in_level(0, start, stop)


def test_slices_of_no_level():
    for t, level in ((WORDS, 2), (WORDS, -3), (LoDTensor(np.zeros(3)), 0)):
        with pytest.raises(LoDLevelError, match="does not exist"):
            t.slice_in_level(level, 0, 1)
    with pytest.raises(TypeError, match=r"stop must be an integer, got 1\.5"):
        WORDS.slice_in_level(0, 0, 1.5)


def test_levels_are_appended():
    plain = LoDTensor(np.arange(5))
    assert plain.append_level([2, 3]).to_list() == [[0, 1], [2, 3, 4]]
    assert plain.append_level([2, 3]).values is plain.values
    assert plain.append_level().to_list() == [[0], [1], [2], [3], [4]]
    assert LoDTensor(None, [[2, 1]]).append_level([4, 0, 1]).recursive_sequence_lengths() == [[2, 1], [4, 0, 1]]
    two = LoDTensor([7, 8], [[0, 2]]).append_level([1, 1])
    assert two.to_list() == [[], [[7], [8]]]
    assert LoDTensor(np.empty((0, 3)), [[0]]).append_level([]).lod() == [[0, 0], [0]]
    assert WORDS[1:].append_level().offsets(absolute=True)[0] == WORDS[1:].offsets(absolute=True)[0] == 9


@pytest.mark.parametrize(
    ("t", "lengths", "values", "message"),
    [
        (LoDTensor([7, 8], [[2]]), [2], None, "1 lengths for 2 rows"),
        (LoDTensor([7, 8], [[2]]), [2, 1], None, "1 too many"),
        (LoDTensor([7, 8], [[2]]), [1, -1], None, r"lengths\[1\] = -1 is negative"),
        (LoDTensor([7, 8]), [1], None, "1 too few"),
        (LoDTensor([7, 8]), [2], [1, 2], "1 lengths for 2 rows"),
        (LoDTensor([7, 8]), [2, 1], [1, 2], "1 too many"),
    ],
)
def test_levels_that_do_not_fit(t, lengths, values, message):
    before = t.lod()
    with pytest.raises(LoDError, match=message):
        t.append_level(lengths, values)
    assert t.lod() == before


def test_levels_are_dropped():
    assert WORDS.drop_level(0).recursive_sequence_lengths() == [[3, 2, 4, 1, 2, 3]]
    assert WORDS.drop_level(-1).recursive_sequence_lengths() == [[9, 1, 5]]
    assert DEEP.drop_level(1).lod() == [[0, 4, 7], [0, 2, 5, 7, 10, 12, 15, 20]]
    assert WORDS.drop_level(0).drop_level(0).lod_level == 0
    assert LoDTensor(np.empty(0), [[], []]).drop_level(0).lod() == [[0]]
    assert LoDTensor(None, [[1, 1], [2, 0]]).drop_level(1).recursive_sequence_lengths() == [[2, 0]]


def test_levels_that_cannot_be_dropped():
    with pytest.raises(LoDLevelError, match=r"position 0 is 3; drop_level\(-1\)"):
        WORDS.drop_level()
    with pytest.raises(LoDLevelError, match="does not exist"):
        WORDS.drop_level(2)
    with pytest.raises(LoDLevelError, match="does not exist"):
        LoDTensor(np.zeros(2)).drop_level()
    for level in (None, 0):
        with pytest.raises(LoDError, match="needs its only level"):
            LoDTensor(None, [[1, 1]]).drop_level(level)


def test_lods_are_checked():
    check_lod([])
    check_lod([], rows=7)
    check_lod([[0]], rows=0)
    check_lod(DEEP.lod(), rows=20)
    check_lod(DEEP.lod(absolute=True), rows=20, absolute=True)


@pytest.mark.parametrize(
    ("lod", "rows", "absolute", "message"),
    [
        ([[1, 2]], None, False, "level 0 start at 1"),
        ([[]], None, False, "level 0 are empty"),
        ([[0, 2, 1]], None, False, "decrease at position 2"),
        ([[0, 2], [0, 3]], None, False, "last offset 2 at level 0"),
        ([[0, 3]], 0, False, "ends at 3, but there are 0 rows"),
        ([[0, 3]], 4, False, "ends at 3, but there are 4 rows"),
        ([[0, 1, 5], [0, 2, 5]], None, True, "absolute offset 1"),
        ([[0, 4], [0, 2, 5]], 5, True, "absolute offset 4"),
    ],
)
def test_lods_that_are_none(lod, rows, absolute, message):
    with pytest.raises(LoDError, match=message):
        check_lod(lod, rows, absolute=absolute)


def test_on_every_device(place):
    """Offsets are on the CPU: what moves no rows works where the values are."""
    t = LoDTensor(place.to(np.arange(6.0)), [[2, 1], [3, 1, 2]])
    host = LoDTensor(np.arange(6.0), [[2, 1], [3, 1, 2]])
    pairs = [
        (t.slice_in_level(1, 1, 3), host.slice_in_level(1, 1, 3)),
        (t.drop_level(0), host.drop_level(0)),
        (t.append_level(), host.append_level()),
        *zip(split(t, 2), split(host, 2), strict=True),
        (concat([t[1:], t, t[:0]]), concat([host[1:], host, host[:0]])),
    ]
    for mine, theirs in pairs:
        assert_equal(mine, theirs)
        assert place.home(mine.values).tolist() == theirs.values.tolist()
        assert dumps(mine) == dumps(theirs)
    with pytest.raises(AssertionError, match=r"first at \[1, 0, 1\] \(row 5\): 5\.0 vs 6\.0"):
        assert_equal(t, host.with_values([0.0, 1, 2, 3, 4, 6]))
