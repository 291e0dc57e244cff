"""How kernels are compiled, and which of two twins runs."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap

import kernel_package
import pytest
from kernel_package import ROOT, run


def test_without_a_compiler_everything_is_plain_python(kit):
    code = """
    out = np.empty_like(x)
    kernels.doubled(0, x, out)
    kernels.doubled(1 << 40, x, out)
    print(kernels.add(x), out.sum(), kernels.doubled.serial is kernels.doubled.py_func)
    """
    assert run(kit, code, NUMBA_DISABLE_JIT="1") == ["6.0", "12.0", "True"]
    assert not (kit / "cache").exists()


def test_decoration_compiles_and_opens_nothing(kit):
    code = """
    print(kernels.add.signatures, kernels.doubled.serial.signatures, kernels.doubled.parallel.signatures)
    """
    assert run(kit, code) == ["[]", "[]", "[]"]
    assert not (kit / "cache").exists()


def test_warmup_compiles_both_twins(kit):
    code = """
    import lodkit
    class Op:
        def warmup_calls(self, dtype):
            a = np.ones(3, dtype)
            yield lambda: kernels.doubled(a.size, a, a.copy())
    lodkit.warmup(Op(), ("float32", "float64"))
    lodkit.warmup(Op(), "int32")
    print(len(kernels.doubled.serial.signatures), len(kernels.doubled.parallel.signatures))
    from lodkit.jit import settings
    print(settings.parallel_from)
    """
    assert run(kit, code, NUMBA_NUM_THREADS="2") == ["3", "3", str(1 << 16)]


def test_kernels_divide_as_numpy_does_and_release_the_gil(kit):
    code = """
    from lodkit.jit import jitable, njit
    @jitable
    def divide(a, b):
        return a / b
    @njit
    def kernel(a, b):
        return divide(a, b)
    print(kernel(1.0, 0.0), kernel.targetoptions["nogil"])
    """
    assert run(kit, code) == ["inf", "True"]


def test_only_a_prange_is_parallel(kit):
    code = """
    from lodkit.jit import njit, prange, parallel_kernel
    @parallel_kernel
    def total(x, out):
        for i in prange(out.size):
            out[i] = 0
        out[0] = np.sum(np.sqrt(x) * x)
    results = set()
    for dtype in ("f4", "f8", "i8"):
        for threads in (1, 2, 3, 4):
            import numba
            numba.set_num_threads(threads)
            big, out = np.arange(1 << 17).astype(dtype) % 1009, np.empty(2)
            for twin in (total.serial, total.parallel):
                twin(big, out)
                results.add((dtype, out[0]))
    print(len(results))
    """
    assert run(kit, code, NUMBA_NUM_THREADS="4") == ["3"]


@pytest.mark.jit
def test_a_second_process_compiles_nothing():
    """Every kernel of the package comes from the disk: no closure in it is told apart by an address."""
    code = """
    import lodkit
    from numba.core import event
    from samples import SAMPLES

    names = "embedding_bag embedding_bag_grad sequence_pool sequence_pool_grad segment_reduce merge_selected_rows"
    names += " adagrad embedding_bag_adagrad sequence_softmax sequence_attention quantized_embedding_bag"
    with event.install_recorder("numba:compile") as compiled:
        for lodkit.jit.settings.parallel_from in (0, 1 << 60):
            for name in names.split():
                inputs, attrs = SAMPLES[name][0]
                lodkit.OPS[name](*inputs, **attrs)
    print(sorted({str(e.data["dispatcher"]) for _, e in compiled.buffer}))
    """
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), os.path.dirname(kernel_package.__file__)])}
    command = [sys.executable, "-c", textwrap.dedent(code)]
    outs = [subprocess.run(command, capture_output=True, text=True, check=True, env=env) for _ in range(2)]
    assert outs[1].stdout.strip() == "[]"
