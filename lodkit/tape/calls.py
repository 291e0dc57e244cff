"""The calls on a tape with their variables named: what its representation lists, and its picture draws."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..arrays import is_array
from ..lod import LoDTensor, RankTable, SelectedRows
from ..registry.inputs import names_of

SHOWN = 30  # calls, listed and drawn


class Step(NamedTuple):
    """A call: its function, the names of what it reads (or numbers as they are), and of what it makes."""

    name: str
    reads: list[str]
    makes: list[str]


def named_calls(calls):
    """The calls as steps, and the kind, type and shape of each variable by name, in the order of the calls.

    Results are numbered, other variables have the names of the inputs for which they are first given.
    """
    names = {}
    variables = {}
    steps, count = [], 0

    def known_name(key, x, name):
        if key not in names:
            number = 2
            names[key] = name
            while names[key] in variables:
                names[key] = f"{name}{number}"
                number += 1
            variables[names[key]] = kind_text(x)
        return names[key]

    for call in calls:
        labels = names_of(call.op, call.inputs) if hasattr(call.op, "inputs") else ["x"] * len(call.inputs)
        reads = [
            known_name(key, x, label) if _is_value(x) else f"{label}={x!s:.20}"
            for key, x, label in zip(call.input_keys, call.inputs, labels, strict=True)
            if x is not None
        ]
        makes = []
        for key, x in zip(call.output_keys, call.outputs, strict=True):
            if key not in names:
                count += 1
            makes.append(known_name(key, x, f"%{count}"))
        steps.append(Step(call.op.name, reads, makes))
    return steps, variables


def _is_value(x):
    return isinstance(x, LoDTensor | SelectedRows | RankTable) or is_array(x)


def kind_text(x):
    """Kind, type and shape: ``float32[3, 4]``."""
    if isinstance(x, list | tuple):
        return f"{len(x)} arrays"
    if isinstance(x, RankTable):
        return f"RankTable[{len(x)}]"
    values = x.values if isinstance(x, LoDTensor) else x.value if isinstance(x, SelectedRows) else x
    shape = ", ".join(map(str, getattr(values, "shape", np.shape(values))))
    dtype = str(getattr(values, "dtype", type(x).__name__)).removeprefix("torch.")
    text = f"{dtype}[{shape}]" if shape else f"{dtype} scalar"
    if isinstance(x, SelectedRows):
        return f"SelectedRows {text}"
    return f"{text}, lod_level {x.lod_level}" if isinstance(x, LoDTensor) and x.lod_level else text


def text(tape, is_open):
    """A line per call: what it reads, with kind, type and shape where it comes in, and what it makes."""
    count = len(tape._calls)
    steps, variables = named_calls(tape._calls[:SHOWN])
    seen: set[str] = set()
    lines = [f"Tape({'open, ' * is_open}{count} call{'s' * (count != 1)})"]
    for step in steps:
        reads = [name if name in seen or name not in variables else f"{name}: {variables[name]}" for name in step.reads]
        seen.update(step.reads, step.makes)
        makes = ", ".join(f"{name}: {variables[name]}" for name in step.makes)
        lines.append(f"  {makes} = {step.name}({', '.join(reads)})")
    return "\n".join([*lines, *(["  ..."] if count > SHOWN else [])])
