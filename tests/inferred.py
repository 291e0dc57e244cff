"""Operator types of Paddle, run and inferred from the same inputs."""

from __future__ import annotations

from lodkit import VarDesc
from lodkit.paddle import infer_op, run_op


def described(inputs):
    """What infer_op is given for the inputs of run_op."""
    return {s: [*map(VarDesc.of, x)] if isinstance(x, list) else VarDesc.of(x) for s, x in inputs.items()}


def run_as_inferred(name, inputs, attrs=None, **version):
    """The outputs of an operator type, which are what infer_op says."""
    promised = infer_op(name, described(inputs), attrs, **version)
    outs = run_op(name, inputs, attrs, **version)
    assert set(promised) == set(outs)
    for slot, value in outs.items():
        of_array = isinstance(value, list) and not isinstance(promised[slot], list)
        pairs = [(promised[slot], x) for x in value] if of_array else [(promised[slot], value)]
        if isinstance(promised[slot], list):
            pairs = zip(promised[slot], value, strict=True)
        for desc, x in pairs:
            desc = desc.but(type=VarDesc.of(x).type) if of_array else desc
            assert desc.covers(VarDesc.of(x)), (slot, desc)
    return outs
