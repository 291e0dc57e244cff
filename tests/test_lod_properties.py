"""Laws of LoDTensor on random structures, held against plain nested lists."""

from __future__ import annotations

import pickle

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from lodkit import LoDTensor, concat, split

settings.register_profile("lod", deadline=None, max_examples=60)
law = settings(settings.get_profile("lod"))


@st.composite
def tensors(draw, min_levels=1, max_levels=4):
    """1 to 4 levels, empty sequences anywhere, also at both ends."""
    count, lengths = draw(st.integers(0, 4)), []
    for _ in range(draw(st.integers(min_levels, max_levels))):
        level = draw(st.lists(st.integers(0, 3), min_size=count, max_size=count))
        lengths.append(level)
        count = sum(level)
    item = draw(st.sampled_from([(), (2,), (1, 3)]))
    values = np.arange(count * int(np.prod(item, dtype=int))).reshape(count, *item)
    return LoDTensor(values.astype(draw(st.sampled_from(["float32", "int64"]))), lengths)


def nested(t):
    """The naive model: a list of lists, cut by lengths with nothing but Python."""
    rows = t.values.tolist()
    for lengths in reversed(t.recursive_sequence_lengths()):
        rows, rest = [], rows
        for n in lengths:
            rows.append(rest[:n])
            rest = rest[n:]
    return rows


@law
@given(tensors())
def test_round_trips(t):
    assert LoDTensor.from_lengths(t.values, *t.recursive_sequence_lengths()).equals(t)
    assert LoDTensor.from_offsets(t.values, *t.lod()).equals(t)
    assert LoDTensor(t.values, lod=t.lod()).equals(t)
    assert t.to_list() == nested(t)
    assert t.append_level().drop_level().equals(t)
    assert pickle.loads(pickle.dumps(t)).equals(t)
    again = LoDTensor.from_nested(t.to_list(), lod_level=t.lod_level, dtype=t.dtype)
    assert again.same_lod(t)
    assert again.values.size == t.values.size
    if len(t):
        assert LoDTensor.from_sequences(t).equals(t)


@law
@given(tensors())
def test_absolute_offsets_give_the_same_rows(t):
    """Empty sequences may change owner: absolute offsets do not say whose they are."""
    offsets = [t.offsets(level, absolute=True) for level in range(t.lod_level)]
    again = LoDTensor.from_offsets(t.values, *offsets, absolute=True)
    for level in range(t.lod_level):
        assert np.array_equal(again.row_offsets(level), t.row_offsets(level))


@law
@given(tensors(max_levels=1), st.randoms(use_true_random=False))
def test_one_level_encodings(t, random):
    assert LoDTensor.from_segment_ids(t.values, t.segment_ids(), len(t)).equals(t)
    assert LoDTensor.from_padded(t.to_padded(-1), t.lengths()).equals(t)
    assert LoDTensor.from_padded(t.to_padded(-1), pad_value=-1).equals(t)
    order = np.array(random.sample(range(len(t.values)), len(t.values)), np.int64)
    shuffled = LoDTensor.from_segment_ids(t.values[order], t.segment_ids()[order], len(t))
    assert shuffled.same_lod(t)
    assert [sorted(map(str, s)) for s in shuffled.to_list()] == [sorted(map(str, s)) for s in t.to_list()]


@law
@given(tensors(), st.data())
def test_slices_and_selections(t, data):
    lists = nested(t)
    at = data.draw(st.slices(len(t)))
    assert t[at].to_list() == lists[at]
    assert [nested(s) if isinstance(s, LoDTensor) else s.tolist() for s in t] == lists
    if len(t):
        numbers = data.draw(st.lists(st.integers(-len(t), len(t) - 1)))
        assert t[numbers].to_list() == [lists[i] for i in numbers]
    for branch, sequence in t.branches():
        part = lists
        for depth, i in enumerate(branch, 1):
            part = part[i]
            one = t.slice(*branch[:depth])
            assert one.to_list() == [part]
            assert one.lod_level == t.lod_level - depth + 1
            for level in range(one.lod_level):
                start, stop = one.offsets(level, absolute=True)[[0, -1]]
                assert np.array_equal(t.values[start:stop], one.values)
        assert sequence.tolist() == part == t[branch].tolist()


@law
@given(tensors(), st.data())
def test_concat(t, data):
    parts = [t[data.draw(st.slices(len(t)))] for _ in range(data.draw(st.integers(1, 3)))]
    joined = concat(parts)
    assert joined.to_list() == [s for part in parts for s in part.to_list()]
    assert joined.dtype == t.dtype


@law
@given(tensors())
def test_to_padded_holds_every_row_once(t):
    padded = t.to_padded(-1)
    assert padded.ndim == t.lod_level + len(t.shape)
    assert np.array_equal(padded[padded != -1], t.values.ravel())
    rows = np.prod(padded.shape[: t.lod_level + 1], dtype=int)
    assert t.padding_waste() == (1 - len(t.values) / rows if rows else 0)


@law
@given(tensors(), st.data())
def test_slices_in_a_level(t, data):
    level = data.draw(st.integers(0, t.lod_level - 1))
    sequences = nested(t)
    for _ in range(level):
        sequences = [part for s in sequences for part in s]
    start = data.draw(st.integers(0, len(sequences)))
    stop = data.draw(st.integers(start, len(sequences)))
    part = t.slice_in_level(level, start, stop)
    assert nested(part) == sequences[start:stop]
    assert part.lod_level == t.lod_level - level
    first, last = part.offsets(0, absolute=True)[[0, -1]]
    assert np.array_equal(t.values[first:last], part.values)
    assert part.lod(absolute=True) == [part.offsets(k, absolute=True).tolist() for k in range(part.lod_level)]


@law
@given(tensors(), st.data())
def test_levels_dropped_and_appended(t, data):
    level = data.draw(st.integers(-t.lod_level, t.lod_level - 1))
    without = t.drop_level(level)
    assert without.values is t.values
    assert without.lod_level == t.lod_level - 1
    kept = [k for k in range(t.lod_level) if k != level % t.lod_level]
    for k, at in enumerate(kept):
        assert np.array_equal(without.row_offsets(k), t.row_offsets(at))
    lengths = data.draw(st.lists(st.integers(0, 3), min_size=len(t.values), max_size=len(t.values)))
    below = np.arange(sum(lengths))
    more = t.append_level(lengths, below)
    assert more.drop_level(-1).recursive_sequence_lengths()[:-1] == t.recursive_sequence_lengths()[:-1]
    assert more.recursive_sequence_lengths() == [*t.recursive_sequence_lengths(), lengths]
    assert more.values is below


@law
@given(tensors(), st.integers(1, 6))
def test_parts_are_even_and_join(t, count):
    for by in ("sequences", "rows"):
        parts = split(t, count, by=by)
        assert len(parts) == count
        assert concat(parts).equals(t)
        starts = np.cumsum([len(part) for part in parts])[:-1]
        assert [part.to_list() for part in split(t, starts)] == [part.to_list() for part in parts]
    sizes = [len(part) for part in split(t, count)]
    assert sizes == [len(part) for part in np.array_split(np.arange(len(t)), count)]
    rows, longest = len(t.values), t.lengths(0, absolute=True).max(initial=0)
    for part in split(t, count, by="rows"):
        assert abs(len(part.values) - rows / count) <= longest
