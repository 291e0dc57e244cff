"""Inputs and results of an operator as tensors, and what else it takes to put them together again.

A value is cut into its tensor and a *frame*: what the array of the tensor is to be wrapped in. So torch.autograd sees
tensors only, and nothing that it does not watch is kept from forward to backward but copies, and offsets and rows,
which are read-only.
"""

from __future__ import annotations

import copy

import numpy as np
import torch

from ...arrays.tensors import array_of, plain_array_of, rounded_like, starts_with, tensor_of
from ...base.errors import LodkitError
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
    """
    frames, tensors = [], []
    for x in inputs:
        if isinstance(x, torch.Tensor):
            if x.layout is not torch.strided:
                x = _to_structure(x)
            else:
                frames.append(PLAIN_FRAME)
                tensors.append(x)
                continue
        if type(x) is LoDTensor and isinstance(x._values, torch.Tensor):
            frames.append((RAGGED, (x._lod, x._rows)))
            tensors.append(x._values)
        elif type(x) is SelectedRows and isinstance(x.value, torch.Tensor):
            frames.append((ROWS, (x._rows, x.height, x.is_merged, x._runs)))
            tensors.append(x.value)
        else:
            frames.append((CONSTANT, x))
    return frames, tensors


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


def array(tensor, name="a tensor"):
    """The memory of a tensor as the kernels take it: a NumPy array on the CPU, the tensor itself on a GPU."""
    if tensor.requires_grad:
        tensor = tensor.detach()
    found = plain_array_of(tensor)
    # On a GPU; bfloat16; lazy negatives.
    if found is None:
        return array_of(tensor, name) if tensor.is_cpu else tensor
    return found


def arrays_of(op, frames, tensors):
    """The memory of the tensors that an operator's inputs were cut into."""
    try:
        return [array(t) for t in tensors]
    except (LodkitError, TypeError):
        for i, t in zip((i for i, (kind, _) in enumerate(frames) if kind != CONSTANT), tensors, strict=True):
            array(t, f"{op.name}: {op._label(i)}")
        raise


def tensor(x, like=None):
    """A tensor over the memory of a result."""
    if type(x) is np.ndarray and like is None and x.flags.writeable:
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


def constants(frames):
    """The numbers of inputs that are no tensors."""
    found = (structure for kind, structure in frames if kind == CONSTANT)
    return [getattr(x, "_values", getattr(x, "value", x)) for x in found]


def cut_results(results, given, tensors, arrays):
    """Cut the results of a call into frames and tensors, which share no memory but with an input that is one of them.

    ``given``, ``tensors`` and ``arrays`` are those of the inputs; see ``rounded_like`` for those of bfloat16.
    """
    like = None
    for t in tensors:
        if t.dtype is torch.bfloat16:
            like = rounded_like([*tensors, *constants(given)])
            break
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
        made.append(_unshare(x, tensors, arrays, like))
    return frames, made


def _unshare(x, tensors, arrays, like):
    """A result as a tensor: an input that comes back as it was given, a copy of what is a part of one."""
    for i, a in enumerate(arrays):
        if a is x:
            return tensors[i]
    if isinstance(x, np.ndarray):
        if not x.flags.owndata and any(isinstance(a, np.ndarray) and np.may_share_memory(a, x) for a in arrays):
            x = x.copy()
    elif isinstance(x, torch.Tensor) and any(starts_with(t, x) for t in tensors):
        x = x.clone()
    return tensor(x, like)
