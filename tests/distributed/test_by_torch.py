"""Processes of torch.distributed, by gloo, equal one process, bit for bit."""

from __future__ import annotations

import subprocess
import sys

import pytest
import scenarios
from mpirun import HERE, environment

SOME = ["sums", "errors", "groups", "every_kind", "every_type", "steps_of_attributes", "by_rounding"]

pytestmark = [pytest.mark.mpi, pytest.mark.jit]


def test_two_processes_by_gloo_equal_one(tmp_path):
    pytest.importorskip("torch.distributed")
    assert {*SOME} <= {scenario.__name__ for scenario in scenarios.ALL}
    program = [sys.executable, str(HERE / "programs" / "scenarios_by_gloo.py")]
    running = [
        subprocess.Popen(
            [*program, str(rank), "2", str(tmp_path / "meeting"), *SOME],
            env=environment({"NUMBA_NUM_THREADS": "1"}),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for rank in range(2)
    ]
    try:
        for rank, process in enumerate(running):
            printed, _ = process.communicate(timeout=250)
            assert process.returncode == 0, printed
            assert f"gloo: rank {rank} of 2 is done" in printed
    finally:
        for process in running:
            process.kill()
            process.wait()
