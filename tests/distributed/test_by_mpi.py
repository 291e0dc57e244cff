"""Processes of MPI equal one process, bit for bit."""

from __future__ import annotations

import pytest
import scenarios
from mpirun import run

pytestmark = [pytest.mark.mpi, pytest.mark.jit]


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 8])
def test_ranks_equal_one_process(ranks):
    printed = run(ranks, "scenarios_by_mpi.py")
    assert printed.count(f"{ranks} ranks" if ranks > 1 else "one process") == len(scenarios.ALL), printed
