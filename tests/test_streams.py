"""Paddle's binary streams: the bytes that Paddle 2.6.2 wrote, round trips, and every way to be malformed."""

from __future__ import annotations

import gzip
import io
import os
import pickle
import re
import struct
import tracemalloc

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from test_lod_properties import tensors

from lodkit import DTypeError, LodkitError, LoDTensor, SelectedRows
from lodkit.paddle import StreamError, dumps, load, load_combine, loads, save, save_combine
from lodkit.registry.desc import DATA_TYPES
from lodkit.testing import assert_equal

law = settings(deadline=None, max_examples=80, suppress_health_check=[HealthCheck.too_slow])

NESTED = LoDTensor(np.arange(6, dtype=np.float32).reshape(6, 1), [[2, 1], [3, 1, 2]])
ROWS = SelectedRows([7, 1, 7], np.arange(6, dtype=np.float32).reshape(3, 2), 10)

# Bytes that Paddle 2.6.2 wrote, by its save operator.
RECORDED = {
    "two levels": (
        NESTED,
        "00000000 0200000000000000"
        " 1800000000000000 0000000000000000 0200000000000000 0300000000000000"
        " 2000000000000000 0000000000000000 0300000000000000 0400000000000000 0600000000000000"
        " 00000000 06000000 0805 1006 1001"
        " 00000000 0000803f 00000040 00004040 00008040 0000a040",
    ),
    "empty sequences": (
        LoDTensor(np.array([[0], [1]]), [[0, 2, 0]]),
        "00000000 0100000000000000 2000000000000000 0000000000000000 0000000000000000 0200000000000000 0200000000000000"
        " 00000000 06000000 0803 1002 1001 0000000000000000 0100000000000000",
    ),
    "a parameter": (
        np.arange(6).reshape(2, 3),
        "00000000 0000000000000000 00000000 06000000 0803 1002 1003 0000000000000000 0100000000000000"
        " 0200000000000000 0300000000000000 0400000000000000 0500000000000000",
    ),
    "no rows": (np.empty((0, 3), np.int64), "00000000 0000000000000000 00000000 06000000 0803 1000 1003"),
    "selected rows": (
        ROWS,
        "00000000 0300000000000000 0700000000000000 0100000000000000 0700000000000000 0a00000000000000"
        " 00000000 06000000 0805 1003 1002 00000000 0000803f 00000040 00004040 00008040 0000a040",
    ),
    "int16": (np.array([[1], [0]], np.int16), "00000000 0000000000000000 00000000 06000000 0801 1002 1001 0100 0000"),
    "int32": (
        np.array([[1], [0]], np.int32),
        "00000000 0000000000000000 00000000 06000000 0802 1002 1001 01000000 00000000",
    ),
    "float16": (np.array([[1], [0]], "f2"), "00000000 0000000000000000 00000000 06000000 0804 1002 1001 003c 0000"),
    "float64": (
        np.array([[1], [0]], "f8"),
        "00000000 0000000000000000 00000000 06000000 0806 1002 1001 000000000000f03f 0000000000000000",
    ),
    "uint8": (np.array([[1], [0]], "u1"), "00000000 0000000000000000 00000000 06000000 0814 1002 1001 01 00"),
    "int8": (np.array([[1], [0]], "i1"), "00000000 0000000000000000 00000000 06000000 0815 1002 1001 01 00"),
}
COMBINED = (
    [np.ones((2, 2), np.float32), np.zeros(2)],
    "00000000 0000000000000000 00000000 06000000 0805 1002 1002 0000803f 0000803f 0000803f 0000803f"
    " 00000000 0000000000000000 00000000 04000000 0806 1002 0000000000000000 0000000000000000",
)


def kind(value):
    return SelectedRows if isinstance(value, SelectedRows) else LoDTensor


@pytest.mark.parametrize("name", RECORDED)
def test_the_bytes_are_paddles(name):
    value, recorded = RECORDED[name]
    assert dumps(value) == bytes.fromhex(recorded)
    assert_equal(loads(bytes.fromhex(recorded), kind(value)), value)


def test_combined_bytes_are_paddles(tmp_path):
    values, recorded = COMBINED
    save_combine(tmp_path / "all", values)
    assert (tmp_path / "all").read_bytes() == bytes.fromhex(recorded)
    assert_equal(load_combine(tmp_path / "all"), values)
    named = load_combine(str(tmp_path / "all"), ["w", "b"])
    assert_equal(named, dict(zip("wb", values, strict=True)))
    save_combine(tmp_path / "sorted", named)
    assert_equal(load_combine(tmp_path / "sorted", sorted(named)), named)
    save_combine(tmp_path / "none", [])
    assert load_combine(tmp_path / "none") == []


@law
@given(t=tensors(min_levels=0, max_levels=3), dtype=st.sampled_from(sorted({*DATA_TYPES} - {"bfloat16"})))
def test_round_trips(t, dtype):
    t = t.with_values(t.values.astype(dtype))
    back = loads(dumps(t))
    assert_equal(back, t if t.lod_level else t.values)
    file = io.BytesIO(b"before")
    file.seek(6)
    save(file, t)
    save(file, ROWS)
    assert file.getvalue() == b"before" + dumps(t) + dumps(ROWS)
    file.seek(6)
    assert_equal(load(file), back)
    assert_equal(load(file, SelectedRows), ROWS)


@law
@given(rows=st.lists(st.integers(0, 9), max_size=5), item=st.sampled_from([(), (2,), (0,), (1, 3)]))
def test_selected_rows_round_trip(rows, item):
    value = np.arange(len(rows) * np.prod(item, dtype=int)).reshape(len(rows), *item)
    assert_equal(loads(dumps(SelectedRows(rows, value, 10)), SelectedRows), SelectedRows(rows, value, 10))


def test_any_memory_layout_and_byte_order():
    x = np.arange(24, dtype=np.float32).reshape(4, 6)
    for other in (x.astype(">f4"), np.asfortranarray(x), x[::-1][::-1], np.repeat(x, 2, 1)[:, ::2]):
        assert dumps(other) == dumps(x)
    assert dumps(NESTED[1:]) == dumps(LoDTensor(NESTED.values[4:], [[1], [2]]))
    assert loads(dumps(np.array(2.5))) == 2.5
    read = loads(dumps(x))
    read += 1  # it is memory of its own
    assert read.ctypes.data % 64 == 0


def test_what_paddle_has_no_type_for():
    for wrong in (np.zeros(2, np.complex64), np.zeros(2, np.uint32), np.array(["a"])):
        with pytest.raises(DTypeError, match=r"Paddle has no dtype .*, only bool, int16"):
            dumps(wrong)
    with pytest.raises(TypeError, match=r"got list; convert with np\.asarray"):
        dumps([1, 2])
    for one in (NESTED, ROWS, np.zeros((2, 2))):
        with pytest.raises(TypeError, match="save takes one"):
            save_combine(io.BytesIO(), one)
    with pytest.raises(LodkitError, match="structure without values"):
        dumps(LoDTensor(None, [[1]]))


def test_a_path_is_replaced_whole_or_not_at_all(tmp_path, monkeypatch):
    path = tmp_path / "w"
    save(path, np.zeros(2))
    before = path.read_bytes()
    with pytest.raises(DTypeError):
        save_combine(path, [np.zeros(3), np.zeros(3, complex)])

    def full(*_):
        raise OSError("disk full")

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", full)
        with pytest.raises(OSError, match="disk full"):
            save(path, np.zeros(3))
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]
    save(str(path), np.zeros(3))
    assert load(str(path)).shape == (3,)
    os.symlink(path, tmp_path / "link")
    save(tmp_path / "link", ROWS)
    assert (tmp_path / "link").is_symlink()
    assert_equal(load(path, SelectedRows), ROWS)


class Dribble(io.BytesIO):
    """An unbuffered file: it takes and gives a few bytes at a time."""

    def write(self, data):
        return super().write(bytes(data[:3]))

    def readinto(self, data):
        return super().readinto(memoryview(data)[:5])


def test_files_of_all_kinds(tmp_path):
    file = Dribble()
    save(file, NESTED)
    assert file.getvalue() == dumps(NESTED)
    file.seek(0)
    assert_equal(load(file), NESTED)
    with gzip.open(tmp_path / "z", "wb") as packed:
        save(packed, NESTED)
    with gzip.open(tmp_path / "z") as packed:
        assert_equal(load(packed), NESTED)
    with open(tmp_path / "t", "w") as text, pytest.raises(TypeError):
        save(text, NESTED)
    with open(tmp_path / "t") as text, pytest.raises(TypeError, match='"rb"'):
        load(text)
    read, write = os.pipe()
    os.close(write)
    with open(read, "rb") as pipe, pytest.raises(TypeError, match=r"read it, and call loads"):
        load(pipe)


def patched(value, at, data):
    """The value's bytes, other ones from ``at`` on."""
    stream = bytearray(dumps(value))
    stream[at : at + len(data)] = data
    return bytes(stream)


def u64(number):
    return struct.pack("<Q", number)


def i64(number):
    return struct.pack("<q", number)


def tensor(desc, data=b""):
    """A stream without levels and with any TensorDesc."""
    desc = bytes.fromhex(desc)
    return bytes(16) + struct.pack("<i", len(desc)) + desc + data


MALFORMED = [
    (b"", "the version of a LoDTensor at byte 0 takes 4 bytes, 0 are left"),
    (patched(NESTED, 0, b"\1"), "version of a LoDTensor at byte 0 is 1, not 0"),
    (pickle.dumps({"w": 1}), "looks like a pickle"),
    (b"PK\3\4....", "looks like a zip"),
    (patched(NESTED, 4, u64(1 << 40)), "1,099,511,627,776 levels at byte 4, more than 64"),
    (patched(NESTED, 12, u64(1 << 60)), "level 0 at byte 20 takes 1,152,921,504,606,846,976 bytes"),
    (patched(NESTED, 12, u64(25)), "level 0 at byte 12 has 25 bytes"),
    (patched(NESTED, 12, u64(0)), "level 0 at byte 12 has 0 bytes"),
    (patched(NESTED, 20, u64(1)), "levels at byte 12: offsets at level 0 start at 1"),
    (patched(NESTED, 28, u64(4)), "levels at byte 12: offsets at level 0 decrease at position 2"),
    (patched(NESTED, 36, u64(1 << 63)), "levels at byte 12: offsets at level 0 decrease"),
    (patched(NESTED, 36, u64(4)), "last offset 4 at level 0 does not equal the 3 sequences"),
    (patched(NESTED, 76, u64(7)), "TensorDesc at byte 92: the innermost level ends at 7, but there are 6 rows"),
    (patched(NESTED, 84, b"\2"), "version of a tensor at byte 84 is 2"),
    (patched(NESTED, 88, struct.pack("<i", -6)), "TensorDesc at byte 88 has -6 bytes"),
    (patched(NESTED, 88, struct.pack("<i", 1 << 30)), "TensorDesc at byte 88 has 1,073,741,824 bytes"),
    (dumps(NESTED)[:-1], r"data of shape (6, 1), float32, at byte 98 takes 24 bytes, 23 are left; copy or save"),
    (dumps(NESTED) + b"..", "2 bytes are left after the value, at byte 122; load_combine"),
    (dumps(ROWS), "it reads as SelectedRows: kind=lodkit.SelectedRows"),
    (tensor("0805 10ffffffffffffffff7f"), "9223372036854775807,) exceed the address space"),
    (tensor("0805 10ffffffff0f"), "takes 17,179,869,180 bytes, 0 are left"),
    (tensor("0805 1000 10ffffffffffffffff7f"), "exceed the address space"),
    (tensor("0805 10ffffffffffffffffff01"), "dims (-1,) must all be known"),
    (tensor("0805 10feffffffffffffffff01"), "TensorDesc at byte 20: dims (-2,)"),
    (tensor("0805" + "1001" * 65, bytes(4)), "65 dims, more than 64"),
    (tensor("0817 1001", bytes(4)), "TensorDesc at byte 20: data_type 23 is unknown"),
    (tensor(""), "TensorDesc at byte 20: TensorDesc lacks data_type"),
    (tensor("08"), "TensorDesc at byte 20: truncated"),
    (tensor("0800 1003", bytes([1, 0, 2])), "a bool at byte 26 is 2"),
    (bytes(4) + u64(1) + u64(8) + u64(0) + tensor("0805", bytes(4))[12:], "without dimensions"),
]
MALFORMED_ROWS = [
    (patched(ROWS, 4, u64(1 << 61)), "row numbers at byte 12 takes 18,446,744,073,709,551,616 bytes"),
    (patched(ROWS, 20, i64(10)), "rows[1] = 10 is outside [0, 10)"),
    (patched(ROWS, 20, i64(-1)), "that row number is at byte 20"),
    (patched(ROWS, 36, i64(-3)), "the height at byte 36 is -3"),
    (patched(ROWS, 55, b"\2"), "3 row numbers, but a value of shape (2, 2)"),
    (dumps(NESTED), "it reads as LoDTensor: kind=lodkit.LoDTensor"),
    (dumps(np.zeros(3)), "it reads as LoDTensor"),
]


@pytest.mark.parametrize(
    ("data", "message", "of"),
    [(*case, LoDTensor) for case in MALFORMED] + [(*case, SelectedRows) for case in MALFORMED_ROWS],
)
def test_malformed_streams(data, message, of, tmp_path):
    (tmp_path / "x").write_bytes(data)
    for read in (lambda: loads(data, of), lambda: load(tmp_path / "x", of)):
        with pytest.raises(StreamError, match=re.escape(message)):
            read()


def test_absurd_sizes_take_no_memory():
    tracemalloc.start()
    for data, _ in MALFORMED:
        with pytest.raises(StreamError):
            loads(data)
    assert tracemalloc.get_traced_memory()[1] < 1 << 21
    tracemalloc.stop()


def test_names_and_kinds():
    file = io.BytesIO(bytes.fromhex(COMBINED[1]))
    with pytest.raises(StreamError, match="2 values in the file for 1 names"):
        load_combine(file, ["w"])
    with pytest.raises(ValueError, match="names must be unique"):
        load_combine(file, ["w", "w"])
    with pytest.raises(StreamError, match="value 1: truncated"):
        load_combine(io.BytesIO(bytes.fromhex(COMBINED[1])[:-1]))
    with pytest.raises(TypeError, match="kind must be LoDTensor or SelectedRows, got 'rows'"):
        loads(dumps(ROWS), "rows")
    assert issubclass(StreamError, LodkitError)


@pytest.mark.parametrize("value", [NESTED, ROWS, np.zeros((2, 3))])
def test_every_truncation_is_refused(value):
    data = dumps(value)
    for end in range(len(data)):
        with pytest.raises(StreamError):
            loads(data[:end], kind(value))


@law
@given(st.data())
def test_damaged_streams_are_refused_or_read(data):
    value = data.draw(st.sampled_from([NESTED, ROWS, np.zeros((2, 3))]))
    damaged = bytearray(dumps(value))
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(damaged) - 1))
        damaged[at : at + data.draw(st.integers(0, 2))] = data.draw(st.binary(max_size=3))
    try:
        read = loads(bytes(damaged), kind(value))
    except StreamError:
        return
    again = loads(dumps(read), kind(value))
    assert_equal(again, read)
