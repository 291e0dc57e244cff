"""Norms of arrays; they synchronise with the device."""

from __future__ import annotations

from ....arrays.cuda import convert, memory, view
from .update import dense_loop, update_all


def squared_norm(x):
    """The sum of all squares, in double precision."""
    return memory.norm(view(x).array) ** 2


def stepped_loop(rule, param, states, grad):
    """The loop of ``stepped_norms``, and the elements that each thread steps at once."""
    return dense_loop(rule, param, states, grad)


def stepped_norms(rule, param, states, grad):
    """The squared norms of a parameter and of what a rule, which leaves the states alone, makes of it."""
    stepped = convert(param, param.dtype, new=True)
    update_all(rule, stepped, states, grad)
    return squared_norm(param), squared_norm(stepped)
