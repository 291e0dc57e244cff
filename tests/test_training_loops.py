"""Updates as a training loop makes them, whose rate falls and whose iteration grows, look for no other code."""

from __future__ import annotations

import functools

import numpy as np
import pytest

import lodkit
from lodkit import SelectedRows
from lodkit.jit import compiling
from lodkit.kernels.common import updates
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


def note(found, function, *args):
    found.append(function(*args))
    return found[-1]


@pytest.mark.jit
@pytest.mark.parametrize("moves", ["rate", "decay"])
@pytest.mark.parametrize("name", UPDATES)
def test_numbers_that_move(name, moves, monkeypatch):
    """Asking Numba for an entry takes ten times as long as a small update."""
    op, inputs = lodkit.OPS[name], (np.ones((6, 3)), GRAD, *map(np.ones, UPDATES[name]))
    attrs = {"lazy": True} if "lazy" in op.defaults else {}
    counts, chosen, asked = "iteration" in op._tests, [], []
    monkeypatch.setattr(updates, "_CHECKED", {})
    monkeypatch.setattr(update, "_choose_small_update", functools.partial(note, chosen, update._choose_small_update))
    for step in range(4):
        attrs |= {"lr": 0.5 / (1 + step)} if moves == "rate" else {"lr": 0.5, "weight_decay": 0.1 / (1 + step)}
        op(*inputs, **attrs, **({"iteration": step} if counts else {}))
        monkeypatch.setattr(compiling, "code_for", functools.partial(note, asked, compiling.code_for))
    ((code, _),) = chosen
    assert code and not asked
