"""Users' functions of ``@numba.njit`` over LoDTensor and SelectedRows: what Python gives, compiled code gives."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
import weakref
from pathlib import Path

import numpy as np
import pytest
from numba import njit, prange
from ragged_functions import (
    LENGTHS,
    first,
    identity,
    kept,
    outline,
    parts,
    ranges,
    same,
    sentences,
    structure,
    walked,
    walked_twice,
    words,
)

import lodkit
from lodkit import LoDTensor, SelectedRows

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def compiled():
    """Each function compiled once."""
    made = {}
    return lambda function: made.setdefault(function, njit(function))


@pytest.mark.jit
@pytest.mark.parametrize(
    ("function", "t"),
    [
        (structure, sentences()),
        (structure, sentences()[2:]),
        (structure, sentences()[:0]),
        (outline, LoDTensor(None, LENGTHS[1:])),
        (outline, LoDTensor(None, LENGTHS)[1:]),
        (parts, words(np.int32)),
        (parts, sentences()),
        (parts, sentences()[1:]),
        (parts, LoDTensor(np.arange(3.0))),
        (ranges, sentences()),
        (ranges, sentences()[1:]),
        (walked, words()),
        (walked, words(np.float64, (2,)).with_values(np.asfortranarray(np.arange(26.0).reshape(13, 2)))),
        (walked_twice, sentences()),
        (walked_twice, sentences()[2:]),
        (walked_twice, LoDTensor(np.arange(13.0), [[1, 3], *LENGTHS])[1]),
    ],
    ids=lambda x: getattr(x, "__name__", None),
)
def test_compiled_code_agrees_with_python(function, t, compiled):
    same(compiled(function)(t), function(t))


@pytest.mark.jit
def test_memory_is_shared_both_ways(compiled):
    t = sentences()
    back = compiled(identity)(t)
    assert back.values is t.values and back._lod[0] is t._lod[0]
    document = compiled(first)(t)
    document.values[0] = -1
    assert t.values[0] == -1
    assert not document.offsets().flags.writeable


@pytest.mark.jit
def test_nothing_dangles_when_the_source_is_gone(compiled):
    t = words()
    expected, values = kept(t), weakref.ref(t.values)
    got = compiled(kept)(t)
    document = compiled(identity)(sentences()[2:])
    del t
    gc.collect()
    churn = [np.full(13, -5.0) for _ in range(100)]
    same(got, expected)
    assert got[0].base is not None and values() is not None
    same(document, sentences()[2:])
    del got, churn, expected
    gc.collect()
    assert values() is None


@pytest.mark.jit
def test_ten_thousand_calls_leak_nothing(compiled):
    t, s = words(), SelectedRows([1, 2], np.ones((2, 3)), 9)
    calls = [(compiled(kept), t), (compiled(identity), t), (compiled(identity), s), (compiled(first), t)]
    held = [t._values, t._lod[0], s._rows, s.value]
    del t
    before = None
    for _ in range(2):
        for call, x in calls:
            for _ in range(2500):
                call(x)
        counts = [sys.getrefcount(x) for x in held]
        assert before in (None, counts)
        before = counts


@pytest.mark.jit
@pytest.mark.parametrize(
    ("function", "error"),
    [
        (lambda t: t[6], "sequence index 6 is out of range for 6 sequences (level 0)"),
        (lambda t: t[np.uint64(6)], "sequence index 6 is out of range for 6 sequences (level 0)"),
        (lambda t: t[-7], "sequence index -7 is out of range for 6 sequences (level 0)"),
        (lambda t: t.offsets(1), "level 1 does not exist: the tensor has lod_level 1"),
        (
            lambda t: t.with_values(t.values[1:]),
            "last offset 13 at level 0 does not equal values.shape[0]=12 (1 too many)",
        ),
    ],
)
def test_errors_are_those_of_python(function, error):
    t = words()
    with pytest.raises(lodkit.LodkitError) as expected:
        function(t)
    with pytest.raises(type(expected.value)) as raised:
        njit(function)(t)
    assert str(raised.value).startswith(error) and str(expected.value).startswith(error)


@pytest.mark.jit
def test_selected_rows_go_in_and_out(compiled):
    s = SelectedRows([7, 2, 7], np.arange(6.0).reshape(3, 2), 9)

    def described(s):
        return len(s), s.height, s.shape, s.ndim, s.is_merged, s.rows, s.value

    same(njit(described)(s), described(s))
    back = compiled(identity)(s.merge())
    assert back.is_merged and back.height == 9
    assert compiled(identity)(s).value is s.value and compiled(identity)(s)._rows is s._rows


@pytest.mark.jit
def test_sequences_in_parallel():
    @njit(parallel=True)
    def sums(t):
        out = np.empty(len(t))
        for i in prange(len(t)):
            out[i] = t[i].sum()
        return out

    t = words()
    same(sums(t), np.array([s.sum() for s in t]))


@pytest.mark.jit
def test_threads_without_the_gil_while_values_are_replaced():
    @njit(nogil=True)
    def often(t):
        total = 0.0
        for _ in range(50):
            for sequence in t:
                total += sequence.sum()
        return total, t[0]

    t = LoDTensor(np.ones(20_000), [[10] * 2_000])
    often(t)
    got = []
    threads = [threading.Thread(target=lambda: got.append(often(t))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for _ in range(50):
        t.set_values(np.ones(20_000))
    for thread in threads:
        thread.join()
    assert [total for total, _ in got] == [1e6] * 4
    assert all(sequence.tolist() == [1.0] * 10 for _, sequence in got)


USER = """
import numpy as np
import numba
from lodkit import LoDTensor

@numba.njit(cache=True)
def second(t):
    return t[1], t

if __name__ == "__main__":
    row, back = second(LoDTensor(np.arange(3.0), [[1, 2]]))
    print(row.tolist(), back.lod(), *second.stats.cache_hits.values())
"""


@pytest.mark.jit
def test_numbas_cache_serves_another_process(tmp_path):
    user = tmp_path / "user.py"
    user.write_text(USER)
    env = {**os.environ, "PYTHONPATH": str(ROOT), "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    for hits in ("", " 1"):
        run = subprocess.run([sys.executable, str(user)], capture_output=True, text=True, check=True, env=env)
        assert run.stdout == f"[1.0, 2.0] [[0, 1, 3]]{hits}\n"


def test_without_the_compiler_results_are_the_same(tmp_path):
    user = tmp_path / "user.py"
    user.write_text(USER.replace(", *second.stats.cache_hits.values()", ""))
    env = {**os.environ, "PYTHONPATH": str(ROOT), "NUMBA_DISABLE_JIT": "1"}
    run = subprocess.run([sys.executable, str(user)], capture_output=True, text=True, check=True, env=env)
    assert run.stdout == "[1.0, 2.0] [[0, 1, 3]]\n"


def an_item(t, i):
    return t[i]


def of_an_item(t, i):
    return t[i][0]


def length_of_an_item(t, i):
    return len(t[i])


def lengths_of(t, i):
    return t.lengths(i)[0]


def row_offsets_of(t, i):
    return t.row_offsets(i)[0]


def offsets_of(t, i):
    return t.offsets(i)[0]


def with_other_values(t, i):
    return t.with_values(np.ones(i)).values[0]


@pytest.mark.jit
@pytest.mark.parametrize(
    "function",
    [an_item, of_an_item, length_of_an_item, lengths_of, row_offsets_of, offsets_of, with_other_values],
    ids=lambda f: f.__name__,
)
@pytest.mark.parametrize("lengths", [[[2, 1]], [[1, 1], [2, 1]]], ids=["one level", "two levels"])
def test_an_error_keeps_no_batch_alive(function, lengths, compiled):
    t, failed = LoDTensor(np.arange(3.0), lengths), 0
    arrays = (t.values, *t._lod)
    before = [sys.getrefcount(array) for array in arrays]
    for _ in range(20):
        try:
            compiled(function)(t, 99)
        except (IndexError, lodkit.LoDError):
            failed += 1
    assert failed == 20
    assert [sys.getrefcount(array) for array in arrays] == before
