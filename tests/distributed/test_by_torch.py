"""Processes of torch.distributed, by gloo, equal one process, bit for bit."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
import types

import numpy as np
import pytest
import scenarios
from mpirun import HERE, environment

SOME = ["sums", "errors", "groups", "every_kind", "every_type", "steps_of_attributes", "by_rounding"]

pytestmark = [pytest.mark.mpi, pytest.mark.jit]


def run(program, size, meeting, *arguments):
    """Run a program as ranks that meet at a file; each says that it is done."""
    running = [
        subprocess.Popen(
            [sys.executable, str(HERE / "programs" / program), str(rank), str(size), str(meeting), *arguments],
            env=environment({"NUMBA_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for rank in range(size)
    ]
    try:
        for rank, process in enumerate(running):
            printed, _ = process.communicate(timeout=250)
            assert process.returncode == 0, printed
            assert f"gloo: rank {rank} of {size} is done" in printed
    finally:
        for process in running:
            process.kill()
            process.wait()


def test_two_processes_by_gloo_equal_one(tmp_path):
    pytest.importorskip("torch.distributed")
    assert {*SOME} <= {scenario.__name__ for scenario in scenarios.ALL}
    run("scenarios_by_gloo.py", 2, tmp_path / "meeting", *SOME)


@pytest.mark.parametrize("size", [2, 3])
def test_fused_bags_under_ddp_equal_one_process(tmp_path, size):
    """50 steps of each of three rules, of one batch and of two with no_sync, to 1e-6."""
    pytest.importorskip("torch.distributed")
    run("fused_by_gloo.py", size, tmp_path / "meeting")


def test_a_wait_ends_when_no_thread_holds_the_memory(monkeypatch):
    """A thread that gives memory back to Python while Python ends aborts the process."""
    dist = pytest.importorskip("torch.distributed")
    from lodkit.distributed.torch_engine import TorchEngine

    arrived, given_back = threading.Event(), threading.Event()

    def exchange(target, source, *counts, **options):
        held = [target, source]

        def run():
            held[0].copy_(held[1])
            arrived.set()
            time.sleep(0.1)
            held.clear()
            given_back.set()

        threading.Thread(target=run).start()
        return types.SimpleNamespace(wait=arrived.wait)

    monkeypatch.setattr(dist, "all_to_all_single", exchange)
    engine = object.__new__(TorchEngine)
    engine.group, engine.rank, engine.size, engine._staged = None, 0, 2, False
    assert engine.alltoall(np.array([3, 4])).tolist() == [3, 4]
    assert given_back.wait(0.01)  # set just after the memory is back
