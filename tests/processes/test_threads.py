"""Parallel kernels called from several threads and from forked children, under every threading layer."""

from __future__ import annotations

import os

import pytest
from kernel_package import ROOT

layers = pytest.mark.parametrize("layer", ["workqueue", "omp", "tbb"])
needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")


@layers
def test_the_first_calls_come_from_four_threads_at_once(run_threads, layer):
    assert run_threads("print(joined(*together()), numba.threading_layer())", layer) == ["True", layer]


@layers
def test_first_calls_with_a_number_of_threads_meet(run_threads, layer):
    code = """
    numba.get_num_threads()
    def work():
        for n in range(2, 33):
            barrier.wait()
            set_num_threads(n)
            good.append(call())
    barrier, good = threading.Barrier(8), []
    threads = [threading.Thread(target=work) for _ in range(8)]
    for t in threads: t.start()
    for t in threads: t.join()
    print(len(good), all(good))
    """
    assert run_threads(code, layer, NUMBA_NUM_THREADS="32")[-2:] == ["248", "True"]


@needs_fork
@layers
def test_children_forked_before_and_after_the_first_call(run_threads, layer):
    code = """
    child = in_child(call)
    here = call()
    print(child, here, in_child(call), in_child(lambda: in_child(call)), call())
    """
    assert run_threads(code, layer) == ["True"] * 5


@needs_fork
@layers
def test_children_forked_while_four_threads_call(run_threads, layer):
    code = """
    call()
    running = together(times=200)
    children = [in_child(call) for _ in range(5)]
    print(all(children), joined(*running), call())
    """
    # Numba's TBB layer says on stdout that it could not stop its threads before the fork.
    assert run_threads(code, layer)[-3:] == ["True"] * 3


@needs_fork
@layers
def test_children_forked_by_another_thread(run_threads, layer):
    code = """
    call()
    results = []
    thread = threading.Thread(target=lambda: results.append(in_child(call)))
    thread.start()
    thread.join()
    print(*results, call())
    """
    assert run_threads(code, layer)[-2:] == ["True"] * 2


@needs_fork
@layers
def test_four_threads_in_a_forked_child(run_threads, layer):
    assert run_threads("call(); print(in_child(lambda: joined(*together())))", layer) == ["True"]


def test_as_many_threads_as_were_allowed_share_a_call(run_threads):
    code = """
    print(shares(), get_num_threads())
    for n in (1, 3, 2, 4):
        set_num_threads(n)
        print(shares(), get_num_threads())
    """
    assert run_threads(code) == ["4", "4", "1", "1", "3", "3", "2", "2", "4", "4"]
    assert run_threads("print(shares(), get_num_threads())", NUMBA_NUM_THREADS="1") == ["1", "1"]


def test_a_limit_leaves_what_numba_was_told_as_it_was(run_threads):
    code = """
    call()
    set_num_threads(3)
    print(call(), numba.get_num_threads())
    numba.set_num_threads(2)
    print(get_num_threads(), shares())
    numba.set_num_threads(1)
    print(get_num_threads(), shares())
    """
    assert run_threads(code) == ["True", "4", "2", "2", "1", "1"]


def test_numbers_of_threads_that_there_are_not(run_threads):
    code = """
    for n in (0, 5, -1, 1.5):
        try:
            set_num_threads(n)
        except (TypeError, ValueError) as error:
            print(type(error).__name__)
    """
    assert run_threads(code) == ["ValueError", "ValueError", "ValueError", "TypeError"]


def test_a_call_from_inside_a_parallel_call_runs_serially_under_workqueue(run_threads):
    code = """
    from lodkit.jit.threading_layer import run
    seen = []
    run(lambda: seen.extend([shares(), shares()]), ())
    print(*seen, shares())
    """
    assert run_threads(code, "workqueue") == ["4", "1", "4"]


def test_work_decides(run_threads):
    code = """
    for size in (jit.settings.parallel_from - 1, jit.settings.parallel_from):
        firsts = np.zeros(64, np.int64)
        tell_shares(size, firsts)
        print(len(set(firsts)))
    """
    assert run_threads(code) == ["1", "4"]


def test_where_only_workqueue_can_be_loaded(run_threads, tmp_path):
    (tmp_path / "sitecustomize.py").write_text(
        "import sys\nfor layer in ('omp', 'tbb'): sys.modules[f'numba.np.ufunc.{layer}pool'] = None\n"
    )
    path = os.pathsep.join([str(ROOT), str(tmp_path)])
    code = "print(joined(*together()), numba.threading_layer())"
    assert run_threads(code, PYTHONPATH=path) == ["True", "workqueue"]


@needs_fork
@layers
def test_where_fork_has_no_hooks(run_threads, layer, tmp_path):
    (tmp_path / "sitecustomize.py").write_text("import os, random\ndel os.register_at_fork\n")
    path = os.pathsep.join([str(ROOT), str(tmp_path)])
    code = "print(call(), in_child(call), joined(*together(times=5)), hasattr(os, 'register_at_fork'))"
    assert run_threads(code, layer, PYTHONPATH=path) == ["True", "True", "True", "False"]


@pytest.mark.parametrize(("layer", "threads"), [("omp", 4), ("workqueue", 1)])
def test_beside_a_loop_of_the_users_own(run_threads, layer, threads):
    """As docs/reliability.md says: under workqueue with more threads of lodkit's, Numba ends the process."""
    code = f"""
    import lodkit
    import numba
    import numpy as np
    lodkit.set_num_threads({threads})

    @numba.njit(parallel=True)
    def mine(a):
        s = 0.0
        for i in numba.prange(len(a)):
            s += a[i]
        return s

    a, x = np.ones(1_000_000), lodkit.LoDTensor(np.ones(1_000_000), [[500_000] * 2])

    def theirs():
        return lodkit.sequence_pool(x).sum()

    def loop():
        return mine(a)

    found = [loop(), theirs()]
    both = [threading.Thread(target=lambda f=f: [found.append(f()) for _ in range(30)]) for f in (theirs, loop)]
    [thread.start() for thread in both], [thread.join() for thread in both]
    print(len(found), {{int(x) for x in found}} == {{1_000_000}})
    """
    assert run_threads(code, layer) == ["62", "True"]
