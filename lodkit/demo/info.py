"""What a bug report needs: ``python -m lodkit info``."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import warnings

from ..base.errors import DeviceError
from .process import GIVEN

LIBRARIES = (
    *("awkward", "cuda-core", "cupy", "duckdb", "matplotlib", "numba-cuda", "pandas", "polars", "protobuf", "pyarrow"),
    *("safetensors", "scipy", "tbb", "torch"),
)
QUOTA = "/sys/fs/cgroup/cpu.max"
# GNU OpenMP's default is 300,000, 7 ms (znver4).
LONG_SPINS = 100_000
VARIABLES = ("LODKIT_", "NUMBA_", "OMP_", "GOMP_", "KMP_", "OPENBLAS_", "MKL_", "CUDA_VISIBLE", "XDG_CACHE_HOME")


def report():
    """Return a line per fact, and behind them one per setting that costs time; what cannot be told says why."""
    facts = {
        "lodkit": _lodkit,
        "Python": _python,
        "NumPy": lambda: importlib.metadata.version("numpy"),
        "Numba": _numba,
        "CPU": _cpu,
        "threads": _threads,
        "BLAS": _blas,
        "cache": _cache,
        "GPU": _gpu,
        "libraries": _libraries,
        "environment": _environment,
    }
    found = [(name, _collect(tell)) for name, tell in facts.items()]
    costs = _collect(lambda: [*_costs()])
    found += [("costs", cost) for cost in ([costs] if isinstance(costs, str) else costs)]
    return "\n".join(f"{name:<12}{text}" for name, text in found)


def _collect(tell):
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return tell()
    except Exception as error:  # whatever is broken here is what the report is for
        return f"unknown ({type(error).__name__}: {error})".replace("\n", " ")


def _lodkit():
    import lodkit

    return f"{lodkit.__version__} in {os.path.dirname(lodkit.__file__)}"


def _python():
    return f"{platform.python_version()} ({platform.python_implementation()}), {platform.platform()}"


def _numba():
    versions = [importlib.metadata.version(name) for name in ("numba", "llvmlite")]
    from numba import config

    off = "; switched off by NUMBA_DISABLE_JIT" if config.DISABLE_JIT else ""  # type: ignore[attr-defined]
    return "{}, llvmlite {}".format(*versions) + off


def _cpu():
    import llvmlite.binding

    name = _processor()
    return f"{name} ({llvmlite.binding.get_host_cpu_name()}), {_cores()} of {os.cpu_count()} cores"


def _cores():
    """Number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _quota():
    """Cores whose time this process gets, by the limit of its container; all of them where there is none."""
    try:
        with open(QUOTA) as file:
            time, period = file.read().split()
        return min(_cores(), int(time) / int(period))
    except (OSError, ValueError):  # not on Linux, in another version of cgroups, or "max"
        return _cores()


def _processor():
    """Name of the CPU."""
    try:
        with open("/proc/cpuinfo") as file:
            for line in file:
                if line.startswith("model name"):
                    return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def _threads():
    from ..jit.threading_layer import get_num_threads, start

    try:
        layer = start()
    except ValueError as error:  # of Numba, where no layer can be loaded
        return f"none can be started: {error}"
    if not layer:
        return "1: kernels run serially"
    return f"{get_num_threads()}, threading layer {layer}"


def _blas():
    import numpy as np

    from ..jit.blas import find_openblas

    blas = np.__config__.show(mode="dicts")["Build Dependencies"]["blas"]  # type: ignore[attr-defined]
    held = "in operators within lodkit.set_num_threads" if find_openblas() else "its threads are left as they are"
    return f"{blas.get('name')} {blas.get('version')}, {held}"


def _costs():
    """Settings that cost time, each with its remedy."""
    from ..jit.blas import THREAD_PRODUCTS, find_openblas
    from ..jit.threading_layer import get_num_threads, start

    layer, threads, cores = start(), get_num_threads(), _quota()
    wait, spins = GIVEN.get("OMP_WAIT_POLICY", ""), GIVEN.get("GOMP_SPINCOUNT", "0")
    if layer == "omp" and wait.lower() == "active":
        yield f"OMP_WAIT_POLICY={wait}: threads that wait keep their cores from all others; leave it out"
    elif layer == "omp" and (not spins.isdigit() or int(spins) >= LONG_SPINS):
        yield f"GOMP_SPINCOUNT={spins}: threads that wait keep their cores from all others; leave it out"
    elif layer == "omp" and wait.lower() == "passive":
        yield f"OMP_WAIT_POLICY={wait}: each kernel has to wake threads that sleep; leave it out on a quiet machine"
    if layer == "workqueue":
        yield (
            "threading layer workqueue: of calls in several threads at once one shares its work, and a prange of yours "
            "ends the process; pip install tbb, or unset NUMBA_THREADING_LAYER where GNU OpenMP is installed"
        )
    if threads > cores:
        most = max(1, int(cores))
        yield f"{threads} threads on {cores:.3g} cores: they wait for each other; set NUMBA_NUM_THREADS={most}"
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
        given = GIVEN.get(name, "")
        if find_openblas() and given.isdigit():
            if 0 < int(given) < threads:
                yield (
                    f"{name}={given}: products of more than {2 * THREAD_PRODUCTS / 1e6:.0f} million multiplications "
                    f"use {given} of {threads} threads; leave it out, smaller ones use one thread as it is"
                )
            break


def _cache():
    from ..jit import cache

    try:
        path = cache.directory()
        found = cache.entries(path)
    except FileNotFoundError as error:
        return f"{error.filename}: not there yet" + _is_refused(os.path.dirname(error.filename))
    except OSError as error:
        return f"nothing is kept: {error}"
    kept = f"{len(found)} entries, {sum(size for _, size, _ in found) / 1e6:.1f} MB"
    return f"{path}: {kept}{_is_refused(path)}"


def _is_refused(path):
    """Whether a directory, or the first one above it that exists, may not be written to."""
    while not os.path.exists(path) and os.path.dirname(path) != path:
        path = os.path.dirname(path)
    return "" if os.access(path, os.W_OK) else f"; {path} cannot be written to, nothing is kept"


def _gpu():
    try:
        from ..arrays.cuda.private_numba import cuda, version
    except DeviceError as error:
        return f"none can be used: {error}"
    installed = f"numba-cuda {version() or 'is not installed'}"
    if not cuda.is_available():
        return f"none, or no driver; {installed}"
    found = [f"{_text(gpu.name)}, compute capability {'.'.join(map(str, gpu.compute_capability))}" for gpu in cuda.gpus]
    return "; ".join([*found, installed])


def _text(name):
    return name.decode() if isinstance(name, bytes) else name


def _libraries():
    found, missing = [], []
    for name in LIBRARIES:
        try:
            found.append(f"{name} {importlib.metadata.version(name)}")
        except importlib.metadata.PackageNotFoundError:
            missing.append(name)
    return f"{', '.join(found) or 'none'}; not found: {', '.join(missing) or 'none'}"


def _environment():
    found = [f"{name}={value}" for name, value in sorted(GIVEN.items()) if name.startswith(VARIABLES)]
    return " ".join(found) or "nothing set"
