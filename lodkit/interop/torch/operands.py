"""Inputs and results of an operator as tensors, and what else it takes to put them together again.

A value is cut into its tensor and a *frame*: what the array of the tensor is to be wrapped in. So torch.autograd sees
tensors only, and nothing that it does not watch is kept from forward to backward but copies, and offsets and rows,
which are read-only.
"""

from __future__ import annotations

import copy

import numpy as np
import torch

from ...arrays import BFLOAT16, to_dtype
from ...arrays.tensors import array_of, bfloat16_array_of, plain_array_of, shares_storage, tensor_of
from ...lod import LoDTensor, SelectedRows

PLAIN, RAGGED, ROWS, CONSTANT = range(4)
PLAIN_FRAME = (PLAIN, None)


def cut(inputs):
    """Cut inputs into frames and tensors.

    Returns
    -------
    frames : list of (kind, structure)
        One for each input.
    tensors : list of torch.Tensor
        One for each frame that is no CONSTANT.
    inputs : list
        As an operator takes them: sparse tensors as SelectedRows, jagged ones as LoDTensors.
    """
    frames, tensors, inputs = [], [], [*inputs]
    for i, x in enumerate(inputs):
        if isinstance(x, torch.Tensor):
            if x.layout is torch.strided:
                frames.append(PLAIN_FRAME)
                tensors.append(x)
                continue
            inputs[i] = x = _to_structure(x)
        if type(x) is LoDTensor and isinstance(x._values, torch.Tensor):
            frames.append((RAGGED, (x._lod, x._rows)))
            tensors.append(x._values)
        elif type(x) is SelectedRows and isinstance(x.value, torch.Tensor):
            frames.append((ROWS, (x._rows, x.height, x.is_merged, x._runs)))
            tensors.append(x.value)
        else:
            frames.append((CONSTANT, x))
    return frames, tensors, inputs


def _to_structure(x):
    """A sparse COO tensor as SelectedRows over a tensor, a jagged nested one as a LoDTensor; gradients flow on."""
    if x.layout is torch.sparse_coo:
        if x.requires_grad and torch.is_grad_enabled():
            x = x.coalesce()
            rows = SelectedRows.from_torch(x.detach())
            return rows._with_value(x.values())
        rows = SelectedRows.from_torch(x.detach())
        return rows._with_value(x.detach()._values())
    from .nested import from_nested

    return from_nested(LoDTensor, x)


def join_frames(frames, arrays):
    """The values that were cut into these frames, over these arrays or tensors."""
    values, at = [], 0
    for kind, structure in frames:
        if kind == CONSTANT:
            values.append(structure)
            continue
        x = arrays[at]
        at += 1
        if kind == RAGGED:
            x = LoDTensor._wrap(x, structure[0])
            x._rows = structure[1]
        elif kind == ROWS:
            rows, height, merged, runs = structure
            x = SelectedRows._wrap(rows, x, height, merged, runs)
        values.append(x)
    return values


def take_inputs(frames, tensors, inputs):
    """What an operator takes of inputs that were cut, and tensors in it: on a GPU none that requires grad."""
    if tensors and tensors[0].is_cuda:
        tensors = [t.detach() for t in tensors]
        inputs = join_frames(frames, tensors)
    return tensors, inputs


def array(tensor, name="a tensor"):
    """The memory of a tensor as the kernels take it: a NumPy array on the CPU, the tensor itself on a GPU."""
    found = plain_array_of(tensor)
    # Requires grad; on a GPU; bfloat16; lazy negatives.
    if found is None:
        tensor = tensor.detach() if tensor.requires_grad else tensor
        return array_of(tensor, name) if tensor.is_cpu else tensor
    return found


def bits(tensor, name="a tensor"):
    """As ``array``, but of bfloat16 on the CPU an array of its bits, for kernels that take them."""
    if tensor.dtype is not torch.bfloat16 or not tensor.is_cpu:
        return array(tensor, name)
    found = bfloat16_array_of(tensor.detach())
    if found is None:
        found = to_dtype(array(tensor, name), BFLOAT16)
    return found


def tensor(x, like=None):
    """A tensor over the memory of a result."""
    if type(x) is np.ndarray and like is None and x.flags.writeable and x.dtype.kind != "V":
        return torch.from_numpy(x)
    if isinstance(x, torch.Tensor):
        return x
    if isinstance(x, np.ndarray | np.generic):
        return tensor_of(x, like)
    return torch.as_tensor(x, device="cuda")


def keep_constants(frames):
    """Frames whose constants are copies: a backward pass must not see what is written to arrays after the call."""
    return [(kind, _copy_list(x)) if kind == CONSTANT else (kind, x) for kind, x in frames]


def _copy_list(x):
    if isinstance(x, np.ndarray):
        return x.copy()
    if type(x) is LoDTensor and isinstance(x._values, np.ndarray):
        return x._like(x._values.copy())
    if type(x) is SelectedRows and isinstance(x.value, np.ndarray):
        return x._with_value(x.value.copy())
    return copy.deepcopy(x) if isinstance(x, list) else x


def cut_results(results, tensors, taken):
    """Cut the results of a call into frames and tensors, which share no memory but with an input that is one of them.

    ``tensors`` are those of the inputs, ``taken`` what the operator had in their place.
    """
    frames, made = [], []
    for x in results:
        if type(x) is LoDTensor and x._values is not None:
            frames.append((RAGGED, (x._lod, x._rows)))
            x = x._values
        elif type(x) is SelectedRows:
            frames.append((ROWS, (x._rows, x.height, x.is_merged, x._runs)))
            x = x.value
        elif isinstance(x, np.ndarray | np.generic | torch.Tensor) or hasattr(x, "__cuda_array_interface__"):
            frames.append(PLAIN_FRAME)
        else:
            frames.append((CONSTANT, x))
            continue
        made.append(_unshare(x, tensors, taken))
    return frames, made


def _unshare(x, tensors, taken):
    """A result as a tensor: an input that comes back as it was given, a copy of what is a part of one."""
    for given, t in zip(tensors, taken, strict=True):
        if t is x:
            return given
    # An array is a constant that comes back.
    made = tensor(np.array(x) if isinstance(x, np.ndarray) else x)
    return made.clone() if shares_storage(made, tensors) else made
