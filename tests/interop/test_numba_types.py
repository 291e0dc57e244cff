"""Numba's types of LoDTensor and SelectedRows: what decides them, what has none, what compiled code refuses."""

from __future__ import annotations

import ctypes
import os
import pickle
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import numba
import numpy as np
import pytest
from numba import njit
from ragged_functions import LENGTHS, first, identity, sentences, summed, words

import lodkit
from lodkit import LoDTensor, SelectedRows
from lodkit.interop.numba import LoDTensorType, SelectedRowsType, members, offsets, sequences

ROOT = Path(__file__).parents[2]


def test_errors_survive_a_pickle():
    for error in (sequences.NoSequence(3, 2), offsets.NoLevel(1, 1), members.OtherRowCount(0, 3, 4)):
        assert str(pickle.loads(pickle.dumps(error))) == str(error)
    assert issubclass(sequences.NoSequence, IndexError)


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
        (lambda t: t[True], words(), "by an integer or a range a:b, not by Literal"),
        (lambda t: t[::2], words(), "without a step"),
        (lambda t: t is t, words(), "no identity of objects"),
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
        numba.typeof(LoDTensor._wrap(values, LoDTensor(None, [[3]])._lod))
    with pytest.raises(lodkit.DTypeError, match=message.replace("values", "value")):
        numba.typeof(SelectedRows._wrap(np.arange(3), values, 9))


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
def test_an_array_that_was_changed_in_place_is_refused(change):
    """Its type is that of before: code of that type would read elsewhere."""
    total = njit(numba.float64(LoDTensorType(numba.float64[::1], 1)))(summed)
    values = np.arange(12.0)
    t = LoDTensor(values, [[3, 0, 9]])
    assert total(t) == 66
    if change == "rank":
        t._values = np.ones((12, 1, 1, 1, 1))  # as values.shape = ... does, which NumPy deprecates
    elif change == "flags":
        values.flags.writeable = False
    else:
        values.resize(5, refcheck=False)
    with pytest.raises(lodkit.LodkitError, match=r"was changed in place .*check it in again"):
        total(t)


@pytest.mark.jit
def test_another_dtype_in_place_is_refused():
    """The kept type is that of before: integers were summed as floats."""
    values, total = np.arange(4.0), njit(lambda t: t.values.sum())
    t, s = LoDTensor(values, [[4]]), SelectedRows([0, 1, 2, 3], values, 4)
    height, alone = njit(lambda s: s.value.sum()), LoDTensor(None, [[4]])
    assert total(t) == height(s) == 6
    assert numba.typeof(alone) is numba.typeof(alone)
    values.dtype = values.dtype.str  # the same one
    assert total(t) == height(s) == 6
    values.dtype = np.int64
    for function, x in ((total, t), (height, s)):
        with pytest.raises(lodkit.LodkitError, match=r"was changed in place .*dtype int64.*check it in again"):
            function(x)
    t.set_values(t.values)
    assert total(t) == values.sum()


@pytest.mark.jit
def test_tensors_of_pytorch_on_the_cpu_are_shared():
    torch = pytest.importorskip("torch")
    values = torch.arange(13.0, dtype=torch.float64)
    t = LoDTensor._wrap(values, words()._lod)
    there = njit(identity)
    back, row = there(t), njit(first)(t)
    assert isinstance(back.values, torch.Tensor) and back.values.data_ptr() == values.data_ptr()
    row[0] = 7
    assert values[0] == 7
    s = there(SelectedRows._wrap(words()._lod[0], torch.ones(7), 99))
    assert isinstance(s.value, torch.Tensor)
    for refused, error in (
        (values.requires_grad_(), TypeError),
        (torch.ones(13, dtype=torch.bfloat16), lodkit.DTypeError),
    ):
        with pytest.raises(error, match=r"requires grad|float\(\)"):
            numba.typeof(LoDTensor._wrap(refused, words()._lod))
    with pytest.raises(TypeError, match="requires grad"):
        there(t)


def run(code, *path):
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, (ROOT, *path)))}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True, env=env
    )
    return done.stdout


def test_numba_finds_the_types_by_an_entry_point(tmp_path):
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]["numba_extensions"]
    installed = tmp_path / "lodkit_point-1.0.dist-info"
    installed.mkdir()
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: lodkit_point\nVersion: 1.0\n")
    points = "".join(f"{name} = {value}\n" for name, value in declared.items())
    (installed / "entry_points.txt").write_text(f"[numba_extensions]\n{points}")
    code = "import sys; from numba.core import entrypoints; entrypoints.init_all(); print(*sys.modules)"
    assert "lodkit.interop.numba" in run(code, tmp_path).split()


def test_numba_finds_the_types_without_it():
    code = "import lodkit, numba, numpy; print(numba.typeof(lodkit.LoDTensor(numpy.ones(2))))"
    assert run(code) == "LoDTensor(array(float64, 1d, C), lod_level=0)\n"


@pytest.mark.jit
def test_globals_are_refused():
    t = words()
    with pytest.raises(
        numba.TypingError, match="a global LoDTensor is no constant: pass it to the function as an argu"
    ):
        njit(lambda: len(t))()


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


@pytest.mark.jit
@pytest.mark.parametrize("shape", [(2,), ()])
def test_a_tensor_that_was_resized(shape):
    """The error described an array of NumPy's."""
    torch = pytest.importorskip("torch")
    values, value = torch.tensor([1.0, 2.0, 3.0]), torch.tensor([1.0, 2.0, 3.0])
    t, s = LoDTensor(values, [[1, 2]]), SelectedRows([0, 1, 2], value, 4)
    values.resize_(shape), value.resize_(shape)
    for x in (t, s):
        with pytest.raises(lodkit.LodkitError, match=rf"in place .now shape {re.escape(str(shape))}, dtype torch"):
            njit(lambda x: len(x))(x)
