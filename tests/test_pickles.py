"""Pickles name the public home of a class, not the file that it stands in today."""

from __future__ import annotations

import copy
import pickle
import pickletools

import numpy as np
import pytest
from conftest import check_locked

import lodkit

VALUES = {
    "LoDTensor": lodkit.LoDTensor(np.ones((3, 2)), [[2, 0], [1, 2]]),
    "SelectedRows": lodkit.SelectedRows([1, 1], np.ones((2, 2)), 3),
    "Features": lodkit.Features.from_dicts([{"a": [1, 2]}]) if hasattr(lodkit.Features, "from_dicts") else None,
    "RankTable": lodkit.lod_rank_table(lodkit.LoDTensor(np.ones((3, 2)), [[1, 2]])),
    "VarDesc": lodkit.VarDesc.of(np.ones((3, 2))),
    "VarType": lodkit.VarType.SELECTED_ROWS,
    "LoDError": lodkit.LoDError("lengths"),
    "StreamError": lodkit.paddle.StreamError("bytes"),
    "operator": lodkit.sgd,
    "registry": lodkit.OPS,
    "class": lodkit.LoDTensor,
}


def modules_of(data):
    """The modules of lodkit that a pickle names."""
    words = [argument for _, argument, _ in pickletools.genops(data) if isinstance(argument, str)]
    return {word for word in words if word.partition(".")[0] == "lodkit"}


@pytest.mark.parametrize("name", VALUES)
@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_pickles_name_the_public_home(name, protocol):
    data = pickle.dumps(VALUES[name], protocol)
    found = {word.partition(" ")[0] for word in modules_of(data)}
    assert found <= {"lodkit", "lodkit.paddle"}, found
    again = pickle.loads(data)
    assert type(again) is type(VALUES[name])
    if name == "LoDTensor":
        assert again.equals(VALUES[name])


@pytest.mark.parametrize("name", sorted(lodkit._HOME_OF))
def test_public_classes_say_where_they_are(name):
    value = getattr(lodkit, name)
    if isinstance(value, type) and name != "Dense":
        assert value.__module__ == "lodkit"
        assert getattr(lodkit, value.__name__) is value


def test_only_the_registry_of_operators_is_one_thing():
    types = lodkit.paddle.TYPES
    assert pickle.loads(pickle.dumps(types)) == types
    assert copy.copy(types) == types and copy.copy(types) is not types


def test_published_names_can_be_sent_to_another_process():
    for module, names in ((lodkit.caffe2, lodkit.caffe2.OPERATORS), (lodkit.paddle, lodkit.paddle.__all__)):
        for name in names:
            assert pickle.loads(pickle.dumps(getattr(module, name))) == getattr(module, name)


def _structured(count):
    x = lodkit.LoDTensor(np.ones((2 * count, 2)), [[count], [2] * count])
    rows = lodkit.SelectedRows(np.arange(count), np.ones((count, 2)), count)
    return {"LoDTensor": x, "SelectedRows": rows, "RankTable": lodkit.lod_rank_table(x.drop_level(0))}


def _kept(x):
    return [x._rows] if isinstance(x, lodkit.SelectedRows) else [*x._lod]


def _arrays(parts):
    """The arrays of integers in nested tuples, as they are or as bytes."""
    if isinstance(parts, tuple | list):
        return [array for part in parts for array in _arrays(part)]
    if isinstance(parts, bytes):
        return [np.frombuffer(parts, "<i8")]
    return [parts] if isinstance(parts, np.ndarray) and parts.dtype == np.int64 else []


@pytest.mark.parametrize("count", [3, 5000])
@pytest.mark.parametrize("name", ["LoDTensor", "SelectedRows", "RankTable"])
def test_nobody_gets_hold_of_structure_by_a_pickle(name, count):
    """What ``__reduce_ex__`` handed out were the arrays that kernels trust."""
    x = _structured(count)[name]
    before = [array.copy() for array in _kept(x)]
    handed = _arrays(x.__reduce_ex__(4)[1])
    assert len(handed) == len(before)
    for array in handed:
        assert not any(np.shares_memory(array, kept) for kept in _kept(x))
    buffers = []
    data = pickle.dumps(x, protocol=5, buffer_callback=buffers.append)
    sent = [bytearray(buffer.raw()) for buffer in buffers]
    for buffer in buffers:
        array = np.frombuffer(buffer, np.uint8)
        assert not any(np.shares_memory(array, kept) for kept in _kept(x))
    again = pickle.loads(data, buffers=sent)
    for buffer in sent:  # written after it was restored
        np.frombuffer(buffer, np.uint8)[:] = 77
    check_locked(again)
    for kept, expected in zip(_kept(again), before, strict=True):
        np.testing.assert_array_equal(kept, expected)


@pytest.mark.parametrize("merged", [False, True])
def test_rows_are_checked_when_they_are_restored(merged):
    x = lodkit.SelectedRows([4, 1, 4], np.ones((3, 2)), 6)
    x = x.merge() if merged else x
    again = pickle.loads(pickle.dumps(x))
    assert (again.is_merged, again.height, again.rows.tolist()) == (merged, 6, x.rows.tolist())
    restore, (rows, *others) = x.__reduce__()
    assert not np.frombuffer(rows, "<i8").flags.writeable
    wrong = np.frombuffer(rows, "<i8").copy()
    wrong[0] = 1 << 40
    with pytest.raises(lodkit.RowIndexError, match=r"rows\[0\] = 1099511627776 is outside"):
        restore(wrong.astype("<i8").tobytes(), *others)
