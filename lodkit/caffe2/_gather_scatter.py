"""Gather and scatter."""

from __future__ import annotations

from .. import ops


def gather(data, indices, *, axis=0, wrap_indices=None):
    return ops.gather(data, indices, axis=axis, wrap=wrap_indices is None or bool(wrap_indices))


OPERATORS = {"Gather": gather}
