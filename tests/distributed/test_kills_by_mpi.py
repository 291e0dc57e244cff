"""A rank that dies ends the job within seconds; the job goes on from its checkpoint to the same bits."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys
import time

import pytest
from mpirun import ENVIRONMENT, mpirun

pytestmark = [pytest.mark.mpi, pytest.mark.jit]
HERE = pathlib.Path(__file__).parent


def test_ranks_that_are_killed():
    """A few times; ``kills.py --times 50`` is a lane of its own."""
    mpirun()
    script = [sys.executable, HERE / "kills.py", "--times", "2", "--steps", "20"]
    done = subprocess.run(script, capture_output=True, text=True, check=False, timeout=280)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("2 kills of ")


def test_a_rank_that_raises_ends_all():
    command = [mpirun(), "-n", "3", sys.executable, "-m", "mpi4py", HERE / "programs" / "raises.py"]
    start = time.monotonic()
    env = {**os.environ, **ENVIRONMENT}
    done = subprocess.run([*map(str, command)], env=env, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode
    assert time.monotonic() - start < 60
    assert "KeyError: 'a reader found no file'" in done.stdout + done.stderr
