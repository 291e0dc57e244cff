"""The encodings that a LoDTensor is made from, and turned into."""

from __future__ import annotations

import numpy as np
import pytest

from lodkit import DeviceError, DTypeError, LoDError, LoDLevelError, LoDTensor, SegmentIdError, concat

LENGTHS = [[3, 1, 2], [3, 2, 4, 1, 2, 3]]


def test_from_segment_ids():
    values = np.array([4, 1, 3, 6])
    sorted_ids = LoDTensor.from_segment_ids(values, [0, 0, 2, 2], num_segments=4)
    assert sorted_ids.lengths().tolist() == [2, 0, 2, 0]
    assert sorted_ids.values is values
    assert LoDTensor.from_segment_ids(values, [2, 0, 2, 0]).to_list() == [[1, 6], [], [4, 3]]
    assert len(LoDTensor.from_segment_ids(values[:0], [])) == 0
    for ids, count, message in [
        ([0, -1, 1, 2], None, r"segment_ids\[1\] = -1 is outside \[0, 3\)"),
        ([0, 1, 5, 2], 3, r"segment_ids\[2\] = 5 is outside \[0, 3\)"),
        ([0, 1], None, r"must be \(4,\), one id per row"),
    ]:
        with pytest.raises(SegmentIdError, match=message):
            LoDTensor.from_segment_ids(values, ids, count)


@pytest.mark.filterwarnings("ignore:the matrix subclass")
def test_from_padded_takes_matrices_and_no_masked_arrays():
    padded = np.arange(12.0).reshape(3, 4)
    found = LoDTensor.from_padded(padded.view(np.matrix), [4, 0, 2])
    assert found.equals(LoDTensor.from_padded(padded, [4, 0, 2]))
    with pytest.raises(TypeError, match="padded is a masked array"):
        LoDTensor.from_padded(np.ma.masked_array(padded, padded > 3), [4, 0, 2])


def test_from_padded_cuts_trailing_rows_only():
    padded = np.array([[[0, 0], [1, 0], [0, 0]], [[0, 0]] * 3])
    assert LoDTensor.from_padded(padded, pad_value=0).to_list() == [[[0, 0], [1, 0]], []]
    assert LoDTensor.from_padded(padded, [3, 1]).lengths().tolist() == [3, 1]
    nan = LoDTensor.from_padded(np.array([[1, np.nan, 2, np.nan]]), pad_value=np.nan)
    assert nan.lengths().tolist() == [3]
    with pytest.raises(TypeError, match="lengths or pad_value"):
        LoDTensor.from_padded(padded)
    with pytest.raises(LoDError, match=r"lengths\[1\] = 4 exceeds the padded width 3; a length counts"):
        LoDTensor.from_padded(padded, [0, 4])
    with pytest.raises(LoDError, match="1 lengths for 2"):
        LoDTensor.from_padded(padded, [1])


def test_to_padded():
    t = LoDTensor(np.arange(15), LENGTHS)
    padded = t.to_padded(-1)
    assert padded.shape == (3, 3, 4)
    assert padded[2].tolist() == [[10, 11, -1, -1], [12, 13, 14, -1], [-1] * 4]
    assert t.to_padded(max_length=1)[:, :, 0].tolist() == [[0, 3, 5], [9, 0, 0], [10, 12, 0]]
    assert t.to_padded(max_length=6).shape == (3, 3, 6)
    with pytest.raises(TypeError, match=r"int64 cannot hold pad_value 0\.5"):
        t.to_padded(0.5)
    with pytest.raises(LoDLevelError):
        LoDTensor([1]).to_padded()


def test_uniform():
    values = np.arange(24).reshape(2, 3, 4)
    t = LoDTensor.from_uniform(values)
    assert t.lengths().tolist() == [3, 3]
    assert np.shares_memory(t.to_uniform(), values)
    assert np.array_equal(t.to_uniform(), values)
    assert LoDTensor.from_uniform(np.zeros((0, 3, 4))).shape == (0, 4)
    with pytest.raises(LoDError, match=r"lengths of level 0 differ \(1 at 0, 2 at 1\)"):
        LoDTensor([1, 2, 3], [[1, 2]]).to_uniform()


def test_from_nested_and_sequences():
    assert LoDTensor.from_nested([[1, 2], [], [3]]).to_list() == [[1, 2], [], [3]]
    vectors = LoDTensor.from_nested([[np.zeros(2), np.ones(2)], []])
    assert (vectors.lod_level, vectors.shape) == (1, (2, 2))
    assert LoDTensor.from_nested([[[1, 2]], []], lod_level=1).shape == (1, 2)
    assert LoDTensor.from_nested([[], []], dtype=np.int32).dtype == np.int32
    with pytest.raises(LoDError, match="item 1 of level 1 is 2, not a list"):
        LoDTensor.from_nested([[[1], 2]])
    t = LoDTensor.from_sequences([np.zeros((2, 3), np.float32), [], np.ones((1, 3), np.float32)])
    assert (t.lengths().tolist(), t.dtype, t.shape) == ([2, 0, 1], np.float32, (3, 3))
    assert LoDTensor.from_sequences([]).recursive_sequence_lengths() == [[]]
    with pytest.raises(LoDError, match=r"sequence 1 has items of shape \(2,\)"):
        LoDTensor.from_sequences([np.zeros((1, 3)), np.zeros((1, 2))])


def test_absolute_offsets_with_empty_sequences():
    t = LoDTensor.from_offsets(np.arange(5), [0, 0, 5, 5], [0, 0, 3, 3, 5, 5], absolute=True)
    assert t.lod() == [[0, 0, 4, 5], [0, 0, 3, 3, 5, 5]]
    with pytest.raises(LoDError, match="absolute offset 4 at position 1 of level 0"):
        LoDTensor.from_offsets(np.arange(5), [0, 4, 5], [0, 3, 5], absolute=True)


def test_levels_come_and_go():
    t = LoDTensor(np.arange(15), LENGTHS)
    more = t.append_level()
    assert more.lengths().tolist() == [1] * 15
    assert more.lengths(1).tolist() == LENGTHS[1]
    assert more.drop_level().equals(t)
    with pytest.raises(LoDLevelError, match="length at position 0 is 3"):
        t.drop_level()


class OnGpu:
    """As much of a CUDA array as a LoDTensor needs: views, and a way back."""

    __cuda_array_interface__ = None

    def __init__(self, array):
        self.array, self.shape, self.dtype = array, array.shape, array.dtype

    def __getitem__(self, key):
        return OnGpu(self.array[key])

    def get(self):
        return self.array


def test_values_on_a_gpu():
    t = LoDTensor(OnGpu(np.arange(15)), LENGTHS)
    assert t.device == "cuda"
    assert "device='cuda'" in repr(t)
    assert np.shares_memory(t[0, 2].array, t.values.array)
    assert t.slice(2).to("cpu").to_list() == [[[10, 11], [12, 13, 14]]]
    for call in (t.to_padded, lambda: t[[0, 1]]):
        with pytest.raises(DeviceError, match=r"works on the CPU; .*\.to\('cpu'\)"):
            call()
    with pytest.raises(DeviceError, match="concat: inputs on different devices"):
        concat([t, t.to("cpu")])


def test_devices():
    t = LoDTensor(np.arange(15), LENGTHS)
    assert t.to("cpu") is t
    with pytest.raises(ValueError, match="device must be"):
        t.to("tpu")


@pytest.mark.parametrize("dtype", ["float32", "float16", "int64", "bool"])
def test_padding_is_found_that_was_put_there(dtype):
    t = LoDTensor(np.ones(3, dtype), [[1, 0, 2]])
    pad = 0 if dtype == "bool" else np.float64(3) if dtype == "int64" else np.float64(0.1)
    assert LoDTensor.from_padded(t.to_padded(pad), pad_value=pad).equals(t)


def test_padding_that_the_type_of_the_values_does_not_hold():
    for dtype, pad in (
        ("float32", 1e300),
        ("float16", 1e5),
        ("int8", 300),
        ("bool", 2),
        ("int64", 2.0**63),
        ("int64", 2**70),
    ):
        t = LoDTensor(np.ones(1, dtype), [[1, 0]])
        with pytest.raises(DTypeError, match=f"{dtype} cannot hold pad_value"):
            t.to_padded(pad)
        with pytest.raises(DTypeError, match=f"{dtype} cannot hold pad_value"):
            LoDTensor.from_padded(np.ones((1, 2), dtype), pad_value=pad)
    assert LoDTensor(np.ones(1, np.complex64), [[1, 0]]).to_padded(2j, max_length=2)[0].tolist() == [1, 2j]
    numbers = np.array([[1, 2**53 + 1]])
    assert LoDTensor.from_padded(numbers, pad_value=2.0**53).lengths().tolist() == [2]
