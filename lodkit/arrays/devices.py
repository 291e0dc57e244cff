"""Arrays that are seen to be on a GPU by their type, or by one attribute."""

from __future__ import annotations

import sys

_libraries: set[type] = set()  # types whose arrays always are on a GPU
_tensors: set[type] = set()  # of PyTorch, whose tensors may be


def is_strided(tensor):
    """True of a tensor of PyTorch that is one array in memory."""
    return tensor.layout is sys.modules["torch"].strided and not tensor.is_nested


def know_type(array):
    """Note the type of an array that is on a GPU."""
    kind = type(array)
    root = kind.__module__.partition(".")[0]
    if root == "torch":
        torch = sys.modules["torch"]
        if kind in (torch.Tensor, torch.nn.Parameter):
            _tensors.add(kind)
    elif root in ("cupy", "numba", "numba_cuda"):
        _libraries.add(kind)


def known_on_gpu(array):
    """True of an array that an operator may read on a GPU, if its type was noted."""
    kind = type(array)
    if kind in _tensors:
        return array.is_cuda and not array.requires_grad and is_strided(array)
    return kind in _libraries
