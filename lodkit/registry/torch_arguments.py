"""PyTorch's CPU tensors in calls of published names: functions get NumPy arrays in their place."""

from __future__ import annotations

import sys

import numpy as np

from ..arrays.recorded import hooks
from ..lod import LoDTensor, SelectedRows
from .tensors import Swap, holds_tensors, numbers_in

_VALUES = (np.ndarray, LoDTensor, SelectedRows, type(None))


def contains_tensor(x):
    """Whether there are tensors in inputs: in a list or tuple of values, or in a dictionary of such."""
    if "torch" not in sys.modules:
        return False
    if isinstance(x, dict):
        return any(map(contains_tensor, x.values()))
    if isinstance(x, list | tuple):
        return holds_tensors(x) or any(map(contains_tensor, x)) if _of_values(x) else False
    return holds_tensors((x,))


def _of_values(x):
    """Whether the first of a list is no number: long lists of numbers are not searched."""
    return bool(x) and (isinstance(x[0], (*_VALUES, list, tuple)) or hasattr(x[0], "dtype"))


def call_published(name, run, inputs, attrs):
    """Call ``run(inputs, attrs)`` on arrays in place of tensors, and return tensors in place of arrays.

    An open tape gets the tensors, which its operators refuse.
    """
    if hooks.open_tapes():
        return run(inputs, attrs)
    swap = Swap(name, lambda label: f"input {label}" if isinstance(label, int) else label)
    plain = _plain(swap, inputs, "input"), {key: _plain(swap, x, key) for key, x in attrs.items()}
    swap.settle()
    result = run(*plain)
    for x in _given(swap, result):
        swap.wrote(x)
    return _restored(swap, result)


def _plain(swap, x, label):
    if isinstance(x, dict):
        return {key: _plain(swap, part, key) for key, part in x.items()}
    if isinstance(x, list | tuple) and _of_values(x):
        return type(x)(_plain(swap, part, i if label == "input" else label) for i, part in enumerate(x))
    return swap.plain(x, label)


def _given(swap, x):
    """Inputs that come back: what was updated."""
    if isinstance(x, dict | list | tuple):
        return [given for part in (x.values() if isinstance(x, dict) else x) for given in _given(swap, part)]
    given = swap.given.get(id(x))
    return [] if given is None or numbers_in(given) is None else [given]


def _restored(swap, x):
    if isinstance(x, dict):
        return {key: _restored(swap, part) for key, part in x.items()}
    return swap.restored(x)
