"""``EmbeddingBag`` in the graphs of torch.compile and torch.export: custom operators over what the module runs.

``torch.ops.lodkit.bags`` and its gradients take ids and offsets as the module does, and check them where they run. Ten
bags take 3 us in the kernel: each operator is one function of Python, and nothing else of a call is left to the graph.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.compiler import is_exporting

from ...base.errors import RowIndexError
from .bag_function import differentiate_rows, differentiate_weights, factors_of, reduce_bags, rows_to_dense
from .bag_inputs import bags_of, check_places, check_pool, copy_ids, drop_padding, weights_of

_IDS = (torch.int64, torch.int32)
_library = torch.library.Library("lodkit", "FRAGMENT")
_BAGS = "Tensor ids, Tensor? offsets, Tensor? weights, str mode, bool include_last_offset, int? padding_idx"


def _define(name, schema, run, fake):
    """Define a custom operator of bags on the CPU. Returns it."""
    _library.define(f"{name}{schema}")
    _library.impl(name, run, "CPU")
    torch.library.register_fake(f"lodkit::{name}", fake, lib=_library)
    return getattr(torch.ops.lodkit, name).default


def _keep_read(bags, dtype, ids, weights, padding_idx):
    """Bags that are read, and the weights of their ids, as the module takes them."""
    if weights is not None:
        weights = weights_of(weights, ids, bags, dtype)
    return (bags, weights) if padding_idx is None else drop_padding(bags, weights, padding_idx)


def _reduce(table, ids, offsets, weights, mode, whole, padding_idx, kind=None):
    bags = bags_of(ids, offsets, whole)
    if padding_idx is not None:
        check_places(ids, bags, table.shape[0])
    bags, factors = _keep_read(bags, table.dtype, ids, weights, padding_idx)
    try:
        return reduce_bags(table, factors, bags, mode)
    except RowIndexError:
        check_places(ids, bags, table.shape[0])
        raise


def _fake_reduce(table, ids, offsets, weights, mode, whole, padding_idx, kind=None):
    count = ids.shape[0] if ids.ndim == 2 else offsets.shape[0] - whole
    return table.new_empty((count, *table.shape[1:]))


def _read_again(shape, grad, ids, offsets, weights, whole, padding_idx):
    """The bags of a call in backward and weights for kernels; ids are copied, and checked again."""
    bags = copy_ids(bags_of(ids, offsets, whole))
    check_places(ids, bags, shape[0])
    bags, weights = _keep_read(bags, grad.dtype, ids, weights, padding_idx)
    return bags, factors_of(weights)


def _differentiate_sparse(grad, table, shape, ids, offsets, weights, mode, whole, padding_idx):
    bags, factors = _read_again(shape, grad, ids, offsets, weights, whole, padding_idx)
    rows = differentiate_rows(table, tuple(shape), bags, factors, grad, mode)
    return torch.from_numpy(bags._values), rows


def _fake_sparse(grad, table, shape, ids, offsets, weights, mode, whole, padding_idx):
    # The rows of padding ids are left out.
    count = ids.numel() if padding_idx is None else torch.library.get_ctx().new_dynamic_size()
    return ids.new_empty(count, dtype=torch.int64), grad.new_empty((count, *shape[1:]))


def _differentiate_dense(grad, table, shape, ids, offsets, weights, mode, whole, padding_idx, kind):
    bags, factors = _read_again(shape, grad, ids, offsets, weights, whole, padding_idx)
    rows = differentiate_rows(table, tuple(shape), bags, factors, grad, mode, rounds=False)
    return rows_to_dense(bags._values, rows, shape, kind == "frequency", grad.dtype)


def _fake_dense(grad, table, shape, ids, offsets, weights, mode, whole, padding_idx, kind):
    return grad.new_empty(shape)


def _differentiate_weights(grad, table, ids, offsets, weights, mode, whole, padding_idx):
    bags, factors = _read_again(table.shape, grad, ids, offsets, weights, whole, padding_idx)
    found = differentiate_weights(table, bags, factors, grad, mode)
    if len(found) < ids.numel():
        kept = (ids != padding_idx).reshape(-1)
        found = found.new_zeros(ids.numel()).masked_scatter_(kept, found)
    return found.reshape(weights.shape)


def _fake_weights(grad, table, ids, offsets, weights, mode, whole, padding_idx):
    return torch.empty_like(weights, memory_format=torch.contiguous_format)


# What compiled graphs call: an operator with a rule for autograd takes 10 us more, also where nothing is recorded.
_detached = _define("bags_detached", f"(Tensor table, {_BAGS}) -> Tensor", _reduce, _fake_reduce)
_bags = _define("bags", f"(Tensor table, {_BAGS}, str kind) -> Tensor", _reduce, _fake_reduce)
_SHAPE = "Tensor grad, Tensor? table, SymInt[] shape"
_by_sparse = _define("bags_sparse", f"({_SHAPE}, {_BAGS}) -> (Tensor, Tensor)", _differentiate_sparse, _fake_sparse)
_by_dense = _define("bags_dense", f"({_SHAPE}, {_BAGS}, str kind) -> Tensor", _differentiate_dense, _fake_dense)
_by_weights = _define(
    "bags_weights", f"(Tensor grad, Tensor table, {_BAGS}) -> Tensor", _differentiate_weights, _fake_weights
)


class _Recorded(torch.autograd.Function):
    """``bags`` where torch.autograd records: an exported graph keeps it, a compiled one keeps what it calls."""

    @staticmethod
    def forward(ctx, table, ids, offsets, weights, *settings):
        *ctx.settings, ctx.kind = settings
        ctx.shape, is_read = table.shape, ctx.settings[0] == "max" or ctx.needs_input_grad[3]
        ctx.save_for_backward(table if is_read else None, ids, offsets, weights)
        return _detached(table, ids, offsets, weights, *ctx.settings)

    @staticmethod
    @once_differentiable
    def backward(ctx, grad):
        table, *bags = ctx.saved_tensors
        needs, by_table, by_weights = ctx.needs_input_grad, None, None
        grad = grad.contiguous()
        if needs[0] and ctx.kind == "sparse":
            rows, values = _by_sparse(grad, table, ctx.shape, *bags, *ctx.settings)
            by_table = torch.sparse_coo_tensor(rows.unsqueeze(0), values, ctx.shape, check_invariants=False)
        elif needs[0]:
            by_table = _by_dense(grad, table, ctx.shape, *bags, *ctx.settings, ctx.kind)
        if needs[3]:
            by_weights = _by_weights(grad, table, *bags, *ctx.settings)
        return by_table, None, None, by_weights, None, None, None, None


def _record(*call):
    """What ``bags`` is to torch.autograd, and so to compiled graphs, which are traced below it."""
    table, weights = call[0], call[3]
    if torch.is_grad_enabled() and (table.requires_grad or (weights is not None and weights.requires_grad)):
        return _Recorded.apply(*call)
    return _detached(*call[:-1])


_library.impl("bags", _record, "Autograd")


def _is_left_out(module, x, offsets, weights):
    """Whether a compiled graph leaves a call to eager: what it cannot hold, and what is refused there.

    Nothing is asked that the graph does not need: each answer is a guard, which is looked at in every call.
    """
    mode, sparse, counts = module.mode, module.sparse, module.scale_grad_by_freq
    if module.fused or module.max_norm is not None or (counts and (sparse or mode == "max")):
        return True
    # How many rows the gradient has follows from the ids then, and graphs that may break hold no such size.
    if sparse and module.padding_idx is not None:
        return True
    if mode != "mean" and mode != "sum" and (mode != "max" or sparse):
        return True
    if not isinstance(x, Tensor) or x.is_nested or not x.is_cpu or not module.weight.is_cpu:
        return True
    if weights is not None and (mode != "sum" or not isinstance(weights, Tensor)):
        return True
    if x.ndim == 2:
        return offsets is not None
    return x.ndim != 1 or not isinstance(offsets, Tensor) or offsets.ndim != 1


def _refuse(module, x, offsets, weights):
    """Raise where torch.export takes no such call."""
    module._check()
    check_pool(weights, module.mode)
    if module.max_norm is not None:
        raise ValueError(f"torch.export takes no max_norm={module.max_norm}; set module.max_norm to its default before")
    if not module.weight.is_cpu:
        raise TypeError(
            f"torch.export takes a table on the CPU, not on {module.weight.device}; call module.cpu() before"
        )
    if not isinstance(x, Tensor) or x.is_nested or x.ndim not in (1, 2) or x.dtype not in _IDS:
        raise TypeError("torch.export takes tensors of int32 or int64 with one or two dimensions as input")
    if x.ndim == 2 and offsets is not None:
        raise ValueError("input has two dimensions, one bag a row: offsets must be None then")
    if x.ndim == 1 and offsets is None:
        raise ValueError("offsets must be a tensor of one dimension where input has one")


_eager = torch.compiler.disable(lambda module, x, offsets, weights: module._forward(x, offsets, weights))


def call_in_graph(module, x, offsets, weights):
    """What ``module(x, offsets, weights)`` gives, in a graph. Ids and offsets are checked where the graph runs."""
    if is_exporting():
        _refuse(module, x, offsets, weights)
    elif _is_left_out(module, x, offsets, weights):
        return _eager(module, x, offsets, weights)
    kind = "sparse" if module.sparse else "frequency" if module.scale_grad_by_freq else "dense"
    settings = module.mode, module.include_last_offset, module.padding_idx, kind
    return _bags(module.weight, x, offsets, weights, *settings)
