"""A table that tests of checkpoints save and compare."""

from __future__ import annotations

import numpy as np
import pytest

from lodkit.distributed import Checkpoint, CheckpointError, Ranges, checkpoint_exchange, run_threads
from lodkit.distributed.checkpoint_exchange import Held

HEIGHT = 103
VALUES = np.random.default_rng(0).random((HEIGHT, 5)).astype(np.float16)
MOMENT = np.random.default_rng(1).random(HEIGHT)
TOTAL = np.array([3.5])


def save(directory, ranks=2, kind=Ranges, hot=None, values=VALUES, **options):
    """Save the table above, dealt to ranks; what every rank got."""

    def at(engine):
        dealing = kind(HEIGHT, ranks, hot)
        rows = dealing.rows(engine.rank)
        parts = {"table.values": Held(values[rows], dealing), "table.moment": Held(MOMENT[rows], dealing)}
        parts["table.total"] = Held(TOTAL)
        return checkpoint_exchange.save(engine, directory, {"table": {"height": HEIGHT}}, parts, **options)

    return run_threads(ranks, at)


def check(directory, values=VALUES):
    """Read all of a checkpoint in one process."""
    found = Checkpoint(directory)
    found.verify()
    got, states = found.table()
    np.testing.assert_array_equal(got, values)
    np.testing.assert_array_equal(states["moment"], MOMENT)
    np.testing.assert_array_equal(states["total"], TOTAL)
    return found


def load_errors(directory, ranks):
    """What every rank raises."""

    def at(engine):
        with pytest.raises(CheckpointError) as raised:
            checkpoint_exchange.load(engine, directory)
        return raised.value

    return run_threads(ranks, at)
