"""A rank that is killed ends the job within seconds; the job goes on from its checkpoint to the same bits."""

from __future__ import annotations

import pathlib
import subprocess
import sys

import pytest
from mpirun import mpirun

pytestmark = [pytest.mark.mpi, pytest.mark.jit]


def test_ranks_that_are_killed():
    """A few times; ``kills.py --times 50`` is a lane of its own."""
    mpirun()
    script = [sys.executable, pathlib.Path(__file__).with_name("kills.py"), "--times", "3", "--steps", "20"]
    done = subprocess.run(script, capture_output=True, text=True, check=False, timeout=280)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("3 kills of ")
