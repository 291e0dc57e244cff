"""Checkpoints of processes: whole where a rank fails, and the same bits where one is killed."""

from __future__ import annotations

import pathlib
import subprocess
import sys

import pytest
from mpirun import mpirun, run

pytestmark = [pytest.mark.mpi, pytest.mark.jit]


def test_other_ranks_load_what_ranks_saved_and_one_that_fails_is_named(tmp_path):
    pytest.importorskip("resource")
    for i, ranks in enumerate((3, 1, 4)):
        assert run(ranks, "checkpoints_by_mpi.py", str(tmp_path)) == f"{i + 1} iterations, {ranks} ranks\n"


def test_ranks_that_are_killed():
    """A few times, as in the gate; ``kills.py --times 50`` takes minutes and is run by hand."""
    mpirun()
    script = [sys.executable, pathlib.Path(__file__).with_name("kills.py"), "--times", "3", "--steps", "20"]
    done = subprocess.run(script, capture_output=True, text=True, check=False, timeout=280)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("3 kills of ")
