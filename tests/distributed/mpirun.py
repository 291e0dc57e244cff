"""Start programs by mpirun, on this machine's cores however many there are."""

from __future__ import annotations

import os
import pathlib
import shutil
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).parent
#: More ranks than cores, as root, in containers: each rank computes on one core and yields while it waits.
ENVIRONMENT = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_mpi_yield_when_idle": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "NUMBA_NUM_THREADS": "1",
}


def mpirun():
    """The mpirun beside this Python, or one on the path; the test is skipped where either part is missing."""
    pytest.importorskip("mpi4py")
    beside = pathlib.Path(sys.executable).parent / "mpirun"
    found = str(beside) if beside.exists() else shutil.which("mpirun")
    return found or pytest.skip("needs mpirun: pip install lodkit[mpi]")


def environment(more=ENVIRONMENT):
    """This process's environment, in which this checkout is imported, with more."""
    paths = [str(HERE.parents[1]), os.environ.get("PYTHONPATH", "")]
    return {**os.environ, **more, "PYTHONPATH": os.pathsep.join(filter(None, paths))}


def run(ranks, program, *args, timeout=280):
    """Run a program of ``programs`` on so many ranks; returns what it printed."""
    command = [mpirun(), "-n", str(ranks), sys.executable, "-m", "mpi4py", str(HERE / "programs" / program), *args]
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=timeout, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
