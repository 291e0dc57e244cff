"""Packing, padding and time-major arrays: what is refused, Caffe2's names, and where lodkit differs from Caffe2."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import copy

import lodkit
from lodkit import DTypeError, LoDError, ShapeMismatchError, caffe2

ROWS, PADDED = np.arange(8.0).reshape(4, 2), np.arange(12.0).reshape(2, 3, 2)
SHORT = np.array([1, 2])  # of four rows
NEGATIVE, FOUR = np.array([5, -1]), np.array([3, 1])

#: (operator, inputs, attributes, error, what the message says)
WRONG = [
    ("pack_segments", (ROWS, SHORT), {}, LoDError, "lengths add up to 3, but the data has 4 rows"),
    ("pack_segments", (ROWS, NEGATIVE), {}, LoDError, r"lengths\[1\] = -1 is negative"),
    ("pack_segments", (ROWS, FOUR[None]), {}, LoDError, "one-dimensional"),
    ("pack_segments", (ROWS, FOUR * 1.0), {}, DTypeError, "lengths must be integers"),
    ("pack_segments", (ROWS, FOUR), {"max_length": -2}, ValueError, "max_length = -2 is negative"),
    ("pack_segments", (ROWS.astype(int), FOUR), {"pad_value": -np.inf}, ValueError, "-inf is no value of int64"),
    ("pack_segments", (np.array(1.0), FOUR), {}, ShapeMismatchError, "data has no dimension"),
    ("pack_segments_grad", (ROWS, SHORT, PADDED), {}, LoDError, "lengths add up to 3"),
    ("pack_segments_grad", (ROWS.astype(int), FOUR, PADDED), {}, DTypeError, "the gradient takes float"),
    ("pack_segments_grad", (ROWS, FOUR, PADDED), {"max_length": -1}, ValueError, "max_length = -1"),
    (
        "unpack_segments",
        (PADDED, np.array([1, 4])),
        {},
        LoDError,
        r"lengths\[1\] = 4 is more than the 3 rows.*max_length",
    ),
    ("unpack_segments", (PADDED, np.array([1, 5])), {"max_length": 4}, LoDError, "more than the 3 rows"),
    ("unpack_segments", (PADDED, np.array([1])), {}, LoDError, r"data has 2 segments, .*; lengths has 1"),
    ("unpack_segments", (PADDED, NEGATIVE), {"max_length": 3}, LoDError, r"lengths\[1\] = -1 is negative"),
    ("unpack_segments", (PADDED[0, 0], FOUR), {}, ShapeMismatchError, r"padded segments are \(segments, rows"),
    ("unpack_segments_grad", (PADDED, np.array([1, 4]), ROWS), {}, LoDError, "more than the 3 rows"),
    ("lengths_pad", (ROWS, FOUR), {"max_length": 2}, LoDError, r"lengths\[0\] = 3 .* pass a larger max_length"),
    ("lengths_pad", (ROWS, FOUR), {"max_length": -1}, ValueError, "max_length = -1 is negative"),
    ("lengths_pad", (ROWS, SHORT), {"max_length": 9}, LoDError, "lengths add up to 3"),
    ("add_padding", (ROWS, SHORT), {}, LoDError, "lengths add up to 3"),
    ("add_padding", (ROWS, NEGATIVE), {}, LoDError, "negative"),
    ("add_padding", (ROWS, FOUR, np.ones(3)), {}, ShapeMismatchError, r"start_padding has shape \(3,\)"),
    (
        "add_padding",
        (ROWS, FOUR, np.ones(2), np.ones(2, int)),
        {},
        DTypeError,
        "end_padding is int64, the data float64",
    ),
    ("add_padding", (ROWS, FOUR), {"padding_width": -1}, ValueError, "padding_width = -1 is negative"),
    ("remove_padding", (ROWS, FOUR), {}, LoDError, r"lengths\[1\] = 1 is less than the 1 \+ 1 rows of padding"),
    ("remove_padding", (ROWS, SHORT), {}, LoDError, "lengths add up to 3"),
    ("remove_padding", (ROWS, FOUR), {"end_padding_width": -1}, ValueError, "end_padding_width = -1"),
    ("gather_padding", (ROWS, FOUR), {}, LoDError, r"lengths\[1\] = 1 is less than"),
    ("gather_padding", (ROWS, SHORT), {"padding_width": 0}, LoDError, "lengths add up to 3"),
    ("pad_empty_samples", (ROWS, SHORT), {}, LoDError, "lengths add up to 3"),
    ("pad_empty_samples", (ROWS, NEGATIVE), {}, LoDError, "negative"),
    ("pad_empty_samples_grad", (ROWS, SHORT, ROWS), {}, LoDError, "lengths add up to 3"),
    ("pack_rnn_sequence", (ROWS, SHORT), {}, LoDError, "lengths add up to 3"),
    ("pack_rnn_sequence", (ROWS, FOUR), {"num_steps": 2}, LoDError, r"lengths\[0\] = 3 .* larger num_steps"),
    ("unpack_rnn_sequence", (PADDED, np.array([1, 2])), {}, LoDError, "data has 3 segments"),
    ("unpack_rnn_sequence", (PADDED, np.array([1, 3, 1])), {}, LoDError, r"lengths\[1\] = 3 is more than the 2 rows"),
    ("reverse_packed_segs", (PADDED, np.array([1, 3, 1])), {}, LoDError, r"lengths\[1\] = 3 is more than the 2 rows"),
    ("reverse_packed_segs", (PADDED, np.array([1, -3, 1])), {}, LoDError, "negative"),
    (
        "reverse_packed_segs",
        (PADDED.astype(np.complex64), np.array([1, 1, 1])),
        {},
        DTypeError,
        "takes floats|no type of lodkit",
    ),
]


@pytest.mark.parametrize(("name", "inputs", "attrs", "error", "text"), WRONG)
def test_wrong_inputs_are_refused(name, inputs, attrs, error, text):
    """By the kernel and by the definition."""
    with pytest.raises(error, match=text):
        lodkit.run(name, *map(copy, inputs), **attrs)
    with pytest.raises(error, match=text):
        lodkit.OPS[name].definition(*map(copy, inputs), **attrs)


@pytest.mark.parametrize(
    ("name", "inputs", "attrs"),
    [
        ("pack_segments", (ROWS, SHORT), {"max_length": 2}),
        ("unpack_segments", (PADDED, np.array([1, 4])), {}),
        ("lengths_pad", (ROWS, FOUR), {"max_length": 2}),
        ("reverse_packed_segs", (PADDED, np.array([1, 3, 1])), {}),
    ],
)
def test_nothing_is_written_when_a_call_raises(name, inputs, attrs):
    out = np.full((2, 2, 2), 7.0)
    with pytest.raises(LoDError):
        lodkit.run(name, *inputs, out=out, **attrs)
    assert (out == 7).all()


def test_out_is_filled():
    out = np.full((2, 3, 2), 7.0)
    assert lodkit.pack_segments(ROWS, FOUR, out=out) is out
    assert out.tolist() == [[[0, 1], [2, 3], [4, 5]], [[6, 7], [0, 0], [0, 0]]]
    rows = np.full((4, 2), 7.0)
    assert lodkit.unpack_segments(out, FOUR, out=rows) is rows
    assert (rows == ROWS).all()
    flat = np.empty((3, 2, 2))
    assert lodkit.pack_rnn_sequence(ROWS, FOUR, out=flat) is flat
    assert (flat == np.swapaxes(out, 0, 1)).all()


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.int32, np.int64])
@pytest.mark.parametrize("width", [1, 3, 200, 3000])
def test_packing_and_back_at_any_size(dtype, width):
    """Blocks of padding are crossed, chunks are of one row."""
    rng = np.random.default_rng(0)
    lengths = rng.integers(0, 9, 50)
    rows = rng.integers(-9, 9, (lengths.sum(), width)).astype(dtype)
    packed, mask = lodkit.pack_segments(rows, lengths, pad_value=3, return_presence_mask=True)
    assert (mask == (np.arange(packed.shape[1]) < lengths[:, None])).all()
    assert (packed[~mask] == 3).all() and (packed[mask] == rows).all()
    assert (lodkit.unpack_segments(packed, lengths) == rows).all()


def test_long_runs_in_parallel(tiny_blocks):
    rows = np.arange(40_000.0)
    lengths = np.array([39_000, 0, 1000])
    padded, grown = lodkit.add_padding(rows, lengths, np.array(-1.0), np.array(-2.0), padding_width=2000)
    assert (padded[:2000] == -1).all() and (padded[41_000:43_000] == -2).all()
    assert (lodkit.remove_padding(padded, grown, padding_width=2000)[0] == rows).all()
    before, behind = lodkit.gather_padding(padded, grown, padding_width=2000)
    assert (before, behind) == (-6000, -12_000)


def test_one_pad_stands_on_both_sides():
    """Its gradient is that of both."""
    rows, pad = lodkit.parameter(ROWS), lodkit.parameter([1.0, 2.0])
    with lodkit.Tape() as tape:
        padded, lengths = lodkit.add_padding(rows, FOUR, pad, padding_width=2, end_padding_width=1)
    assert lengths.tolist() == [6, 4]
    assert tape.gradient(padded, [rows, pad])[1].tolist() == [6, 6]
    with lodkit.Tape() as tape:
        padded, lengths = lodkit.add_padding(ROWS, None, None, pad, padding_width=2)
    assert padded[:2].tolist() == [[0, 0]] * 2 and padded[6:].tolist() == [[1, 2]] * 2
    assert tape.gradient(padded, [pad])[0].tolist() == [2, 2]


def test_rows_that_were_cut_off_have_zeros_for_a_gradient():
    """Caffe2's gradient of PackSegments with max_length has fewer rows than the data."""
    rows = lodkit.parameter(ROWS)
    with lodkit.Tape() as tape:
        packed = caffe2.PackSegments(FOUR, rows, max_length=2)
    assert tape.gradient(packed, [rows])[0].tolist() == [[1, 1], [1, 1], [0, 0], [1, 1]]


def test_padded_segments_without_rows():
    """Caffe2 leaves them uninitialised where max_length is given."""
    empty = np.ones((0, 2), np.float32)
    assert (
        caffe2.PackSegments(np.zeros(2, np.int32), empty, max_length=2, pad_minf=True).tolist()
        == [[[-np.inf] * 2] * 2] * 2
    )
    assert caffe2.PackSegments(np.zeros(2, np.int32), empty).shape == (2, 0, 2)


def test_caffe2_unpacks_what_it_cut():
    packed = caffe2.PackSegments(FOUR, ROWS, max_length=2)
    assert caffe2.UnpackSegments(FOUR, packed, max_length=2).tolist() == ROWS[[0, 1, 3]].tolist()
    with pytest.raises(LoDError, match="more than the 2 rows"):
        caffe2.UnpackSegments(FOUR, packed)


def test_caffe2_defaults_and_types():
    assert caffe2.LengthsPad(ROWS, FOUR, target_length=3)[4:].tolist() == [[-1, -1]] * 2
    with pytest.raises(ValueError, match="target_length = -1"):
        caffe2.LengthsPad(ROWS, FOUR)
    padded, lengths = caffe2.AddPadding(ROWS)
    assert (padded.shape, lengths.tolist(), lengths.dtype) == ((6, 2), [6], np.int32)
    rows, lengths = caffe2.RemovePadding(padded, end_padding_width=0)
    assert (rows.shape, lengths.tolist(), lengths.dtype) == ((5, 2), [5], np.int32)
    lengths, rows, others = caffe2.PadEmptySamples([3, 0, 1], ROWS, np.arange(4))
    assert (lengths.tolist(), rows.shape, others.tolist()) == ([3, 1, 1], (5, 2), [0, 1, 2, 0, 3])
    assert caffe2.PadEmptySamples([3, 0, 1]).dtype == np.int32


def test_padding_without_width():
    for name in ("add_padding", "remove_padding"):
        rows, lengths = lodkit.run(name, ROWS, FOUR, padding_width=0)
        assert (rows == ROWS).all() and lengths.tolist() == [3, 1]
    assert [x.tolist() for x in lodkit.gather_padding(ROWS, FOUR, padding_width=0)] == [[0, 0], [0, 0]]
