"""Updates as a training loop makes them, whose rate falls and whose iteration grows, look for no other code."""

from __future__ import annotations

import numpy as np
import pytest

import lodkit
from lodkit import SelectedRows
from lodkit.kernels.cpu.primitives import update

GRAD = SelectedRows([5, 1, 5], np.ones((3, 3)), 6)
ROWS, ROW = (6, 3), (6,)
#: Shapes of the states of updates by a few rows in compiled code.
UPDATES = {
    "sgd": (),
    "adagrad": (ROWS,),
    "rowwise_adagrad": (ROW,),
    "ftrl": (ROWS, ROWS),
    "momentum": (ROWS,),
    "adam": (ROWS, ROWS),
    "adamw": (ROWS, ROWS),
    "rowwise_adam": (ROWS, ROW),
    "adadelta": (ROWS, ROWS),
    "rmsprop": (ROWS, ROWS),
    "lion": (ROWS,),
}


@pytest.mark.jit
@pytest.mark.parametrize("name", UPDATES)
def test_a_rate_that_moves(name):
    """Asking Numba for an entry takes ten times as long as a small update."""
    op, inputs = lodkit.OPS[name], (np.ones((6, 3)), GRAD, *map(np.ones, UPDATES[name]))
    attrs = {"lazy": True} if "lazy" in op.defaults else {}
    counts = "iteration" in op._tests
    lookups = []
    for step in range(4):
        op(*inputs, lr=0.5 / (1 + step), **attrs, **({"iteration": step} if counts else {}))
        lookups.append(update.compiled_small_update.cache_info())
    assert lookups[0].misses + lookups[0].hits and lookups[-1] == lookups[0]
