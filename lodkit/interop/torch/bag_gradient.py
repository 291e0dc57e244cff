"""The gradient of a table as the bags' gradient and their ids: what a fused backward leaves in ``param.grad``."""

from __future__ import annotations

import typing

import numpy as np
import torch

from ...arrays import compute_dtype, upcast
from ...arrays.tensors import check_storage
from ...lod import LoDTensor, SelectedRows
from ...lod.levels import freeze
from ...lod.offsets import lengths_to_offsets
from ...ops.embedding import embedding_bag_grad
from .operands import bits, tensor

_aten = torch.ops.aten
# Gradients of more backward passes are merged.
MAX_PENDING_BACKWARDS = 8


class Part(typing.NamedTuple):
    """The bags of one backward: ids that were copied, their gradient, weights of the ids, the pool."""

    bags: LoDTensor
    grad: torch.Tensor
    weights: np.ndarray | None
    pool: str

    @classmethod
    def of(cls, bags, grad, weights, pool):
        return cls(bags, grad.contiguous(), weights, pool)

    @classmethod
    def of_rows(cls, rows, value):
        """Rows of a table's gradient: bags of one id each."""
        ids = np.array(rows, np.int64)
        bags = LoDTensor._wrap(freeze(ids), (freeze(np.arange(len(ids) + 1)),))
        return cls.of(bags, value.detach(), None, "sum")

    def times(self, factor):
        return Part.of(self.bags, self.grad * factor, self.weights, self.pool)

    def array(self):
        """The gradient of the bags."""
        return bits(self.grad, "the gradient")

    def factors(self):
        """A factor for each id: with these the bags are summed."""
        offsets, plain = self.bags._lod[-1], compute_dtype(self.array().dtype)
        if self.pool == "sum":
            ones = np.ones(int(offsets[-1]), plain)
            return ones if self.weights is None else upcast(self.weights)
        lengths = np.diff(offsets)
        return np.repeat((1 / np.maximum(lengths, 1)).astype(plain), lengths)


class BagGradient(torch.Tensor):
    """The gradient of the table of ``EmbeddingBag(..., fused=True)``, kept as ids and the gradient of the bags.

    The optimizers of ``lodkit.interop.torch.optim`` update the table by it in one pass, without a row for every id.
    BagGradients add to other gradients (accumulation, shared tables), are scaled, detached, cloned and zeroed, and has
    a norm, so that ``clip_grad_norm_`` works. Other functions of PyTorch raise: they would need rows, which
    ``to_sparse`` gives.

    Examples
    --------
    >>> import torch, lodkit.interop.torch
    >>> bag = lodkit.interop.torch.EmbeddingBag(5, 2, mode="sum", fused=True)
    >>> bag(torch.tensor([[1, 3], [3, 3]])).sum().backward()
    >>> bag.weight.grad
    BagGradient(of a table of shape (5, 2): 4 ids in 2 bags)
    >>> bag.weight.grad.selected_rows().merge()
    SelectedRows(rows=[1, 3], value=[[1., 1.], [3., 3.]], height=5)
    """

    parts: tuple[Part, ...]
    __torch_function__ = torch._C._disabled_torch_function_impl  # type: ignore[assignment]

    @staticmethod
    def _make(shape, dtype, parts):
        made = torch.Tensor._make_wrapper_subclass(BagGradient, shape, dtype=dtype, device="cpu")
        made.parts = tuple(parts)
        return made

    @classmethod
    def of(cls, shape, bags, grad, weights, pool):
        """Make the gradient of one backward, of ids that no code writes.

        Weights and the gradient of the bags are copied, because a step may come much later. PyTorch may add to the
        gradient's memory if another leaf shares it.
        """
        copied, grad = None if weights is None else np.array(weights), grad.detach().clone()
        bags = LoDTensor._wrap(bags._values, bags._lod[-1:])
        return cls._make(shape, grad.dtype, [Part.of(bags, grad, copied, pool)])

    def selected_rows(self) -> SelectedRows:
        """Return the gradient as SelectedRows: a row for each id, of all backwards, not merged; halves in float32."""
        bags, grad, weights, pool = self.joined()
        weights = None if weights is None else upcast(weights)
        return embedding_bag_grad(_like(self), bags, upcast(grad), weights, pool=pool)

    def share_memory_(self):
        raise NotImplementedError("the gradient of a fused EmbeddingBag has no memory to share; call zero_grad() first")

    def to_sparse(self) -> torch.Tensor:  # type: ignore[override]
        """Return the gradient as a sparse COO tensor, not coalesced."""
        return self.selected_rows().to_torch().to(self.dtype)

    def to_dense(self) -> torch.Tensor:  # type: ignore[override]
        """Return the gradient as a tensor of the table's shape."""
        return torch.from_numpy(self.selected_rows().to_dense()).to(self.dtype)

    def joined(self):
        """Join bags, their gradient, weights and pool of all backwards: the inputs of ``embedding_bag_<rule>``."""
        parts = self.parts or (Part.of_rows([], torch.empty((0, *self.shape[1:]), dtype=self.dtype)),)
        if len(parts) == 1:
            return parts[0].bags, parts[0].array(), parts[0].weights, parts[0].pool
        same = all(part.weights is None for part in parts) and len({part.pool for part in parts}) == 1
        flat = np.concatenate([part.bags._values for part in parts])
        lengths = np.concatenate([np.diff(part.bags._lod[-1]) for part in parts])
        grad = np.concatenate([part.array() for part in parts])
        weights = None if same else np.concatenate([part.factors() for part in parts])
        bags = LoDTensor._wrap(freeze(flat), (freeze(lengths_to_offsets(lengths)),))
        return bags, grad, weights, parts[0].pool if same else "sum"

    def __repr__(self, *, tensor_contents=None):
        ids, bags = (sum(map(count, self.parts)) for count in (lambda p: len(p.bags._values), lambda p: len(p.grad)))
        return f"BagGradient(of a table of shape {tuple(self.shape)}: {ids} ids in {bags} bags)"

    def __reduce_ex__(self, protocol):
        raise TypeError("a BagGradient lives from backward to step and is not pickled; pickle grad.to_sparse()")

    def __deepcopy__(self, memo):
        return BagGradient._make(self.shape, self.dtype, self.parts)

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        rule = _RULES.get(func)
        if rule is None:
            raise NotImplementedError(
                f"{func} of the gradient of a fused EmbeddingBag, which has no rows: use an optimizer of "
                "lodkit.interop.torch.optim, or grad.to_sparse(), or make the module with fused=False"
            )
        return rule(*args, **(kwargs or {}))


def _like(x):
    """An array like the table, without memory."""
    dtype = compute_dtype(x.parts[0].array().dtype) if x.parts else np.float32
    return np.broadcast_to(np.zeros((), dtype), tuple(x.shape))


def rows_of(x, name="the gradient"):
    """SelectedRows over arrays, of a sparse COO tensor; over tensors on a GPU, where bfloat16 becomes float32."""
    # Kernels lack bfloat16 on a GPU.
    if x.is_cuda and x.dtype is torch.bfloat16:
        for part in (x._indices(), x._values()):
            check_storage(part, name)
        x = x.float()
    found = SelectedRows.from_torch(x)
    return found._with_value(bits(found.value, name)) if found.value.is_cpu else found


def _parts_of(x):
    """The parts of any gradient of a table."""
    if isinstance(x, BagGradient):
        return x.parts
    if x.layout is torch.sparse_coo:
        found = rows_of(x)
        return (Part.of_rows(found._rows, tensor(found.value)),)
    return (Part.of_rows(np.arange(len(x)), x),)


def _scale(x, factor):
    """A gradient times a number, or a tensor of one."""
    if isinstance(factor, BagGradient) or (isinstance(factor, torch.Tensor) and factor.numel() != 1):
        raise NotImplementedError("the gradient of a fused EmbeddingBag is scaled by one number; make it fused=False")
    factor = float(factor)
    return tuple(part.times(factor) for part in x.parts) if factor != 1 else x.parts


def _made_like(x, parts):
    return BagGradient._make(x.shape, x.dtype, parts)


def _replace(x, parts):
    x.parts = _merge_pending(x, parts)
    return x


def _merge_pending(x, parts):
    """Merge accumulated parts that hold more ids than the table has rows: with momentum they would grow for ever."""
    if len(parts) <= MAX_PENDING_BACKWARDS or sum(len(part.bags._values) for part in parts) <= 2 * len(x):
        return tuple(parts)
    merged = _made_like(x, tuple(parts)).selected_rows().merge()
    return (Part.of_rows(merged._rows, torch.from_numpy(merged.value).to(x.dtype)),)


def _add(x, other, *, alpha=1):
    """The sum: as bags where none of both is dense."""
    if not isinstance(other, torch.Tensor):
        raise NotImplementedError("the gradient of a fused EmbeddingBag adds to tensors; make the module fused=False")
    if not isinstance(x, BagGradient) and x.layout is torch.strided:
        return torch.add(x, other.to_sparse(), alpha=alpha)
    if not isinstance(other, BagGradient) and other.layout is torch.strided:
        return torch.add(other if alpha == 1 else other * alpha, x.to_sparse())
    added = _parts_of(other) if alpha == 1 else tuple(part.times(alpha) for part in _parts_of(other))
    return _made_like(x, _merge_pending(x, (*_parts_of(x), *added)))


def _add_in_place(x, other, *, alpha=1):
    if not isinstance(x, BagGradient):
        return x.add_(other.to_sparse(), alpha=alpha)
    added = _parts_of(other) if alpha == 1 else tuple(part.times(alpha) for part in _parts_of(other))
    return _replace(x, (*x.parts, *added))


def _norm(x, ord=2, dim=None, keepdim=False, *, dtype=None):
    """The norm of all elements: of the merged rows, as others are 0."""
    if dim is not None or keepdim or not ord > 0:
        raise NotImplementedError(f"the norm of order {ord}, along {dim}, of the gradient of a fused EmbeddingBag")
    if not x.parts:
        return torch.zeros((), dtype=dtype or x.dtype)
    return torch.linalg.vector_norm(torch.from_numpy(x.selected_rows().merge().value), ord, dtype=dtype)


def _is_finite(x):
    """Whether all sums of a gradient are finite; by a bound of them, where this says so without a row for every id."""
    bound = 0.0
    for part in x.parts:
        lengths = np.diff(part.bags._lod[-1])
        most = np.abs(upcast(part.array()).reshape(len(lengths), -1)).max(axis=1, initial=0).astype(np.float64)
        with np.errstate(invalid="ignore", over="ignore"):  # of inf: what is not sure is looked at below
            if part.weights is None:
                bound += most[lengths > 0] @ lengths[lengths > 0]
            else:
                bound += np.repeat(most, lengths) @ np.abs(upcast(part.weights), dtype=np.float64)
    if bound <= torch.finfo(x.dtype).max:
        return True
    return bool(np.isfinite(x.selected_rows().merge().value).all())


def _unscale(grads, found_inf, inv_scale):
    """What ``torch.amp.GradScaler`` does to gradients: divide by the scale, and say where one is not finite."""
    others = [x for x in grads if not isinstance(x, BagGradient)]
    if others:
        torch._amp_foreach_non_finite_check_and_unscale_(others, found_inf, inv_scale)
    for x in grads:
        if isinstance(x, BagGradient):
            if not _is_finite(x):
                found_inf.fill_(1)
            _replace(x, _scale(x, inv_scale))


#: PyTorch's functions that this gradient has.
_RULES = {
    _aten.detach.default: lambda x: _made_like(x, x.parts),
    _aten.alias.default: lambda x: _made_like(x, x.parts),
    _aten.clone.default: lambda x, memory_format=None: _made_like(x, x.parts),
    _aten.add.Tensor: _add,
    _aten.add_.Tensor: _add_in_place,
    _aten.mul.Tensor: lambda x, factor: _made_like(x, _scale(x, factor)),
    _aten.mul_.Tensor: lambda x, factor: _replace(x, _scale(x, factor)),
    _aten.div.Tensor: lambda x, divisor: _made_like(x, _scale(x, 1 / float(divisor))),
    _aten.div_.Tensor: lambda x, divisor: _replace(x, _scale(x, 1 / float(divisor))),
    _aten.neg.default: lambda x: _made_like(x, _scale(x, -1)),
    _aten.zero_.default: lambda x: _replace(x, ()),
    _aten.linalg_vector_norm.default: _norm,
    _aten._amp_foreach_non_finite_check_and_unscale_.default: _unscale,
}
