"""LoDTensor and SelectedRows in users' functions of ``@numba.njit``: what Python says, compiled code says."""

from __future__ import annotations

import ctypes
import gc
import importlib.metadata
import os
import pickle
import subprocess
import sys
import threading
import tomllib
import weakref
from pathlib import Path

import numba
import numpy as np
import pytest
from numba import njit, prange

import lodkit
from lodkit import LoDTensor, SelectedRows
from lodkit.interop.numba import LoDTensorType, SelectedRowsType, errors

ROOT = Path(__file__).parents[1]
LENGTHS = [[3, 0, 1, 2], [3, 0, 4, 1, 2, 3]]


def sentences(dtype=np.float64, item=()):
    """Documents of sentences; a document and a sentence are empty."""
    count = sum(LENGTHS[1]) * int(np.prod(item, dtype=int))
    return LoDTensor(np.arange(count).reshape(-1, *item).astype(dtype), LENGTHS)


def words(dtype=np.float64, item=()):
    return sentences(dtype, item).slice_in_level(1, 0, 6)


def same(a, b):
    """Compare results of compiled code and of Python, with their types."""
    if isinstance(a, tuple | list):
        assert len(a) == len(b)
        for x, y in zip(a, b, strict=True):
            same(x, y)
    elif isinstance(b, LoDTensor):
        assert isinstance(a, LoDTensor)
        assert a.lod() == b.lod() and a.lod(absolute=True) == b.lod(absolute=True)
        same(a.values, b.values)
    elif isinstance(b, np.ndarray):
        assert a.dtype == b.dtype and a.shape == b.shape
        np.testing.assert_array_equal(a, b)
    else:
        assert a == b


def structure(t):
    return (
        (len(t), t.lod_level, t.shape),
        (t.offsets(), t.offsets(0), t.row_offsets(0), t.row_offsets(), t.lengths(), t.lengths(0, absolute=True)),
    )


def parts(t):
    return t, t[0], t[-1], t.with_values(t.values + t.values), t[len(t) - 2], t.values, t.dtype.type(3)


def walked(t):
    total, last = t.values[0] * 0, t[0]
    for k, sequence in enumerate(t):
        total = total + (sequence * (k + 1)).sum()
        last = sequence
    return total, last


def walked_twice(t):
    lengths = [0]
    total = 0.0
    for document in t:
        for sentence in document:
            lengths.append(len(sentence))
            total += sentence.sum() * len(lengths)
        lengths.append(len(document))
        lengths.extend(list(document.offsets()))
    return total, lengths


@pytest.mark.jit
@pytest.mark.parametrize(
    ("function", "t"),
    [
        (structure, sentences()),
        (structure, sentences()[2:]),
        (structure, sentences()[:0]),
        (structure, LoDTensor(None, LENGTHS[1:])),
        (parts, words(np.int32)),
        (parts, sentences()),
        (parts, sentences()[1:]),
        (parts, LoDTensor(np.arange(3.0))),
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


@pytest.fixture(scope="module")
def compiled():
    """Each function compiled once."""
    made = {}
    return lambda function: made.setdefault(function, njit(function))


def identity(x):
    return x


def first(t):
    return t[0]


@pytest.mark.jit
def test_memory_is_shared_both_ways(compiled):
    t = sentences()
    back = compiled(identity)(t)
    assert back.values is t.values and back.offsets(0) is t.offsets(0)
    document = compiled(first)(t)
    document.values[0] = -1
    assert t.values[0] == -1
    assert not document.offsets().flags.writeable


def summed(t):
    total = 0.0
    for sequence in t:
        total += sequence.sum()
    return total


def kept(t):
    """Sequences that outlive loop, list and temporary tensor."""
    longest, listed = t[0], [t[1]]
    for sequence in t:
        listed.append(sequence)
        if len(sequence) > len(longest):
            longest = sequence
    return longest, listed, t.with_values(t.values * 3)[0]


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
    held = [t._values, t._lod[0], s.rows, s.value]
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


def test_errors_survive_a_pickle():
    for error in (errors.NoSequence(3, 2), errors.NoLevel(1, 1), errors.OtherRowCount(0, 3, 4)):
        assert str(pickle.loads(pickle.dumps(error))) == str(error)
    assert issubclass(errors.NoSequence, IndexError)


def writes_offsets(t):
    t.offsets()[0] = 1


def writes_rows(s):
    s.rows[0] = 1


def reads_values(t):
    return t.values


@pytest.mark.jit
@pytest.mark.parametrize(
    ("function", "x", "message"),
    [
        (writes_offsets, words(), "readonly array"),
        (writes_rows, SelectedRows([1], np.ones((1, 2)), 3), "readonly array"),
        (reads_values, LoDTensor(None, LENGTHS), "structure without values; give it rows first"),
        (first, LoDTensor(None, LENGTHS[1:]), "structure without values"),
        (summed, LoDTensor(None, LENGTHS[1:]), "structure without values"),
        (lambda t: t.offsets(), LoDTensor(np.ones(3)), "lod_level 0, no offsets; attach lengths"),
        (lambda t: t[1:2], words(), "by an integer, not by slice"),
        (lambda t: t.with_values(3), words(), r"an array \(rows, \*item\), not"),
    ],
)
def test_typing_errors_name_the_remedy(function, x, message):
    with pytest.raises(numba.TypingError, match=message):
        njit(function)(x)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (np.ones(3, np.float16), r"no float16 on the CPU; pass a copy in float32, x.values.astype\(np.float32\)"),
        (np.ones(3, ">f4"), "other byte order, >f4; convert: x.values.astype"),
        (np.array([1, None, 2]), "Python objects"),
    ],
)
def test_values_that_compiled_code_cannot_take_are_refused(values, message):
    with pytest.raises(lodkit.DTypeError, match=message):
        numba.typeof(LoDTensor(values, [[3]]))
    with pytest.raises(lodkit.DTypeError, match=message.replace("values", "value")):
        numba.typeof(SelectedRows([1, 2, 3], values, 9))


def test_arrays_on_a_tape_are_refused():
    with lodkit.Tape():
        x = lodkit.relu(LoDTensor(np.ones(3), [[1, 2]]))
        with pytest.raises(TypeError, match="stop_gradient"):
            numba.typeof(x)
    assert numba.typeof(x) == numba.typeof(LoDTensor(np.ones(3), [[1, 2]]))


class OnGPU:
    """All that anyone asks of an array on a GPU before it is used."""

    __cuda_array_interface__ = {"shape": (3,), "typestr": "<f8", "data": (1, False), "version": 3}
    shape, dtype, ndim = (3,), np.dtype(np.float64), 1


def test_arrays_on_a_gpu_are_refused():
    with pytest.raises(lodkit.DeviceError, match=r"pass x.to\('cpu'\)"):
        numba.typeof(LoDTensor._wrap(OnGPU(), words()._lod))


def test_types_depend_on_what_code_depends_on():
    t = words()
    read_only = np.ones(13)
    read_only.flags.writeable = False
    different = {
        numba.typeof(x)
        for x in (
            t,
            sentences(),
            words(np.float32),
            words(item=(2,)),
            t.with_values(read_only),
            LoDTensor(None, LENGTHS),
        )
    }
    assert len(different) == 6
    assert numba.typeof(t) == numba.typeof(words()) == LoDTensorType(numba.float64[::1], 1)
    assert numba.typeof(SelectedRows([1], np.ones((1, 2)), 3)) == SelectedRowsType(numba.float64[:, ::1])


def test_an_object_keeps_its_type_until_it_changes():
    t = words()
    assert t._numba is None
    assert numba.typeof(t) is t._numba is t._numba_type_
    t.set_values(np.ones(13, np.float32))
    assert numba.typeof(t) == LoDTensorType(numba.float32[::1], 1)
    t.set_lod([[0, 1, 4], [0, 5, 5, 9, 13]])
    assert numba.typeof(t) == LoDTensorType(numba.float32[::1], 2)
    s = SelectedRows([1], np.ones((1, 2)), 3)
    assert s._numba_type_ is s._numba


@pytest.mark.jit
@pytest.mark.parametrize("change", ["rank", "flags", "size"])
def test_an_array_that_was_changed_in_place_is_refused(change, compiled):
    """Its type is that of before: code of that type would read elsewhere."""
    values = np.arange(12.0)
    t = LoDTensor(values, [[3, 0, 9]])
    assert compiled(summed)(t) == 66
    if change == "rank":
        t._values = np.ones((12, 1, 1, 1, 1))  # as values.shape = ... does, which NumPy deprecates
    elif change == "flags":
        values.flags.writeable = False
    else:
        values.resize(5, refcheck=False)
    with pytest.raises(lodkit.LodkitError, match=r"was changed in place .*check it in again"):
        compiled(summed)(t)


@pytest.mark.jit
def test_selected_rows_go_in_and_out(compiled):
    s = SelectedRows([7, 2, 7], np.arange(6.0).reshape(3, 2), 9)

    def described(s):
        return len(s), s.height, s.shape, s.ndim, s.is_merged, s.rows, s.value

    same(njit(described)(s), described(s))
    back = compiled(identity)(s.merge())
    assert back.is_merged and back.height == 9
    assert compiled(identity)(s).value is s.value and compiled(identity)(s).rows is s.rows


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


@pytest.mark.jit
def test_tensors_of_pytorch_on_the_cpu_are_shared(compiled):
    torch = pytest.importorskip("torch")
    values = torch.arange(13.0, dtype=torch.float64)
    t = LoDTensor._wrap(values, words()._lod)
    back, row = compiled(identity)(t), compiled(first)(t)
    assert isinstance(back.values, torch.Tensor) and back.values.data_ptr() == values.data_ptr()
    row[0] = 7
    assert values[0] == 7
    s = compiled(identity)(SelectedRows._wrap(words()._lod[0], torch.ones(7), 99))
    assert isinstance(s.value, torch.Tensor)
    for refused, error in (
        (values.requires_grad_(), TypeError),
        (torch.ones(13, dtype=torch.bfloat16), lodkit.DTypeError),
    ):
        with pytest.raises(error, match=r"requires grad|float\(\)"):
            numba.typeof(LoDTensor._wrap(refused, words()._lod))
    with pytest.raises(TypeError, match="requires grad"):
        compiled(identity)(t)


def test_numba_finds_the_types_by_itself():
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]["numba_extensions"]
    (point,) = [importlib.metadata.EntryPoint(name, value, "numba_extensions") for name, value in declared.items()]
    assert point.name == "init" and point.load()() is None
    code = "import lodkit, numba, numpy; print(numba.typeof(lodkit.LoDTensor(numpy.ones(2))))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "LoDTensor(array(float64, 1d, C), lod_level=0)\n"


def test_the_head_of_an_array_is_where_unboxing_reads_it():
    class Head(ctypes.Structure):
        _fields_ = [
            ("object", ctypes.c_char * object.__basicsize__),
            ("data", ctypes.c_void_p),
            ("ndim", ctypes.c_int),
            ("pointers", ctypes.c_void_p * 4),
            ("flags", ctypes.c_int),
        ]

    for array in (np.ones((2, 3, 4)), np.ones((4, 2)).T, np.broadcast_to(np.ones(3), (2, 3))):
        head = Head.from_address(id(array))
        assert (head.ndim, head.flags) == (array.ndim, array.flags.num)
