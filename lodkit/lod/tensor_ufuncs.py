"""NumPy's ufuncs on LoDTensors of PyTorch's CPU tensors, by PyTorch where it has them: autograd records them."""

from __future__ import annotations

import operator
import sys
from typing import Any

import numpy as np

from ..arrays import array_of, is_cpu_tensor, tensor_of
from ..arrays.recorded import hooks, refuse_unrecorded
from ..arrays.tensors import check_storage, write_back
from .ufuncs import OPERATORS

#: By the names of ufuncs: PyTorch has no such name, or no numbers on either side.
FUNCTIONS = {**OPERATORS, "invert": operator.invert, "left_shift": operator.lshift, "right_shift": operator.rshift}


def apply_to_tensors(ufunc, operands, outs, kwargs):
    """Apply a ufunc to values of which some are CPU tensors; its results are tensors."""
    name = ufunc.__name__
    if hooks.open_tapes():
        refuse_unrecorded(f"np.{name} of PyTorch's tensors", "pass t.values.numpy(), or let PyTorch differentiate")
    torch = sys.modules["torch"]
    run: Any = FUNCTIONS.get(name)
    wrap = run is None
    run = run or getattr(torch, name, None)
    if run is not None and not outs and not kwargs:
        return run(*(_tensor(x, wrap) for x in operands))
    for i, x in enumerate(operands):
        operands[i] = _array(x)
    if "where" in kwargs:
        kwargs["where"] = _array(kwargs["where"])
    targets = tuple(None if o is None else o._need_values() for o in outs)
    if outs:
        kwargs["out"] = tuple(map(_array, targets))
    made = ufunc(*operands, **kwargs)
    for target, array in zip(targets, kwargs.get("out", ()), strict=True):
        if is_cpu_tensor(target):
            write_back(target, array)
    return tuple(map(tensor_of, made)) if isinstance(made, tuple) else tensor_of(made)


def select_from_tensors(condition, *choices):
    """``np.where`` of values of which some are CPU tensors."""
    torch = sys.modules["torch"]
    return torch.where(torch.as_tensor(condition).bool(), *(_tensor(x) for x in choices))


def _tensor(x, wrap=False):
    """An operand for PyTorch: numbers stay numbers, unless ``wrap``; arrays share their memory."""
    if is_cpu_tensor(x):
        check_storage(x, "values")
    elif isinstance(x, np.ndarray | np.generic):
        x = x.item() if x.ndim == 0 else tensor_of(x)
    return sys.modules["torch"].as_tensor(x) if wrap and isinstance(x, int | float) else x


def _array(x):
    return array_of(x, "values") if is_cpu_tensor(x) else x
