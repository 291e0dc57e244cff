"""PyTorch's tensors that are resized, or whose storage is freed, between two calls: ``--load tests.fuzz.tensors``.

With ``--lane compiled --only setting:Tensor``. Other lanes need no PyTorch, and draw the same cases without it.
"""

from __future__ import annotations

import numpy as np
import torch

import lodkit
from lodkit import LoDTensor, SelectedRows
from lodkit.interop import torch as lodkit_torch

from .attribute_setting import SETTINGS

GRAD = np.ones((3, 2), np.float32)
#: Numbers whose memory comes from the system.
LARGE = 1 << 20


def _changed(values, shape):
    """A tensor with memory of its own, and what resizes it; without a shape its storage is freed, as FSDP does."""
    tensor = torch.tensor(np.array(values))

    def change():
        had = tensor.numel()
        try:
            tensor.untyped_storage().resize_(0) if shape is None else tensor.resize_(shape)
        except RuntimeError as error:
            kind = lodkit.SizeError if "allocate memory" in str(error) else TypeError
            raise kind(f"PyTorch: {error}") from None
        if min(tensor.shape, default=0) < 0:
            raise TypeError("PyTorch takes negative sizes where another one is 0")
        # PyTorch leaves new memory as it is; that of large tensors is zeros.
        if had < tensor.numel() < LARGE:
            tensor.fill_(1)

    return tensor, change


def _numbers(*tensors):
    """Results as arrays, which the two runs of a case are compared by."""
    found = [x.values if isinstance(x, LoDTensor) else x for x in tensors]
    return [np.array(x.detach().tolist()) if isinstance(x, torch.Tensor) else x for x in found]


def _batch(values, lengths, shape):
    tensor, change = _changed(values, shape)
    x = LoDTensor(tensor, lengths)
    change()
    return _numbers(lodkit.relu(x), lodkit.sequence_pool(x), x[1:], lodkit_torch.sequence_pool(x))


def _rows(values, shape):
    tensor, change = _changed(values, shape)
    grad = SelectedRows([4, 1, 4], tensor, 6)
    change()
    return _numbers(grad.to_dense(), (grad * 2).value)


def _bags(values, ids, shape):
    tensor, change = _changed(values, shape)
    bags = LoDTensor(np.array(ids), [[2, 1]])
    change()
    return _numbers(lodkit.embedding_bag(tensor, bags), lodkit_torch.lookup_table(tensor, torch.tensor(ids)))


def _step(values, shape):
    """A step of an optimizer whose parameter, or its gradient, was changed since the backward pass."""
    tensor, change = _changed(values, shape)
    if tensor.dtype != torch.float32 or tensor.shape != (3, 2):
        raise TypeError("PyTorch takes a gradient like the parameter")
    param = torch.nn.Parameter(torch.ones(3, 2))
    param.grad = tensor
    change()
    lodkit_torch.optim.SGD([param], lr=1.0).step()
    return _numbers(param)


SETTINGS |= {
    "Tensor of a batch": lambda rng: (
        _batch,
        np.ones((3, 2), np.float32),
        [[2, 1]],
        rng.choice([None, [3, 2], [1, 2]]),
    ),
    "Tensor of rows": lambda rng: (_rows, GRAD, rng.choice([None, [3, 2], [1, 2]])),
    "Tensor of a table": lambda rng: (_bags, np.ones((6, 2), np.float32), [1, 5, 2], rng.choice([None, [2, 2]])),
    "Tensor of a gradient": lambda rng: (_step, GRAD, rng.choice([None, [3, 2], [1, 2]])),
}
