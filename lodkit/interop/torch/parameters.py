"""Parameters of PyTorch's modules, their states and gradients, as the kernels of updates take them."""

from __future__ import annotations

import math

import torch

from ...arrays.tensors import check_storage, plain_array_of
from ...base.errors import DTypeError, ShapeMismatchError
from .bag_gradient import rows_of
from .operands import bits

_KINDS = frozenset((torch.float16, torch.bfloat16, torch.float32, torch.float64))


def check_param(name, param):
    """Refuse what cannot be updated in place."""
    if not (param.is_cpu or param.is_cuda):
        raise TypeError(f"{name} is on {param.device}; these optimizers update parameters on the CPU or a CUDA GPU")
    if param.layout is not torch.strided or param.dtype not in _KINDS:
        raise DTypeError(f"{name} is {param.dtype} of layout {param.layout}; these optimizers take dense real numbers")


def is_written(param):
    """Whether kernels write to the memory of a parameter."""
    return param.is_contiguous() and (param.is_cpu or param.dtype is not torch.bfloat16)


def array_of_state(tensor, state, name):
    """The memory of a state of a parameter as the kernels take it: of bfloat16 its bits, not a copy."""
    found = plain_array_of(tensor)
    # The text takes as long as the array.
    return bits(tensor, f"the state {state} of {name}") if found is None else found


def writable_array(param, name):
    """The parameter as an array of one dimension or more: a copy of what kernels cannot write."""
    plain = param.detach()
    found = plain_array_of(plain) if plain.is_cpu and plain.ndim and plain.is_contiguous() else None
    if found is not None:
        return found
    plain = _contiguous_tensor(plain, name)
    return bits(plain if plain.ndim else plain.reshape(1), name)


def _contiguous_tensor(plain, name):
    """A dense tensor that kernels take: itself where it is contiguous, or a copy; of bfloat16 on a GPU in float32."""
    if is_written(plain):
        return plain
    check_storage(plain, name)
    return plain.float() if plain.dtype is torch.bfloat16 and not plain.is_cpu else plain.contiguous()


def gradient_array(grad, name, shape):
    """The gradient of a parameter of this name, for the rule: an array of that shape, or SelectedRows."""
    plain = grad.detach() if grad.requires_grad else grad
    if plain.is_cpu and plain.layout is torch.strided and plain.shape == shape and plain.is_contiguous():
        found = plain_array_of(plain)
        if found is not None:
            return found
    name = f"the gradient of {name}"
    if plain.layout is torch.sparse_coo:
        return rows_of(plain, name)
    if plain.layout is not torch.strided:
        raise TypeError(f"a gradient of layout {plain.layout}; these optimizers take dense and sparse COO gradients")
    if plain.numel() != math.prod(shape):
        raise ShapeMismatchError(
            f"{name} has shape {tuple(plain.shape)}, its parameter {tuple(shape)}: it was resized since; compute it "
            "anew"
        )
    return bits(_contiguous_tensor(plain, name).reshape(shape), name)
