"""Processes of MPI equal one process, bit for bit."""

from __future__ import annotations

import subprocess
import sys

import pytest
import scenarios
from mpirun import HERE, environment, mpirun, run

pytestmark = [pytest.mark.mpi, pytest.mark.jit]


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 8])
def test_ranks_equal_one_process(ranks):
    printed = run(ranks, "scenarios_by_mpi.py")
    assert printed.count(f"{ranks} ranks" if ranks > 1 else "one process") == len(scenarios.ALL), printed


def test_an_error_that_nobody_catches_ends_all_ranks():
    """Without ``-m mpi4py``, too."""
    command = [mpirun(), "-n", "3", sys.executable, str(HERE / "programs" / "one_raises.py")]
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode
    assert "KeyError: 'rank 1 alone'" in done.stderr


@pytest.mark.parametrize("how", [["end"], ["exit", "0"], ["exit", "3"]])
@pytest.mark.parametrize("runner", [[], ["-m", "mpi4py"]])
def test_a_rank_that_ends_early_ends_all(how, runner):
    command = [mpirun(), "-n", "3", sys.executable, *runner, str(HERE / "programs" / "one_ends.py"), *how]
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode
    if not (runner and how == ["exit", "3"]):  # there mpi4py ends all, without a word
        assert "rank 1 makes another call than this rank" in done.stderr, done.stderr
        assert "There: the end of its program. Here: lookup rows" in done.stderr


def test_lookups_that_nobody_waits_for():
    assert run(2, "lookups_left.py").count("of 2 has 1000 rows") == 2


def test_a_launcher_of_another_mpi_is_named():
    mpirun()
    code = "from lodkit.distributed import as_engine; as_engine()"
    started = {**environment(), "OMPI_COMM_WORLD_SIZE": "4"}
    done = subprocess.run([sys.executable, "-c", code], env=started, capture_output=True, text=True, check=False)
    assert "OMPI_COMM_WORLD_SIZE=4" in done.stderr
    assert "start them by the mpirun of that MPI" in done.stderr
