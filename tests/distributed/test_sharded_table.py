"""Tables on several threads equal one process, bit for bit; by MPI: ``test_by_mpi.py``."""

from __future__ import annotations

import numpy as np
import pytest
import scenarios

import lodkit
from lodkit import LoDTensor
from lodkit.distributed import Alone, Hashed, RankError, ShardedTable, ShardedTables, as_engine, normal, run_threads, uniform

RANKS = pytest.mark.parametrize("ranks", [1, 2, 3])


@RANKS
@pytest.mark.parametrize("scenario", [s for s in scenarios.ALL if s is not scenarios.every_rule], ids=lambda s: s.__name__)
def test_threads_equal_one_process(scenario, ranks):
    run_threads(ranks, scenario)
