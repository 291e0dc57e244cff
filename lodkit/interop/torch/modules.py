"""Modules: ``EmbeddingBag``, a drop-in for PyTorch's, and ``SequencePool``."""

from __future__ import annotations

import typing
from typing import Any, Literal, Self

import torch
from torch.compiler import is_compiling

from ...base.errors import DTypeError, RowIndexError
from ...base.tracebacks import shorten
from ...lod import LoDTensor
from ...ops.sequence_pool import Pool, sequence_pool
from .autograd import differentiable
from .bag_function import Bag, reduce_bags
from .bag_in_graphs import call_in_graph
from .bag_inputs import bags_of, check_places, check_pool, copy_ids, drop_padding, renorm, weights_of
from .bag_on_gpu import call_on_gpu
from .nested import from_nested, ragged

POOLS = typing.get_args(Pool)
_DDP = torch.nn.parallel.DistributedDataParallel
_FLOATS = frozenset((torch.float32, torch.float64, torch.float16, torch.bfloat16))
#: (mode, sparse, fused, scale_grad_by_freq, dtype) of frequent settings -> the kind of the table's gradient.
_PLAIN = {
    (mode, sparse, fused, False, dtype): "fused" if fused else "sparse" if sparse else "dense"
    for mode in ("sum", "mean")
    for sparse in (False, True)
    for fused in (False, True)
    for dtype in (torch.float32, torch.float64)
}


class EmbeddingBag(torch.nn.EmbeddingBag):
    """``torch.nn.EmbeddingBag`` by lodkit's kernels: the same arguments, parameters, results and gradients.

    Parameters
    ----------
    num_embeddings, embedding_dim, max_norm, norm_type, scale_grad_by_freq, mode, sparse, _weight, \
include_last_offset, padding_idx, device, dtype
        As in PyTorch.
    fused : bool
        Backward leaves a ``BagGradient`` in ``weight.grad``: ids and the gradient of the bags, not a row for every id.
        The optimizers of ``lodkit.interop.torch.optim`` update the table by it in one pass; the numbers are the same.
        With modes sum and mean; on the CPU. Within DistributedDataParallel, which
        sums sparse and dense gradients alone, and in exported graphs the gradient is sparse.

    Examples
    --------
    >>> import torch, lodkit.interop.torch
    >>> table = torch.tensor([[0., 1.], [2., 3.], [4., 5.]])
    >>> bag = lodkit.interop.torch.EmbeddingBag.from_pretrained(table, mode="sum")
    >>> bag(torch.tensor([2, 2, 1]), torch.tensor([0, 2]))
    tensor([[ 8., 10.],
            [ 2.,  3.]])
    >>> bag(lodkit.LoDTensor([2, 2, 1], [[2, 0, 1]]))
    tensor([[ 8., 10.],
            [ 0.,  0.],
            [ 2.,  3.]])
    """

    fused = False

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: Literal["sum", "mean", "max"] = "mean",
        sparse: bool = False,
        _weight: torch.Tensor | None = None,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
        device: torch.device | str | int | None = None,
        dtype: torch.dtype | None = None,
        *,
        fused: bool = False,
    ) -> None:
        super().__init__(
            num_embeddings,
            embedding_dim,
            max_norm,
            norm_type,
            scale_grad_by_freq,
            mode,
            sparse or fused,  # what DistributedDataParallel is to expect
            _weight,
            include_last_offset,
            padding_idx,
            device,
            dtype,
        )
        self.fused = fused
        self._check()

    @classmethod
    def from_pretrained(cls, embeddings: torch.Tensor, *args: Any, fused: bool = False, **kwargs: Any) -> Self:
        """Make a module from a table, as PyTorch does; ``fused`` as in the constructor."""
        made: Any = super().from_pretrained(embeddings, *args, **kwargs)
        made.fused, made.sparse = fused, made.sparse or fused
        made._check()
        return made

    def _check(self):
        """The kind of the table's gradient; refuses settings that contradict each other."""
        mode, dtype = self.mode, self.weight.dtype
        if mode not in ("sum", "mean", "max"):
            raise ValueError(f"mode must be 'sum', 'mean' or 'max', got {mode!r}")
        if dtype not in _FLOATS:
            raise DTypeError(f"the table must be of floating numbers, not {dtype}")
        if self.fused and (mode == "max" or self.scale_grad_by_freq):
            raise ValueError("fused=True takes modes sum and mean, and scale_grad_by_freq=False; leave out fused")
        if mode == "max" and (self.sparse or self.scale_grad_by_freq):
            which = "sparse gradients" if self.sparse else "scale_grad_by_freq"
            raise ValueError(f"mode='max' takes no {which}, as in PyTorch")
        if self.scale_grad_by_freq and self.sparse:
            raise ValueError("scale_grad_by_freq takes dense gradients: sparse=False, as in PyTorch")
        if self.fused:
            return "fused"
        return "sparse" if self.sparse else "frequency" if self.scale_grad_by_freq else "dense"

    def forward(
        self,
        input: torch.Tensor | LoDTensor,
        offsets: torch.Tensor | None = None,
        per_sample_weights: torch.Tensor | LoDTensor | None = None,
    ) -> Any:
        """Reduce bags of rows of the table.

        Parameters
        ----------
        input : tensor of int32 or int64, or LoDTensor
            Ids of shape (N,), with offsets; (bags, length), one bag a row; a jagged nested tensor, or a LoDTensor,
            whose innermost sequences are the bags.
        offsets : tensor of int32 or int64, optional
            Where each bag starts; with ``include_last_offset`` also where the last one ends, which is N.
        per_sample_weights : like ``input``, optional
            A factor for each id, with mode sum.

        Returns
        -------
        Tensor of shape (bags, embedding_dim). For a LoDTensor of several levels, a LoDTensor of the levels above.

        Raises
        ------
        RowIndexError
            An id is negative or not below ``num_embeddings``; the message gives its position.
        """
        if is_compiling():
            return call_in_graph(self, input, offsets, per_sample_weights)
        try:
            return self._forward(input, offsets, per_sample_weights)
        except Exception as error:
            shorten(error)
            raise

    def _forward(self, input, offsets, weights):
        # Takes 0.4 us less than self.weight.
        weight, mode = self._parameters.get("weight"), self.mode
        # The weight is parametrized.
        if weight is None:
            weight = self.weight
        kind = _PLAIN.get((mode, self.sparse, self.fused, self.scale_grad_by_freq, weight.dtype)) or self._check()
        check_pool(weights, mode)
        if not weight.is_cpu:
            return call_on_gpu(self, kind, input, offsets, weights)
        bags = bags_of(input, offsets, self.include_last_offset)
        if weights is not None:
            weights = weights_of(weights, input, bags, weight.dtype)
        if self.padding_idx is not None or self.max_norm is not None:
            check_places(input, bags, len(weight))
            if self.max_norm is not None and len(bags._values):
                renorm(weight, torch.from_numpy(copy_ids(bags)._values), self.max_norm, self.norm_type)
            if self.padding_idx is not None:
                bags, weights = drop_padding(bags, weights, self.padding_idx)
        try:
            if torch.is_grad_enabled() and (weight.requires_grad or (weights is not None and weights.requires_grad)):
                if kind == "fused" and _DDP._active_ddp_module is not None:
                    kind = "sparse" if self.sparse else "dense"  # its reducer takes no others
                out = Bag.apply(weight, weights, (copy_ids(bags), mode, kind))
            else:
                out = reduce_bags(weight, weights, bags, mode)
        except RowIndexError:
            check_places(input, bags, len(weight))
            raise
        return out if len(bags._lod) == 1 else LoDTensor._wrap(out, bags._lod[:-1])

    def extra_repr(self) -> str:
        return super().extra_repr() + (", fused=True" if self.fused else "")


class SequencePool(torch.nn.Module):
    """Reduce the rows of every sequence of a level to one row: ``lodkit.sequence_pool`` as a module.

    Parameters
    ----------
    pool : {"sum", "average", "mean", "sqrt", "max", "min", "prod", "logsumexp", "logmeanexp", "first", "last"}
    level : int
        Level of the sequences; the innermost by default.
    pad_value : float
        The result for an empty sequence.

    Examples
    --------
    >>> import torch, lodkit.interop.torch
    >>> words = torch.tensor([[1.], [2.], [4.]], requires_grad=True)
    >>> pool = lodkit.interop.torch.SequencePool(pool="max")
    >>> pool(words, torch.tensor([0, 1, 1, 3]))
    tensor([[1.],
            [0.],
            [4.]], grad_fn=<RecordedBackward>)
    """

    def __init__(self, pool: Pool = "sum", level: int = -1, pad_value: float = 0.0) -> None:
        super().__init__()
        if pool not in POOLS:
            raise ValueError(f"pool must be one of {', '.join(POOLS)}, got {pool!r}")
        self.pool, self.level, self.pad_value = pool, level, float(pad_value)

    def forward(self, x: torch.Tensor | LoDTensor, offsets: torch.Tensor | None = None) -> Any:
        """Pool a LoDTensor whose values are a tensor, a jagged nested tensor, or a tensor of rows and its offsets.

        Returns
        -------
        Tensor of one row a sequence. For a LoDTensor with levels above, a LoDTensor of these.
        """
        if is_compiling():
            return self._forward(x, offsets)
        try:
            return self._forward(x, offsets)
        except Exception as error:
            shorten(error)
            raise

    def _forward(self, x, offsets):
        return _pool(_sequences(x, offsets), pool=self.pool, level=self.level, pad_value=self.pad_value)

    def extra_repr(self) -> str:
        return f"pool={self.pool!r}, level={self.level}"


_pool = differentiable(sequence_pool)


def _sequences(x, offsets):
    """What ``SequencePool.forward`` takes, as a LoDTensor."""
    if isinstance(x, torch.Tensor) and not x.is_nested:
        if offsets is None:
            raise ValueError("a tensor of rows needs offsets: where each sequence starts, and where the last one ends")
        return ragged(x, offsets=[offsets])
    if not isinstance(x, LoDTensor | torch.Tensor):
        raise TypeError(f"x must be a LoDTensor, a nested tensor, or a tensor with offsets, got {type(x).__name__}")
    if offsets is not None:
        raise ValueError(f"x, a {type(x).__name__}, has offsets of its own; leave out offsets")
    return x if isinstance(x, LoDTensor) else from_nested(LoDTensor, x)
