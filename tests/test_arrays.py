"""Allocation: alignment, huge pages where there are any, and systems that have none."""

from __future__ import annotations

import ctypes
import mmap
import os
import types
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import lodkit
from lodkit import OutputError, arrays
from lodkit.arrays import pages

BIG = (arrays.BIG_ARRAY_BYTES // 4 + 1000,)
needs_mappings = pytest.mark.skipif(not hasattr(mmap, "MAP_PRIVATE"), reason="memory comes from NumPy there")


@pytest.fixture(autouse=True)
def nothing_kept(monkeypatch):
    monkeypatch.setattr(pages, "_hot", [])
    monkeypatch.setattr(pages, "_kept", [])


@pytest.mark.parametrize("shape", [(), 0, 1, 7, (3, 5), (0, 4), (1 << 11, 1 << 10), BIG, [2, 3]])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "float16"])
def test_empty_is_aligned_and_writable(shape, dtype):
    array = lodkit.empty(shape, dtype)
    assert array.shape == np.empty(shape).shape and array.dtype == dtype
    assert (array.ctypes.data % 64 == 0 or not array.size) and array.flags.c_contiguous
    array[...] = 1
    assert (array == 1).all()


def test_empty_takes_objects():
    assert lodkit.empty(3, object).tolist() == [None, None, None]


@pytest.mark.parametrize("missing", ["MADV_HUGEPAGE", "MAP_PRIVATE"])
def test_empty_without_what_the_system_lacks(missing, monkeypatch):
    monkeypatch.delattr(mmap, missing, raising=False)
    array = lodkit.empty(BIG)
    array[...] = 2
    assert array.sum(dtype=np.float64) == 2 * BIG[0] and array.ctypes.data % 64 == 0


def test_empty_where_advice_is_refused(monkeypatch):
    class Refusing(mmap.mmap):
        def madvise(self, *advice):
            raise OSError("no")

    monkeypatch.setattr(mmap, "mmap", Refusing)
    array = lodkit.empty(BIG)
    array[...] = 3
    assert array[-1] == 3


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_big_memory_is_not_shared_with_a_child():
    array = lodkit.empty(BIG)
    array[0] = 1
    child = os.fork()
    if child == 0:
        array[0] = 2
        os._exit(0)
    os.waitpid(child, 0)
    assert array[0] == 1


def test_out_is_checked_before_anything_is_written():
    good = np.zeros((2, 3), np.float32)
    assert arrays.output((2, 3), good.dtype, good) is good
    frozen = good.copy()
    frozen.flags.writeable = False
    for bad in (good.T, good[:, ::-1], good.astype(">f4"), good.astype("f8"), good[:1], frozen):
        with pytest.raises(OutputError):
            arrays.output((2, 3), np.dtype(np.float32), bad)
    with pytest.raises(TypeError, match="list"):
        arrays.output((2,), np.dtype(np.float32), [0, 0])


def _address(size):
    return lodkit.empty(size).ctypes.data


@needs_mappings
def test_memory_of_big_arrays_is_used_again():
    array = lodkit.empty(2 * BIG[0])
    array[:] = 5
    address, view = array.ctypes.data, array[10:20].reshape(2, 5)
    del array
    other = _address(2 * BIG[0])
    assert other != address and (view == 5).all()
    del view
    assert address in [_address(2 * BIG[0] - 5000) for _ in range(2)]
    array = lodkit.empty(2 * BIG[0])
    assert array.ctypes.data in (address, other)
    assert _address(10 * BIG[0]) not in (address, other)


def _root(array):
    """What tools find that look for the owner of memory."""
    while getattr(array, "base", None) is not None:
        array = array.base
    return array.obj if isinstance(array, memoryview) else array


def _over_root(array):
    try:
        return np.frombuffer(_root(array), np.float32)
    except TypeError:
        return np.asarray(_root(array))


EXPORTS = {
    "view": lambda array: array[5:],
    "memoryview": lambda array: memoryview(array)[5:],
    "root": _root,
    "array of the root": _over_root,
    "base": lambda array: array.base.base if array.base.base is not None else array.base,
    "ctypes": np.ctypeslib.as_ctypes,
    "pointer": lambda array: array.ctypes.data_as(ctypes.c_void_p),
    "DLPack": lambda array: array.__dlpack__(),
    "interface": lambda array: types.SimpleNamespace(array=array),
    "torch": lambda array: pytest.importorskip("torch").from_numpy(array),
    "arrow": lambda array: pytest.importorskip("pyarrow").py_buffer(array),
}


@needs_mappings
@pytest.mark.parametrize("name", EXPORTS)
def test_memory_is_not_used_again_while_anything_refers_to_it(name):
    array = lodkit.empty(BIG)
    address, export = array.ctypes.data, EXPORTS[name](array)
    del array
    others = [lodkit.empty(BIG) for _ in range(3)]
    assert address not in [other.ctypes.data for other in others]
    del export
    others.append(lodkit.empty(BIG))
    assert address == others[-1].ctypes.data


@needs_mappings
def test_what_is_kept_is_bounded(monkeypatch):
    monkeypatch.setattr(pages, "MAX_KEPT_BYTES", 4 * arrays.BIG_ARRAY_BYTES)
    monkeypatch.setattr(pages, "HOT", 2 * arrays.BIG_ARRAY_BYTES)
    held = [lodkit.empty(BIG) for _ in range(6)]
    huge = lodkit.empty(8 * BIG[0])
    del held, huge
    assert 0 < sum(map(len, pages._hot)) <= 2 * arrays.BIG_ARRAY_BYTES
    assert 0 < sum(map(len, pages._hot + pages._kept)) <= 4 * arrays.BIG_ARRAY_BYTES


@needs_mappings
def test_what_was_freed_last_is_not_offered_to_the_system(monkeypatch):
    offered = []
    held = [lodkit.empty(BIG) for _ in range(3)]
    monkeypatch.setattr(pages, "HOT", 2 * arrays.BIG_ARRAY_BYTES)
    monkeypatch.setattr(pages, "_advise", lambda mapping, advice: offered.append((id(mapping), advice)))
    while held:
        del held[0]
    assert offered == [(id(mapping), "MADV_FREE") for mapping in pages._kept]
    assert len(pages._hot) == 1 and len(pages._kept) == 2
    last = id(pages._hot[0])
    array = lodkit.empty(BIG)
    assert not pages._hot and len(pages._kept) == 2
    del array
    assert id(pages._hot[0]) == last and len(offered) == 2


def test_threads_never_get_the_same_memory():
    def work(number):
        for _ in range(30):
            array = lodkit.empty(BIG)
            array[::4096] = number
            if not (array[::4096] == number).all():
                return False
        return True

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(8)))


def test_plain_arrays_with_memory_of_their_own_are_apart():
    a, b = np.ones(4), np.ones(4)
    assert arrays.are_apart((a, b)) and arrays.are_apart(())
    assert not arrays.are_apart((a, b, a))
    assert not arrays.are_apart((a, b[:2]))
    assert not arrays.are_apart((a, [1.0]))
    assert not arrays.are_apart((a, b.view(np.memmap)))
