"""Chunks of every sequence of labels of some steps, held to a second definition: states of a reader, step by step."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import lodkit
from lodkit import LoDTensor

#: Schemes of Paddle: the number of tags, and those for begin, inside, end and single.
TAGS = {"IOB": (2, 0, 1, None, None), "IOE": (2, None, 0, 1, None), "IOBES": (4, 0, 1, 2, 3), "plain": (1, *[None] * 4)}


def chunks(labels, scheme, types):
    """Read the chunks of a sequence: one ends, then one begins, by the tags and types of two steps."""
    tags, begin, inside, end, single = TAGS[scheme]
    found, start, tag, kind = set(), None, None, types
    for i, label in enumerate([*labels, types * tags]):
        before, kind_before, tag, kind = tag, kind, label % tags, label // tags
        differs = kind != kind_before
        closed = before in (end, single) and before is not None
        if start is not None and (differs or closed or (tag in (begin, single) and tag is not None)):
            found.add((start, i, kind_before))
            start = None
        opened = differs or (tag is not None and tag in (begin, single)) or (tag in (inside, end) and closed)
        if kind != types and opened:
            start = i
    return found


@pytest.mark.parametrize(("scheme", "types", "steps"), [("IOB", 2, 5), ("IOE", 2, 5), ("IOBES", 2, 4), ("plain", 3, 5)])
def test_every_sequence_of_labels(scheme, types, steps):
    labels = np.array(list(itertools.product(range(types * TAGS[scheme][0] + 1), repeat=steps)))
    others = np.random.default_rng(0).permuted(labels, axis=0)
    others[::3] = labels[::3]
    inference, label = (LoDTensor(x.ravel(), [[steps] * len(x)]) for x in (others, labels))
    for excluded in ((), (1,)):
        counts = np.zeros(3, int)
        for one, other in zip(others.tolist(), labels.tolist(), strict=True):
            a, b = ({c for c in chunks(x, scheme, types) if c[2] not in excluded} for x in (one, other))
            counts += len(a), len(b), len(a & b)
        *shares, inferred, labelled, correct = lodkit.chunk_eval(
            inference, label, chunk_scheme=scheme, num_chunk_types=types, excluded_chunk_types=excluded
        )
        assert [inferred, labelled, correct] == counts.tolist()
        precision, recall = correct / inferred, correct / labelled
        np.testing.assert_allclose(shares, [precision, recall, 2 / (1 / precision + 1 / recall)], rtol=1e-6)


def test_chunks_do_not_go_on_in_the_next_sequence(place):
    label = LoDTensor(np.array([0, 1, 1, 1]), [[2, 2]])
    assert place.home(lodkit.chunk_eval(place.to(label), place.to(label), num_chunk_types=1))[3] == [2]
    assert lodkit.chunk_eval(LoDTensor(label.values, [[4]]), LoDTensor(label.values, [[4]]), num_chunk_types=1)[3] == [
        1
    ]


def test_nothing_to_divide_by():
    outside = LoDTensor(np.array([2, 2]), [[2]])
    assert [x.item() for x in lodkit.chunk_eval(outside, outside, num_chunk_types=1)] == [0] * 6


def test_wrong_inputs(place):
    label = place.to(LoDTensor(np.array([0, 2, 4]), [[2, 1]]))
    with pytest.raises(lodkit.RowIndexError, match=r"inference\[2\] = 4 is outside \[0, 3\)"):
        lodkit.chunk_eval(label, label, num_chunk_types=1)
    with pytest.raises(lodkit.RowIndexError, match=r"excluded_chunk_types has 2, which is outside \[0, 2\)"):
        lodkit.chunk_eval(label, label, num_chunk_types=2, excluded_chunk_types=[2])
    with pytest.raises(ValueError, match="num_chunk_types must be at least 1"):
        lodkit.chunk_eval(label, label, num_chunk_types=0)
    for number in (1 << 31, 1 << 62):
        with pytest.raises(ValueError, match="num_chunk_types must be at least 1, and at most 1048576"):
            lodkit.chunk_eval(label, label, num_chunk_types=number)
    for excluded in (None, 1, "abc", [1.5], [True], [[1]], np.array([0.5])):
        with pytest.raises(TypeError, match="excluded_chunk_types must be a sequence of integers"):
            lodkit.chunk_eval(label, label, num_chunk_types=2, excluded_chunk_types=excluded)
    with pytest.raises(lodkit.LoDMismatchError, match="label has lod"):
        lodkit.chunk_eval(label, place.to(LoDTensor(np.zeros(3, np.int64), [[1, 2]])), num_chunk_types=2)
    with pytest.raises(ValueError, match="chunk_scheme"):
        lodkit.chunk_eval(label, label, num_chunk_types=2, chunk_scheme="BIO")
