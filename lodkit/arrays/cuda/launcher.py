"""Compiling and launching CUDA kernels.

A kernel is a plain ``@cuda.jit`` function over flat memory, which a notebook may launch as usual. Operators take a
shorter path: Numba compiles it for raw pointers, once per combination of types and compute capability, the machine code
is kept on disk, and ``cuda.core`` launches it on the caller's stream. That took 7 us beside an H100, and without a
driver 1 to 5, where Numba's own launch took 43 to 118.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import json
import re
import threading
import types
from typing import Any

import numba
import numpy as np

from ...base.errors import DeviceError
from ...jit.cache import entry_name, failing_softly, load, store
from ...jit.fingerprint import fingerprint
from .private_numba import INSTALL, compiling_for, cuda, extending, is_missing_library, version
from .private_numba import types as numba_types
from .views import View

__all__ = ["BLOCK", "cuda", "device", "extending", "launch", "numba_types"]

BLOCK = 256
BLOCKS_EACH = 8  # blocks per multiprocessor that fill it
_FORMAT = "lodkit cuda 4"
# Kernels use nothing newer: Numba compiles for it, the linker for the GPU at hand.
GENERATION = 8, 0
# Numba's compiler is not thread-safe at its first launch.
_lock = threading.RLock()
_thread = threading.local()
#: By kernel, device and types of arguments: what launches take.
modules: dict[tuple, types.SimpleNamespace] = {}


def device(function):
    """Compile a device function, inlined into kernels."""
    return cuda.jit(function, device=True, forceinline=True)


def elementwise(body):
    """Make ``call(n, *args)``, which launches a kernel of ``body(i, *args)`` for every i below n.

    ``call.into(out, *args)`` does so for every element of ``out``, the last argument of the body, and returns it.

    Parameters
    ----------
    body : function
        A plain function, compiled for the device; its other parameters are those of ``launch``.
    """
    names = ", ".join(inspect.signature(body).parameters).partition(", ")[2]
    scope = {"cuda": cuda, "body": device(body), "__name__": body.__module__}
    # Kernels take a fixed number of arguments: the loop is written for as many as the body has.
    exec(
        f"def {body.__name__}(_n, {names}):\n    _i = cuda.grid(1)\n    while _i < _n:\n"
        f"        body(_i, {names})\n        _i += cuda.gridsize(1)\n",
        scope,
    )
    kernel = cuda.jit(scope[body.__name__])

    @functools.wraps(body)
    def call(n, *args):
        launch(kernel, n, n, *args)

    def into(out, *args):
        launch(kernel, out.size, out.size, *args, out)
        return out

    call.kernel, call.into = kernel, into  # type: ignore[attr-defined]
    return call


def launch(kernel, threads, *args, block=BLOCK, exact=False):
    """Launch a kernel on the device and the current stream of its first array.

    Parameters
    ----------
    kernel : function under ``@cuda.jit``
    threads : int
        Number of work items; nothing is launched for none. The grid is no larger than fills the GPU, so kernels
        stride by ``cuda.gridsize(1)``.
    *args : View, int or NumPy scalar
        Arrays, as pointers to their elements (float16 as uint16 bits), and numbers.
    block : int
        Threads per block.
    exact : bool
        Launch one thread per work item, however large the grid.
    """
    if threads > 0:
        runner(kernel, -(-threads // block), block, args, exact)


def _device_error(args):
    places = {(a.library, a.device) for a in args if type(a) is View}
    names = sorted(f"{type(library).__name__} cuda:{device}" for library, device in places)
    return DeviceError(f"arrays of one call are of {' and '.join(names)}; bring them to one device and library")


def pass_arguments(args):
    """The library and the device of the arrays among a kernel's arguments; types and values as they are passed.

    Raises DeviceError unless all arrays share them.
    """
    first: Any = None
    kinds: list[Any] = []
    values: list[Any] = []
    # One loop takes 1.1 us, three 2.0.
    for a in args:
        if type(a) is View:
            if first is None:
                first = a
            elif a.library is not first.library or a.device != first.device:
                raise _device_error(args)
            kinds.append(a.type_name)
            values.append(a.pointer)
        else:
            # The name of the type takes longer.
            kinds.append(type(a))
            values.append(a)
    return first.library, first.device, kinds, values


def _launch_on_device(kernel, blocks, block, args, exact):
    library, device, kinds, values = pass_arguments(args)
    key = kernel, device, *kinds
    found = modules.get(key) or _load(key, args)
    if not exact:
        blocks = min(blocks, found.most_blocks)
    config, stream = _config(blocks, block), _stream(library.stream(device))
    if not hasattr(_thread, "ready"):
        # A thread without a context reports device 0, and cannot launch.
        found.current().set_current()
        _thread.ready = True
    if found.alone:
        found.launch(stream, config, found.kernel, *values)
        return
    before = found.current()
    if before.device_id == device:
        found.launch(stream, config, found.kernel, *values)
        return
    found.device.set_current()
    try:
        found.launch(stream, config, found.kernel, *values)
    finally:
        before.set_current()


#: Carries out launches; tests put an emulator here.
runner = _launch_on_device

_NUMBERS = {np.dtype(name).type: name for name in "float32 float64 int32 int64 uint8 uint16 uint32 uint64".split()}
_NUMBERS[int] = "int64"


def type_name(x):
    """Type of an argument: ``float32*`` for an array, ``int64`` for a number."""
    if type(x) is View:
        return x.type_name
    # The dtype's name serves types of two names, as long long.
    name = _NUMBERS.get(type(x)) or (isinstance(x, np.generic) and x.dtype.name)
    if name:
        return name
    raise TypeError(f"a kernel takes arrays, integers and NumPy scalars, as np.float64(0.5), got {x!r}")


@functools.lru_cache(1024)
def _config(blocks, block):
    return _core().LaunchConfig(grid=blocks, block=block)


@functools.lru_cache(64)
def _stream(handle):
    return _core().Stream.from_handle(handle)


def _load(key, args):
    """Load the machine code of a kernel for one device and the types of its arguments."""
    (kernel, device_id, *_), names = key, tuple(map(type_name, args))
    with _lock:
        if key not in modules:
            core = _core()
            device = core.Device(device_id)
            capability = tuple(device.compute_capability)
            code, entry, report = machine_code(kernel, names, capability)
            with current(device_id):
                found = core.ObjectCode.from_cubin(code).get_kernel(entry)
            modules[key] = types.SimpleNamespace(
                kernel=found,
                device=device,
                current=core.Device,
                launch=core.launch,
                most_blocks=BLOCKS_EACH * device.properties.multiprocessor_count,
                alone=_is_only_gpu(),
                names=names,
                capability=capability,
                report=report,
            )
        return modules[key]


@contextlib.contextmanager
def current(device):
    """A context in which a device is current."""
    before, there = _core().Device(), _core().Device(device)
    there.set_current()
    try:
        yield
    finally:
        before.set_current()


def wait(library, device):
    """Wait for the current stream of a device."""
    stream = _stream(library.stream(device))
    if _is_only_gpu() and hasattr(_thread, "ready"):
        stream.sync()
    else:
        with current(device):
            stream.sync()


@functools.cache
def _is_only_gpu():
    """True if there is one GPU, as far as that can be known: NVML may be missing, which some releases ask."""
    try:
        system = _core().system  # in cuda.core 1, or under another name before
        return (system.get_num_devices() if hasattr(system, "get_num_devices") else system.num_devices) == 1
    except Exception:
        return False


def _core():
    try:
        import cuda.core as core
    except ImportError as error:
        raise DeviceError(INSTALL) from error
    return core


def machine_code(kernel, names, capability):
    """Compile a kernel, or read it from disk.

    Parameters
    ----------
    kernel : function under ``@cuda.jit``
    names : sequence of str
        The types of its arguments, as ``type_name`` gives them.
    capability : tuple of int
        The compute capability: ``(9, 0)``. No driver and no GPU is needed.

    Returns
    -------
    code : bytes
        A cubin.
    entry : str
        The kernel's name in it.
    report : dict
        From the compiler: ``registers`` per thread, ``stack`` and ``spills`` in bytes; counted in the PTX:
        ``wide_loads`` (of 16 bytes), ``doubles`` (float64 instructions) and ``fused`` (multiply-adds of floats).
    """
    name = None
    with failing_softly():
        name = name_of_entry(kernel, names, capability)
        payload = load(name)
        if payload:
            facts, _, code = payload.partition(b"\n")
            return code, *json.loads(facts)
    made = _compile(kernel, names, capability)
    if name:
        with failing_softly():
            code, *facts = made
            store(name, json.dumps(facts).encode() + b"\n" + code)
    return made


def name_of_entry(kernel, names, capability):
    """File name of the cache's entry for a kernel, the types of its arguments and a compute capability."""
    return entry_name(_FORMAT, numba.__version__, version(), names, capability, fingerprint(kernel))


@functools.lru_cache(1)  # machine code for one generation after another
def ptx_of(kernel, names, capability):
    """The code of a kernel before it is linked for a GPU: text of PTX."""
    with _lock, compiling_for(capability):
        kinds = tuple(_numba_type(name) for name in names)
        try:
            return cuda.compile_ptx(kernel.py_func, kinds, cc=capability, launch_bounds=BLOCK)[0]
        except Exception as error:
            if is_missing_library(error):
                raise DeviceError(f"a CUDA library is missing ({error}); {INSTALL}") from error
            raise


def _compile(kernel, names, capability):
    core = _core()
    ptx = ptx_of(kernel, names, min(capability, GENERATION))
    code, log = _link(core, ptx, f"sm_{capability[0]}{capability[1]}")
    registers = re.search(r"Used (\d+) registers", log)
    report = {
        "registers": int(registers.group(1)) if registers else None,
        "stack": sum(map(int, re.findall(r"(\d+) bytes stack frame", log))),
        "spills": sum(map(int, re.findall(r"(\d+) bytes spill", log))),
        "wide_loads": len(re.findall(r"ld\.global\S*\.v4\.[fu]32|ld\.global\S*\.v2\.[fu]64", ptx)),
        "doubles": len(re.findall(r"\.f64\b", ptx)),
        "fused": len(re.findall(r"\bfma\.rn", ptx)),
    }
    return code, re.findall(r"\.entry\s+([\w$]+)", ptx)[0], report


def _link(core, ptx, arch):
    """Machine code and the linker's log, which is empty if the driver links: it knows no such options."""
    source = core.ObjectCode.from_ptx(ptx.encode())
    try:
        linker = core.Linker(source, options=core.LinkerOptions(arch=arch, verbose=True, ptxas_options=["-v"]))
        return bytes(linker.link("cubin").code), linker.get_info_log()
    except ValueError:
        return bytes(core.Linker(source, options=core.LinkerOptions(arch=arch)).link("cubin").code), ""


def _numba_type(name):
    scalar = getattr(numba_types, name.rstrip("*"))
    return numba_types.CPointer(scalar) if name.endswith("*") else scalar
