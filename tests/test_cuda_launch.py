"""How kernels are launched, with a stand-in for cuda.core: once compiled, on the right device and stream."""

from __future__ import annotations

import ctypes
import os
import pathlib
import sys
import threading
import types

import numpy as np
import pytest

pytest.importorskip("numba_cuda")
pytest.importorskip("cuda.bindings")

from cuda import bindings

from lodkit import DeviceError
from lodkit.arrays.cuda import inspecting, launcher, private_numba
from lodkit.arrays.cuda.kernels import _copy
from lodkit.arrays.cuda.libraries import host_numbers
from lodkit.arrays.cuda.views import View
from lodkit.jit import simd
from lodkit.jit.fingerprint import fingerprint
from lodkit.kernels.cuda.primitives.row_kernels import map_kernel

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "asv_benchmarks"))
from benchmarks._cuda_core import Core


class Library:
    """An array library that works on another stream on every device."""

    def stream(self, device):
        return 100 + device


LIBRARY = Library()


def array(device=0, dtype="float32"):
    return View(None, 4096 * (device + 1), (10, 4), np.dtype(dtype), LIBRARY, device)


@pytest.fixture
def core(monkeypatch):
    made = Core()
    made.compiled = []

    def machine_code(*key):
        made.compiled.append(key)
        return b"", f"kernel {key[0].py_func.__name__}", {"registers": 8}

    monkeypatch.setattr(launcher, "_core", lambda: made)
    monkeypatch.setattr(launcher, "modules", {})
    monkeypatch.setattr(launcher, "machine_code", machine_code)
    for kept in (launcher._config, launcher._stream, launcher._is_only_gpu):
        kept.cache_clear()
    yield made
    for kept in (launcher._config, launcher._stream, launcher._is_only_gpu):
        kept.cache_clear()


def test_pointers_and_numbers_arrive_on_the_arrays_stream(core):
    launcher.launch(_copy, 40, array(), 40, array())
    assert core.launches == [(0, 100, (1, 256), "kernel _copy", (4096, 40, 4096))]
    assert core.compiled == [(_copy, ("float32*", "int64", "float32*"), (9, 0))]


def test_a_kernel_is_compiled_once_for_its_types_and_device(core):
    for _ in range(3):
        launcher.launch(_copy, 40, array(), 40, array())
    launcher.launch(_copy, 40, array(dtype="float16"), 40, array())
    launcher.launch(_copy, 40, array(1), 40, array(1))
    assert [key[1][0] for key in core.compiled] == ["float32*", "uint16*", "float32*"]


def step_by(number):
    """A step of a package that is not lodkit's, for a template that is."""
    return launcher.device(lambda x, y: simd.add(x, simd.mul(y, simd.like(y, number))))


def test_steps_of_other_packages_are_part_of_the_code_on_disk():
    one, same, other = (fingerprint(map_kernel(step_by(number))) for number in (1, 1, 2))
    assert one == same != other


def test_what_was_launched_can_be_inspected(core, monkeypatch, tmp_path):
    monkeypatch.setenv("LODKIT_CACHE_DIR", str(tmp_path))
    assert inspecting.functions_of(_copy.py_func.__code__) == inspecting.signatures_of(_copy) == []
    for device in (0, 1):
        launcher.launch(_copy, 40, array(device), 40, array(device))
    assert inspecting.functions_of(_copy.py_func.__code__) == [_copy]
    (signature,) = inspecting.signatures_of(_copy)
    assert signature == ("float32*", "int64", "float32*", (9, 0))
    assert inspecting.report_of(_copy, signature) == {"registers": 8}
    assert inspecting.entry_of(_copy, signature) is None
    os.chmod(tmp_path, 0o700)
    entry = tmp_path / launcher.name_of_entry(_copy, signature[:-1], signature[-1])
    entry.write_bytes(b"")
    assert inspecting.entry_of(_copy, signature) == str(entry)
    with pytest.raises(ValueError, match="there is no code of LLVM to show for a kernel of a GPU"):
        inspecting.text_of(_copy, signature, "llvm")
    monkeypatch.setattr(launcher, "ptx_of", lambda *key: f"{key}")
    assert inspecting.text_of(_copy, signature, "asm") == str((_copy, signature[:-1], launcher.GENERATION))


def test_the_arrays_device_is_current_for_the_launch_only(core):
    launcher.launch(_copy, 40, array(1), 40, array(1))
    device, stream, *_ = core.launches[0]
    assert (device, stream, core.current) == (1, 101, 0)


@pytest.mark.parametrize("gpus", [1, 2])
def test_the_stream_of_a_device_is_waited_for(core, gpus):
    core.system = types.SimpleNamespace(num_devices=gpus)
    launcher.launch(_copy, 40, array(), 40, array())
    for device in range(gpus):
        launcher.wait(LIBRARY, device)
    assert core.waits == [(0, 100), (1, 101)][:gpus]
    assert core.current == 0


@pytest.mark.parametrize("fails", [False, True])
def test_the_hosts_numbers(core, fails, monkeypatch):
    """Memory of the driver's, on the device of the array: what a kernel writes there NumPy's array has."""
    memory, asked = (ctypes.c_int64 * 8)(), []

    def allocate(size, flags):
        asked.append((size, flags, core.current))
        return result.no if fails else result.yes, ctypes.addressof(memory)

    result = types.SimpleNamespace(yes=0, no=types.SimpleNamespace(name="CUDA_ERROR_OUT_OF_MEMORY"))
    driver = types.SimpleNamespace(
        CU_MEMHOSTALLOC_PORTABLE=1,
        CU_MEMHOSTALLOC_DEVICEMAP=2,
        CUresult=types.SimpleNamespace(CUDA_SUCCESS=result.yes),
        cuMemHostAlloc=allocate,
        cuMemHostGetDevicePointer=lambda pointer, flags: (result.yes, pointer + 1024),
    )
    monkeypatch.setattr(bindings, "driver", driver, raising=False)
    monkeypatch.setitem(sys.modules, "cuda.bindings.driver", driver)
    if fails:
        with pytest.raises(DeviceError, match="no memory for a GPU to write to"):
            host_numbers(LIBRARY, 8, 1)
        return
    view, numbers = host_numbers(LIBRARY, 8, 1)
    assert asked == [(64, 3, 1)]
    assert core.current == 0
    assert (view.pointer, view.shape, view.device) == (ctypes.addressof(memory) + 1024, (8,), 1)
    assert numbers.tolist() == [-1] * 8
    memory[5] = 7
    assert numbers[5] == 7


def test_grids_fill_the_gpu_and_no_more(core):
    for threads, exact, blocks in ((1, False, 1), (256, False, 1), (257, False, 2), (1 << 40, False, 132 * 8)):
        launcher.launch(_copy, threads, array(), 40, array(), exact=exact)
        assert core.launches[-1][2] == (blocks, 256)
    launcher.launch(_copy, 1 << 20, array(), 40, array(), exact=True)
    assert core.launches[-1][2] == (4096, 256)
    count = len(core.launches)
    launcher.launch(_copy, 0, array(), 0, array())
    assert len(core.launches) == count


def test_threads_that_come_at_once_compile_once(core, monkeypatch):
    gate = threading.Barrier(4)

    def run():
        gate.wait()
        launcher.launch(_copy, 40, array(), 40, array())

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(core.compiled) == 1
    assert len(core.launches) == 4


def test_what_is_no_array_or_number_is_refused(core):
    with pytest.raises(TypeError, match="a kernel takes arrays"):
        launcher.launch(_copy, 40, array(), 1.5, array())


def test_without_the_packages_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "cuda.core", None)
    with pytest.raises(DeviceError, match=r"lodkit\[cuda\]"):
        launcher.launch(_copy, 40, array(), 40, array())
    monkeypatch.setattr(private_numba, "extending", None)
    with pytest.raises(DeviceError, match=r"lodkit\[cuda\]"), private_numba.compiling_for((9, 0)):
        pass


@pytest.mark.skipif(not hasattr(launcher.cuda, "compile_ptx"), reason="needs the compiler")
def test_machine_code_is_kept_on_disk(tmp_path, monkeypatch):
    pytest.importorskip("nvidia")
    monkeypatch.setenv("LODKIT_CACHE_DIR", str(tmp_path / "cache"))
    names = ("float32*", "int64", "float32*")
    first = launcher.machine_code(_copy, names, (9, 0))
    compiled = launcher._compile
    monkeypatch.setattr(launcher, "_compile", None)
    assert launcher.machine_code(_copy, names, (9, 0)) == first
    monkeypatch.setattr(launcher, "_compile", compiled)
    (entry,) = (tmp_path / "cache").iterdir()
    entry.write_bytes(entry.read_bytes()[:-50])
    assert launcher.machine_code(_copy, names, (9, 0))[0][:4] == b"\x7fELF"
