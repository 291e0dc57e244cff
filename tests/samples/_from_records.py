"""Samples of optimizers that have none of their own, and of their updates of bags: of the states and attributes."""

from __future__ import annotations

import lodkit

from .bag_updates import few_cases
from .moment_optimizers import cases


def attributes(op):
    """Attributes of a step: one that is not the first, with an epsilon that shows."""
    usual = {"iteration": 3, "epsilon": 1e-3}
    return {name: value for name, value in usual.items() if name in op.signature.parameters}


def missing(samples):
    """Samples of the optimizers that are not among these, by name."""
    found = {}
    for name, op in lodkit.OPS.items():
        if name in samples:
            continue
        if record := getattr(op.definition, "optimizer", None):
            found[name] = list(cases(len(record.list_states()), record.rowwise, **attributes(op)))
        elif update := getattr(op.definition, "update", None):
            record = update.definition.optimizer
            shapes = [record.layout(state, (6, 3), None)[0][1:] for state in record.list_states()]
            found[name] = list(few_cases(shapes, **attributes(op)))
    return found
