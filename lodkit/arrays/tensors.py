"""PyTorch's CPU tensors as NumPy arrays, and back, without a copy. PyTorch is used where the caller loaded it."""

from __future__ import annotations

import sys

import numpy as np

from ..errors import DTypeError


def is_tensor(x):
    """Whether ``x`` is a tensor of PyTorch, on any device."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(x, torch.Tensor)


def array_of(tensor, name):
    """A NumPy array over the memory of a dense CPU tensor; of bfloat16, which NumPy lacks, a copy in float32.

    Raises
    ------
    TypeError
        The tensor requires grad while PyTorch records, or is no dense tensor.
    """
    torch = sys.modules["torch"]
    if tensor.requires_grad and torch.is_grad_enabled():
        raise TypeError(
            f"{name} requires grad, which lodkit's operators do not record: call the function of the same name in "
            f"lodkit.interop.torch, or pass {name}.detach()"
        )
    if tensor.layout is not torch.strided or tensor.is_nested:
        remedy = "LoDTensor.from_torch" if tensor.is_nested else "SelectedRows.from_torch"
        raise TypeError(f"{name} is a tensor of layout {tensor.layout}, not a dense one; convert it: {remedy}({name})")
    plain = tensor.detach().resolve_conj().resolve_neg()
    if plain.dtype is torch.bfloat16:
        plain = plain.float()
    try:
        return plain.numpy()
    except TypeError as error:
        raise DTypeError(f"{name} has dtype {tensor.dtype}, which NumPy lacks; convert with .float()") from error


def tensor_of(array, like=None):
    """A tensor over the memory of a NumPy array; in bfloat16, rounded, if ``like`` is a tensor of that type."""
    torch = sys.modules["torch"]
    array = np.asarray(array)
    made = torch.from_numpy(array) if array.flags.writeable else torch.from_dlpack(array)
    halved = like is not None and like.dtype is torch.bfloat16 and made.dtype is torch.float32
    return made.to(torch.bfloat16) if halved else made
