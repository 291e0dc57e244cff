"""Memory that is shared with pyarrow, polars, pandas and duckdb: nothing dangles, nothing leaks."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading

import numpy as np
import pytest

from lodkit import Features, LoDTensor

pa = pytest.importorskip("pyarrow")
LISTS = [[1.0, 2.0], [], [3.0], [4.0, 5.0, 6.0]]


def sources():
    """Name -> a function that makes a new column of LISTS."""
    made = {"pyarrow": lambda: pa.array(LISTS), "chunks": lambda: pa.chunked_array([LISTS[:2], LISTS[2:]])}
    made["table"] = lambda: pa.table({"x": LISTS})
    try:
        import polars

        made["polars"] = lambda: polars.Series(LISTS)
        made["polars frame"] = lambda: polars.DataFrame({"x": LISTS})
    except ImportError:
        pass
    try:
        import pandas

        made["pandas"] = lambda: pandas.Series(pa.array(LISTS), dtype=pandas.ArrowDtype(pa.list_(pa.float64())))
    except ImportError:
        pass
    try:
        import duckdb

        query = "select unnest([[1.0, 2.0], [], [3.0], [4.0, 5.0, 6.0]]::double[][]) as x"
        made["duckdb"] = lambda: duckdb.connect().sql(query)
    except ImportError:
        pass
    return made


SOURCES = sources()


@pytest.mark.parametrize("name", SOURCES)
def test_nothing_dangles_when_the_source_is_deleted_first(name):
    kept = []
    for _ in range(50):
        source = SOURCES[name]()
        kept.append(LoDTensor.from_arrow(source).values[3:])
        del source
    gc.collect()
    SOURCES[name]()
    assert [values.tolist() for values in kept] == [[4, 5, 6]] * 50


def memory():
    """Resident memory of the process, in bytes."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096


@pytest.mark.parametrize("name", SOURCES)
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_ten_thousand_imports_leak_nothing(name):
    source = SOURCES[name]()
    rounds = 500 if name == "duckdb" else 10_000

    def read(count):
        for _ in range(count):
            LoDTensor.from_arrow(source)

    read(rounds // 5)
    gc.collect()
    allocated, references, resident = pa.total_allocated_bytes(), sys.getrefcount(source), memory()
    read(rounds)
    gc.collect()
    assert pa.total_allocated_bytes() == allocated
    now = sys.getrefcount(source)
    assert now == references
    assert memory() - resident < 2 << 20


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_ten_thousand_exports_leak_nothing():
    t, features = LoDTensor(np.arange(6.0), [[2, 1], [3, 1, 2]]), Features.from_list([{1: [1, 2]}, {2: [3]}])
    values = t.values

    def give(count):
        for _ in range(count):
            pa.array(t)
            pa.array(features)
            LoDTensor.from_arrow(pa.array(t))

    give(2000)
    gc.collect()
    allocated, references, resident = pa.total_allocated_bytes(), sys.getrefcount(values), memory()
    give(10_000)
    gc.collect()
    now = sys.getrefcount(values)
    assert now == references
    assert pa.total_allocated_bytes() == allocated
    assert memory() - resident < 2 << 20


def test_a_big_array_that_others_hold_lives_as_long_as_they_do():
    t = LoDTensor(np.arange(1000.0), [np.full(10, 100)])
    values = t.values
    array = pa.array(t)
    child = array.values[500:]
    references = sys.getrefcount(values)
    del t, array
    gc.collect()
    assert child.to_pylist()[0] == 500
    now = sys.getrefcount(values)
    assert now <= references
    del child
    gc.collect()
    assert sys.getrefcount(values) == 2


def test_threads_of_the_consumer_may_free():
    t = LoDTensor(np.arange(1000.0), [np.full(10, 100)])
    values = t.values
    arrays = [pa.array(t) for _ in range(400)]
    threads = [threading.Thread(target=lambda: [arrays.pop() for _ in range(100)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    del t
    gc.collect()
    assert sys.getrefcount(values) == 2


@pytest.mark.parametrize("library", ["pyarrow", "polars"])
def test_the_interpreter_may_exit_while_others_hold_our_memory(library):
    pytest.importorskip(library)
    hold = {"pyarrow": "pyarrow.array(t)", "polars": "polars.Series(t)"}[library]
    code = f"""
import builtins, lodkit, {library}
t = lodkit.LoDTensor([1.0, 2.0], [[2]])
builtins.kept = kept = {hold}
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
