"""Sequences repeated, reversed and joined: Paddle's worked examples, laws, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import lodkit
from lodkit import LoDLevelError, LoDMismatchError, LoDTensor, ShapeMismatchError
from lodkit.jit import settings
from lodkit.kernels.cpu.primitives.gather import repeat_rows
from lodkit.paddle import run_op

X = LoDTensor(np.arange(1.0, 5)[:, None], [[1, 3]])
Y = LoDTensor(np.zeros(8), [[2, 2], [3, 3, 0, 2]])


def test_sequences_are_repeated_as_often_as_a_level_says():
    out = lodkit.sequence_expand(X, Y, ref_level=0)
    assert out.lengths().tolist() == [1, 1, 3, 3]
    assert out.values.ravel().tolist() == [1, 1, 2, 3, 4, 2, 3, 4]
    rows = lodkit.sequence_expand(np.array([7, 8, 9, 6]), Y)
    assert rows.tolist() == [7, 7, 7, 8, 8, 8, 6, 6]


def test_expanding_undoes_pooling_at_every_level():
    x = LoDTensor(np.ones((6, 2)), [[2, 1, 0], [3, 0, 3]])
    for level in (0, 1):
        back = lodkit.sequence_expand_as(lodkit.sequence_pool(x, pool="max", level=level), x, level=level)
        assert back.equals(x)


def test_ends_of_every_level_are_pooled():
    x = LoDTensor(np.arange(6), [[2, 1, 0], [3, 0, 3]])
    assert lodkit.sequence_pool(x, pool="first", level=0).tolist() == [0, 3, 0]
    last = lodkit.sequence_pool(x, pool="last", level=1, pad_value=-1)
    assert last.to_list() == [[2, -1], [5], []]


@pytest.mark.parametrize("dtype", [np.uint8, np.float16, np.float64, np.complex128, ">i4"])
@pytest.mark.parametrize("width", [1, 3, 40, 150])
@pytest.mark.parametrize("chunk", [7, 4096])
def test_rows_of_any_size_are_repeated(dtype, width, chunk, monkeypatch):
    """Short rows, in blocks that end anywhere, and long ones; chunks that begin amid a sequence."""
    monkeypatch.setattr(settings, "chunk_rows", chunk)
    rng = np.random.default_rng(width)
    rows = rng.integers(0, 256, (6, width)).astype(dtype)
    lengths = np.array([0, 3000 // width, 1, 0, 13, 1500])
    out = np.full((lengths.sum() + 1, width), 77, np.dtype(dtype).newbyteorder("="))
    repeat_rows(rows, np.append(0, np.cumsum(lengths)), out[:-1])
    np.testing.assert_array_equal(out[:-1], np.repeat(rows, lengths, axis=0))
    assert (out[-1] == 77).all()


@pytest.mark.jit
@pytest.mark.parametrize("make", [lodkit.sequence_expand, lodkit.sequence_expand_as])
def test_many_copies_add_up_to_their_sum(make):
    """In float32, a million of one number."""
    x, y = lodkit.parameter(np.zeros((2, 3), np.float32)), LoDTensor(np.zeros(1_000_001), [[1_000_000, 1]])
    with lodkit.Tape() as tape:
        out = make(x, y)
    gradient = tape.gradient(out, [x], output_gradients=np.full((1_000_001, 3), 0.1, np.float32))[0]
    np.testing.assert_allclose(gradient, [[1e5] * 3, [0.1] * 3], rtol=1e-6)


@pytest.mark.jit
def test_many_copies_of_a_sequence_add_up_to_their_sum():
    x, y = LoDTensor(np.zeros(2, np.float32), [[2]]), LoDTensor(np.zeros(1_000_000), [[1_000_000]])
    gradient = lodkit.sequence_expand_grad(x, y, np.full(2_000_000, 0.1, np.float32))
    np.testing.assert_allclose(gradient, [1e5, 1e5], rtol=1e-6)


def test_copies_in_float16_add_up_in_float32():
    y = LoDTensor(np.zeros(4096), [[4096]])
    x = np.zeros(1, np.float16)
    assert lodkit.sequence_expand_grad(x, y, np.ones(4096, np.float16)) == 4096
    assert lodkit.sequence_expand_grad(LoDTensor(x, [[1]]), y, np.ones(4096, np.float16)) == 4096


@pytest.mark.parametrize("op", [lodkit.sequence_reverse, lambda x: lodkit.sequence_reverse(x, level=0)])
def test_reversing_twice_changes_nothing(op):
    x = LoDTensor(np.arange(7), [[2, 0, 3], [2, 0, 3, 1, 1]])
    assert op(op(x)).equals(x)


@pytest.mark.jit
@pytest.mark.parametrize("width", [64, 67])
def test_results_that_no_cache_holds(width):
    """They are written past the caches, in rows and in runs, with threads and without."""
    lengths = np.random.default_rng(0).multinomial(140_000, np.full(2000, 1 / 2000))
    x = LoDTensor(np.arange(140_000 * width, dtype=np.float32).reshape(-1, width), [lengths])
    starts = x.offsets()
    order = np.repeat(starts[:-1] + starts[1:] - 1, lengths) - np.arange(140_000)
    assert x.values.nbytes > 1 << 25
    assert (lodkit.sequence_reverse(x).values == x.values[order]).all()
    one = x.values[: len(x)]
    assert (lodkit.sequence_expand_as(one, x).values == np.repeat(one, lengths, axis=0)).all()
    padded, counts = lodkit.sequence_pad(x, np.array(-1, np.float32))
    mask = np.arange(padded.shape[1]) < lengths[:, None]
    assert (padded[mask] == x.values).all() and (padded[~mask] == -1).all()
    assert lodkit.sequence_unpad(padded, counts).equals(x)


JOINED = [  # the four cases of the first versions' documentation: axis, level, lods of the inputs and of the result
    (1, 1, [[0, 2, 4], [0, 1, 2, 3, 4]], [[0, 2, 4], [0, 1, 2, 3, 4]], [[0, 2, 4], [0, 1, 2, 3, 4]]),
    (0, 0, [[0, 2, 4], [0, 1, 2, 3, 4]], [[0, 2, 4], [0, 1, 3, 5, 7]], [[0, 2, 4], [0, 2, 5, 8, 11]]),
    (0, 1, [[0, 2, 4], [0, 1, 2, 3, 4]], [[0, 3, 4], [0, 1, 3, 5, 7]], [[0, 5, 8], [0, 1, 2, 3, 5, 7, 8, 9, 11]]),
    (0, 0, [[0, 1, 2, 3, 4]], [[0, 1, 3, 5, 7]], [[0, 2, 5, 8, 11]]),
]


@pytest.mark.parametrize(("axis", "level", "a", "b", "expected"), JOINED)
def test_joins_of_the_first_versions_of_paddle(axis, level, a, b, expected):
    x = LoDTensor(np.zeros((4, 3, 4)), lod=a)
    y = LoDTensor(np.ones((b[-1][-1], 4 if axis else 3, 4)), lod=b)
    out = run_op("sequence_concat", {"X": [x, y]}, {"axis": axis, "level": level})["Out"]
    assert out.lod() == expected
    assert out.shape == ((4, 7, 4) if axis else (11, 3, 4))
    if not axis:
        assert out.values[:, 0, 0].sum() == 7
        assert out.values[out.lod()[-1][1] - 1, 0, 0] == (level == 0)


def test_nested_sequences_are_joined_whole():
    """What later versions of Paddle get wrong without an error."""
    x, y = LoDTensor([1, 2, 3], [[2, 0], [2, 1]]), LoDTensor([4, 5], [[1, 1], [1, 1]])
    out = run_op("sequence_concat", {"X": [x, y]})["Out"]
    assert out.to_list() == [[[1, 2], [3], [4]], [[5]]]


def test_empty_batches_are_legal_under_the_published_names():
    """Those of Paddle end the process."""
    empty = LoDTensor(np.zeros((0, 2), np.float32), [[0, 0]])
    assert run_op("sequence_reverse", {"X": empty})["Y"].equals(empty)
    assert run_op("sequence_concat", {"X": [empty, empty]})["Out"].equals(empty)


@pytest.mark.parametrize("lengths", [[1, 0, 0], [0, 0, 0]])
def test_pooling_fewer_rows_than_sequences(lengths):
    """Paddle refuses it."""
    x = LoDTensor(np.full((sum(lengths), 2), 3, np.float32), [lengths])
    for pool in ("SUM", "AVERAGE", "SQRT", "MAX", "FIRST", "LAST"):
        out = run_op("sequence_pool", {"X": x}, {"pooltype": pool, "pad_value": -7.5})
        assert out["Out"].tolist() == [[3.0 if n else -7.5] * 2 for n in lengths]
    assert run_op("sequence_pool", {"X": x}, {"pooltype": "MAX"})["MaxIndex"].tolist() == [[n - 1] * 2 for n in lengths]


def test_nan_is_the_maximum_wherever_it_stands():
    """Paddle's maximum skips it behind the first row."""
    x = LoDTensor(np.array([[1.0], [np.nan], [3.0], [np.nan], [2.0]], np.float32), [[3, 2]])
    out = run_op("sequence_pool", {"X": x}, {"pooltype": "MAX"})
    assert np.isnan(out["Out"]).all() and out["MaxIndex"].tolist() == [[1], [3]]


def test_what_does_not_fit_is_refused_by_name():
    with pytest.raises(LoDMismatchError, match=r"sequence_expand: x has 3 rows, level 0 of y has 2 sequences"):
        lodkit.sequence_expand(np.zeros(3), Y, ref_level=0)
    with pytest.raises(LoDMismatchError, match=r"x has 2 sequences, level -1 of y has 4"):
        lodkit.sequence_expand(X, Y)
    with pytest.raises(LoDLevelError, match="level 2 does not exist"):
        lodkit.sequence_expand(X, Y, ref_level=2)
    with pytest.raises(LoDLevelError, match="attach lengths"):
        lodkit.sequence_reverse(LoDTensor(np.zeros(3)))
    with pytest.raises(ShapeMismatchError, match="no dimension"):
        lodkit.sequence_expand(3.0, Y)


def test_inputs_that_do_not_join_are_refused_by_number():
    with pytest.raises(LoDLevelError, match="input 1 has lod_level 2, input 0 1"):
        lodkit.sequence_concat(X, Y)
    with pytest.raises(LoDMismatchError, match="input 1 has 1 sequences, input 0 2"):
        lodkit.sequence_concat(X, LoDTensor(np.zeros((1, 1)), [[1]]))
    with pytest.raises(LoDMismatchError, match=r"level 0 must equal.*sequence 1 of input 1 has length 3, of input 0 2"):
        lodkit.sequence_concat(Y, LoDTensor(np.zeros(1), [[2, 3], [0, 0, 0, 0, 1]]), level=1)
    with pytest.raises(LoDMismatchError, match=r"axis is not 0.*sequence 0 of input 1 has length 2, of input 0 1"):
        lodkit.sequence_concat(X, LoDTensor(np.zeros((4, 1)), [[2, 2]]), axis=1)
    with pytest.raises(ShapeMismatchError, match="input 1 has values of shape"):
        lodkit.sequence_concat(X, LoDTensor(np.zeros((4, 2)), [[1, 3]]))
    with pytest.raises(ShapeMismatchError, match=r"input 1 has values of shape \(4,\)"):
        lodkit.sequence_concat(X, LoDTensor(np.zeros(4), [[1, 3]]), axis=1)
    with pytest.raises(lodkit.DTypeError, match="input 1 is int64, input 0 float64"):
        lodkit.sequence_concat(X, LoDTensor(np.zeros((4, 1), int), [[1, 3]]))
    with pytest.raises(ShapeMismatchError, match="axis = 2"):
        lodkit.sequence_concat(X, X, axis=2)


def test_results_go_where_they_are_asked_to():
    out = np.zeros((8, 1))
    assert lodkit.sequence_expand(X, Y, ref_level=0, out=out).values is out
    assert lodkit.sequence_concat(X, X, out=out).values is out
    wide = np.zeros((4, 2))
    assert lodkit.sequence_concat(X, X, axis=1, out=wide).values is wide and wide[0].tolist() == [1, 1]
    with pytest.raises(lodkit.LodkitError, match="overlaps"):
        lodkit.sequence_reverse(X, out=X.values)
