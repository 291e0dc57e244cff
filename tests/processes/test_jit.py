"""How kernels are compiled, and when threads share their iterations."""

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
    print(kernels.add(x), out.sum(), kernels.doubled.compiled is kernels.doubled.py_func)
    """
    assert run(kit, code, NUMBA_DISABLE_JIT="1") == ["6.0", "12.0", "True"]
    assert not (kit / "cache").exists()


def test_decoration_compiles_and_opens_nothing(kit):
    code = """
    print(kernels.add.signatures, kernels.doubled.compiled.signatures)
    """
    assert run(kit, code) == ["[]", "[]"]
    assert not (kit / "cache").exists()


def test_warmup_compiles_each_kernel_once(kit):
    code = """
    import lodkit
    class Op:
        name = "doubled"

        def warmup_calls(self, dtype):
            a = np.ones(3, dtype)
            yield lambda: kernels.doubled(a.size, a, a.copy())
    lodkit.warmup(Op(), ("float32", "float64"))
    lodkit.warmup(Op(), "int32")
    print(len(kernels.doubled.compiled.signatures))
    from lodkit.jit import settings
    print(settings.parallel_from)
    """
    assert run(kit, code, NUMBA_NUM_THREADS="2") == ["3", str(1 << 16)]


def test_warmup_compiles_kernels_that_prefetch_too(kit):
    code = """
    import lodkit
    from lodkit.jit import cache, settings
    usual, names = vars(settings).copy(), []
    cache.watchers.append(lambda event, name: names.append(name))
    lodkit.warmup("embedding_bag")
    print(len(names) > 0, vars(settings) == usual)
    names.clear()
    settings.fetch_from, settings.near_bytes, settings.mid_bytes, settings.parallel_from = 0, -1, -1, 0
    for call in lodkit.OPS["embedding_bag"].warmup_calls(np.dtype("float32")):
        call()
    print(names)
    """
    assert run(kit, code, NUMBA_NUM_THREADS="2") == ["True", "True", "[]"]


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


SHARED = """
from lodkit.jit import parallel_kernel, prange, set_num_threads
"""


def test_garbage_waits_while_a_function_is_compiled(kit):
    """And is collected again afterwards, after an error too, unless the caller does not want it."""
    code = """
    import gc
    from lodkit.jit import cache, njit
    during = []
    before = gc.get_threshold()
    cache.watchers.append(lambda event, name: during.append(gc.get_threshold()[0]))
    kernels.add(x)
    print(during, gc.get_threshold() == before)
    try:
        njit(lambda a: a.no_such_name)(x)
    except Exception:
        print(gc.get_threshold() == before)
    gc.set_threshold(123, 4, 5)
    kernels.doubled(0, x, x.copy())
    print(gc.get_threshold(), gc.isenabled())
    """
    assert " ".join(run(kit, code)) == "[0, 0] True True (123, 4, 5) True"


def test_garbage_is_collected_in_a_child_that_is_forked_meanwhile(kit):
    code = """
    import gc, os, threading
    from lodkit.base.garbage import uncollected
    before, inside, leave = gc.get_threshold(), threading.Event(), threading.Event()
    def hold():
        with uncollected():
            inside.set()
            leave.wait()
    thread = threading.Thread(target=hold)
    thread.start()
    inside.wait()
    with uncollected():
        pass
    print(gc.get_threshold()[0])
    if not (child := os.fork()):
        with uncollected():
            pass
        os._exit(gc.get_threshold() != before)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    leave.set()
    thread.join()
    print(gc.get_threshold() == before)
    """
    assert run(kit, code) == ["0", "0", "True"]


def test_each_iteration_runs_once(kit):
    """In one thread, beside its neighbours: no thread's share is larger than it must be."""
    code = """
    @parallel_kernel
    def count(runs, starts):
        start = -1
        for i in prange(len(runs)):
            if start < 0:
                start = i
            runs[i] += 1
            starts[i] = start
    for n in (0, 1, 2, 3, 4, 5, 7, 1000):
        for threads in (1, 2, 3, 4):
            set_num_threads(threads)
            runs, starts = np.zeros(n, np.int64), np.zeros(n, np.int64)
            count(1 << 40, runs, starts)
            _, sizes = np.unique(starts, return_counts=True)
            print((runs == 1).all() and (np.diff(starts) >= 0).all() and max(sizes, default=0) == -(-n // threads))
    """
    assert run(kit, SHARED + textwrap.dedent(code), NUMBA_NUM_THREADS="4") == ["True"] * 32


def test_threads_return_the_largest_result(kit):
    code = """
    @parallel_kernel
    def largest(x):
        found = -1000
        for i in prange(len(x)):
            found = max(found, x[i])
        return found

    @parallel_kernel
    def any_above(x, limit):
        found = False
        for i in prange(len(x)):
            found |= x[i] > limit
        return found

    x = np.arange(100)
    calls = (largest, x - 500), (largest, x[:1]), (largest, x[:0]), (any_above, x, 98), (any_above, x, 99)
    for kernel, *args in calls:
        print(*{kernel(1 << 40, *args) for threads in (1, 2, 3, 4) if not set_num_threads(threads)})
    """
    lines = run(kit, SHARED + textwrap.dedent(code), NUMBA_NUM_THREADS="4")
    assert lines == ["-401", "0", "-1000", "True", "False"]


def test_threads_raise_the_error_of_the_first_iterations(kit):
    code = """
    @parallel_kernel
    def check(x, limit):
        for i in prange(len(x)):
            if x[i] > limit:
                raise ValueError(x[i])

    for limit in (0, 30, 60, 98, 99):
        for threads in (1, 2, 3, 4):
            set_num_threads(threads)
            try:
                check(1 << 40, np.arange(100), limit)
                print("none")
            except ValueError as error:
                print(error)
    """
    expected = [str(limit + 1) if limit < 99 else "none" for limit in (0, 30, 60, 98, 99) for _ in range(4)]
    assert run(kit, SHARED + textwrap.dedent(code), NUMBA_NUM_THREADS="4") == expected


def test_what_is_no_parallel_kernel_is_refused(kit):
    code = """
    import numba
    from lodkit.jit import jitable

    def none(x):
        x[0] = 1

    def two(x):
        for i in prange(len(x)):
            x[i] = 1
        for i in prange(len(x)):
            x[i] += 1

    def in_a_loop(x):
        for _ in range(2):
            for i in prange(len(x)):
                x[i] += 1

    def of_numba(x):
        for i in numba.prange(len(x)):
            x[i] = 1

    def made():
        from numba import prange
        def of_a_closure(x):
            for i in prange(len(x)):
                x[i] = 1
        return of_a_closure

    def total(x):
        total = 0.0
        for i in prange(len(x)):
            total += x[i]
        return total

    def unsigned(x):
        for i in prange(len(x)):
            x[i] = 1
        return np.uint8(200)

    @jitable
    def fill(x):
        for i in prange(len(x)):
            x[i] = 1

    def within(x):
        for i in prange(1):
            fill(x)

    def of_numbers(x):
        for i in prange(2.7):
            x[i] = 1

    for function in (none, two, of_numba, made(), total, unsigned, in_a_loop, within, of_numbers):
        x = np.zeros(3)
        try:
            parallel_kernel(function)(1, x)
            print(function.__name__)
        except numba.TypingError as error:
            lines = [line for line in str(error).splitlines() if "a parallel" in line or "prange takes" in line]
            print(lines[0].strip().replace(" ", "_"), not x.any())
    """
    found = run(kit, SHARED + textwrap.dedent(code))
    loops = "a_parallel_kernel_has_one_loop_over_lodkit.jit.prange,_not_{}:_make_each_a_kernel"
    returned = "a_parallel_kernel_returns_nothing,_a_boolean_or_a_signed_integer,_not_{}"
    within = "only_a_parallel_kernel_loops_over_prange:_what_it_calls_would_do_a_part_of_its_work"
    numbers = "TypingError:_prange_takes_an_integer,_not_float64"
    expected = [*(loops.format(n) for n in (0, 2, "Numba's", "Numba's")), *map(returned.format, ("float64", "uint8"))]
    nested = "a_parallel_kernel_has_its_loop_over_prange_in_no_other_loop:_call_it_in_a_loop"
    assert found[1::2] == ["True"] * 9
    assert found[::2] == [*expected, nested, within, numbers]


def test_what_a_loop_calls_does_all_of_its_work(kit):
    """A jitted function over prange, which is no part of the kernel."""
    code = """
    import numba
    @numba.njit
    def add_one(x):
        for i in prange(len(x)):
            x[i] += 1

    @parallel_kernel
    def kernel(x):
        for i in prange(len(x)):
            add_one(x[i])

    x = np.zeros((16, 16))
    kernel(1 << 40, x)
    print((x == 1).all())
    """
    assert run(kit, SHARED + textwrap.dedent(code), NUMBA_NUM_THREADS="4") == ["True"]


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
