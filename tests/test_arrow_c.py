"""Arrow's C interfaces from LoDTensor to LoDTensor: a round trip, and who frees what memory when."""

from __future__ import annotations

import ctypes
import gc
import subprocess
import sys
import threading
import weakref

import arrow_producers as arrow
import numpy as np
import pytest
from arrow_producers import ragged

from lodkit import Features, LoDError, LoDTensor
from lodkit.interop.arrow import c_data
from lodkit.interop.arrow.exporting import Node

pytestmark = pytest.mark.usefixtures("frozen_heap")

NUMBERS = [
    *(f"{kind}int{bits}" for kind in ("", "u") for bits in (8, 16, 32, 64)),
    "float16",
    "float32",
    "float64",
    "bool",
]


@pytest.mark.parametrize("dtype", NUMBERS)
@pytest.mark.parametrize("item", [(), (3,), (2, 3), (0,)], ids=str)
def test_a_round_trip_keeps_everything(dtype, item):
    whole = ragged(dtype, item)
    x = whole.values
    for t in (whole, whole[1:], whole[:0], whole[0], LoDTensor(x), LoDTensor(x[::2]), LoDTensor(x[:0], [[0, 0]])):
        back = LoDTensor.from_arrow(t)
        assert back.equals(t)
        assert back.dtype == dtype
        assert not back.values.flags.writeable or not back.values.size or dtype == "bool"
        assert not any(back.offsets(level).flags.writeable for level in range(t.lod_level))


def test_other_byte_orders_and_unaligned_memory_are_copied():
    swapped = LoDTensor(np.arange(3, dtype=">f8"), [[1, 2]])
    assert LoDTensor.from_arrow(swapped).values.tolist() == [0, 1, 2]
    raw = np.zeros(25, np.uint8)
    unaligned = raw[1:].view(np.float64)
    unaligned[:] = 1, 2, 3
    producer = arrow.Producer(arrow.lists([0, 1, 3], arrow.numbers(unaligned)))
    for source in (producer, LoDTensor(unaligned, [[1, 2]])):
        t = LoDTensor.from_arrow(source)
        assert t.to_list() == [[1], [2, 3]]
        assert t.values.flags.aligned


def test_memory_is_shared():
    t = ragged()
    back = LoDTensor.from_arrow(LoDTensor.from_arrow(t))
    assert np.shares_memory(back.values, t.values)
    assert not np.shares_memory(back.offsets(0), t.offsets(0))
    with pytest.raises(ValueError, match="read-only"):
        back.values[0] = 1


def test_memory_outlives_the_source_and_goes_with_the_last_view():
    t = ragged()
    values = weakref.ref(t.values)
    view = LoDTensor.from_arrow(t).values[2:4]
    del t
    gc.collect()
    assert view.tolist() == [2, 3]
    assert values() is not None
    del view
    assert values() is None


@pytest.mark.parametrize("parts", [0, 1])
def test_capsules_that_nobody_reads_free_their_memory(parts):
    t = ragged()
    values = weakref.ref(t.values)
    capsules = t.__arrow_c_array__()[parts:]
    del t
    assert (values() is None) == (parts == 2)
    del capsules
    assert values() is None


def test_a_capsule_is_read_once():
    producer = arrow.Producer(arrow.numbers([1.0, 2.0]))
    assert LoDTensor.from_arrow(producer).values.tolist() == [1, 2]
    with pytest.raises(LoDError, match="array was consumed before"):
        LoDTensor.from_arrow(producer)
    stream = arrow.Stream(arrow.numbers([1.0]))
    LoDTensor.from_arrow(stream)
    with pytest.raises(LoDError, match="stream was consumed before"):
        LoDTensor.from_arrow(stream)


def test_a_parent_releases_the_children_that_were_not_moved():
    """As Arrow's specification says: a child that was moved away lives on by itself."""
    t = ragged(np.int64)
    values = weakref.ref(t.values)
    capsule = t.__arrow_c_array__()[1]
    top = arrow.array_in(capsule)
    middle, address = top.child(0), top.child(0).release
    leaf = c_data.ArrowArray.from_buffer_copy(middle.child(0))
    middle.child(0).release = None
    c_data.Release(address)(ctypes.addressof(top))
    assert not top.release
    assert not middle.release
    assert leaf.release
    del capsule, t
    gc.collect()
    numbers = (ctypes.c_int64 * leaf.length).from_address(leaf.buffer(1))
    assert list(numbers) == [0, 1, 2, 3, 4, 0, 1]
    assert values() is not None
    c_data.Release(leaf.release)(ctypes.addressof(leaf))
    assert values() is None
    assert not leaf.release


def test_another_thread_may_free():
    t = LoDTensor(np.arange(8.0), [[3, 5]])
    values, kept = weakref.ref(t.values), [LoDTensor.from_arrow(t)]
    del t
    assert values() is not None
    threads = [threading.Thread(target=kept.clear) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert values() is None


@pytest.mark.skipif(sys.platform != "linux", reason="starts a thread by the C library")
def test_a_thread_that_python_does_not_know_may_free():
    t = ragged()
    values = weakref.ref(t.values)
    capsule = t.__arrow_c_array__()[1]
    moved = c_data.ArrowArray.from_buffer_copy(arrow.array_in(capsule))
    arrow.array_in(capsule).release = None
    del t, capsule
    assert values() is not None
    library, thread = ctypes.CDLL(None), ctypes.c_ulong()
    call, at = ctypes.c_void_p(moved.release), ctypes.c_void_p(ctypes.addressof(moved))
    assert library.pthread_create(ctypes.byref(thread), None, call, at) == 0
    assert library.pthread_join(thread, None) == 0
    assert values() is None
    assert not moved.release


def test_freeing_while_an_exception_is_raised_keeps_the_exception():
    """A frame that is left by an exception frees its variables while Python holds it."""

    def leave(t):
        held = t.__arrow_c_array__(), LoDTensor.from_arrow(t)
        assert held
        raise KeyError("the one")

    t = ragged()
    values = weakref.ref(t.values)
    for _ in range(3):
        with pytest.raises(KeyError, match="the one"):
            leave(t)
    del t
    gc.collect()
    assert values() is None


def test_an_import_that_fails_frees_what_it_read():
    made = np.array([0, 5, 2])
    offsets = weakref.ref(made)
    producer = arrow.Producer(Node(b"+L", 2, (None, made), (arrow.numbers([1.0] * 5),)))
    del made
    with pytest.raises(LoDError, match="malformed Arrow array: offset 2 at 2 follows 5"):
        LoDTensor.from_arrow(producer)
    del producer
    gc.collect()
    assert offsets() is None


def test_three_thousand_round_trips_leak_nothing():
    t, features = ragged(item=(2,)), Features.from_list([{1: [1, 2]}, {2: [3]}])
    producer = [0.0, 1.0]

    def rounds(count):
        for _ in range(count):
            LoDTensor.from_arrow(t)
            Features.from_arrow(features)
            LoDTensor.from_arrow(arrow.Producer(arrow.lists([0, 2], arrow.numbers(producer))))
            t.__arrow_c_schema__()
            with pytest.raises(LoDError):
                LoDTensor.from_arrow(arrow.Producer(arrow.lists([0, 2, 1], arrow.numbers(producer))))

    values = t.values
    rounds(10)
    gc.collect()
    references, blocks = sys.getrefcount(values), sys.getallocatedblocks()
    rounds(3000)
    gc.collect()
    now = sys.getrefcount(values)
    assert now == references
    assert sys.getallocatedblocks() - blocks < 1000


@pytest.mark.parametrize("held", ["capsules", "views"])
def test_the_interpreter_may_exit_first(held):
    code = f"""
import lodkit, threading
t = lodkit.LoDTensor([1.0, 2.0], [[2]])
capsules, views = t.__arrow_c_array__(), lodkit.LoDTensor.from_arrow(t)
import builtins
builtins.kept = {held}
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
