"""Gradients that Caffe2 publishes by name: of segment reductions, and of two operators that move rows.

Without the data as an input they know it only through the number of its rows. The fused Sparse* reductions have the
gradient of the rows that they gather, one for each index.
"""

from __future__ import annotations

from .. import ops
from ..arrays import check_rows, to_tuple
from ..base.errors import ShapeMismatchError
from ._common import array, height, lod_tensor
from ._reductions import REDUCTIONS, REPRESENTATIONS


def _rows(grads, segments, lengths):
    """The gradient of its segment, for every row."""
    return ops.lengths_tile(grads, segments) if lengths else ops.gather(grads, segments)


def _data_gradient(name, reduce):
    """Gradient by the data of a sum or a mean: ``grads, segments``; some have indices too, which they do not need."""
    lengths = name == "Lengths"

    def run(segment_grads, segments, indices=None):
        rows = _rows(segment_grads, segments, lengths)
        if reduce == "sum":
            return rows
        segments, attrs = REPRESENTATIONS[name](segments)
        return ops.segment_reduce_grad(rows, segments, segment_grads, segment_grads, reduce=reduce, **attrs)

    return run


def _weighted_gradient(name):
    """Gradient of a weighted sum by its data: ``weights, grads, segments``."""

    def run(weights, segment_grads, segments, indices=None):
        rows = _rows(segment_grads, segments, name == "Lengths")
        segments, attrs = REPRESENTATIONS[name](segments)
        return ops.segment_reduce_grad(rows, segments, segment_grads, segment_grads, weights, **attrs)

    return run


def weighted_with_main_input(weights, segment_grads, lengths, data, indices=None, *, grad_on_weights=1):
    """The gradients of LengthsWeightedSum, or with indices SparseLengthsWeightedSum, by its rows and by its weights."""
    inputs = lengths, segment_grads, segment_grads, weights
    by_data = _weighted_gradient("Lengths")(weights, segment_grads, lengths)
    return by_data, ops.segment_reduce_weights_grad(data, *inputs, indices)


def max_with_main_input(output, segment_grads, lengths, data):
    return ops.segment_reduce_grad(data, lengths, output, segment_grads, reduce="max")


def _range(reduce):
    def run(data, output, segment_grads, segment_ids):
        segments, attrs = REPRESENTATIONS["SortedSegmentRange"](segment_ids)
        return ops.segment_reduce_grad(data, segments, output, segment_grads, reduce=reduce, **attrs)

    return run


def batch_gather(data, indices, grad, *, axis=1, match_outer=0):
    return ops.batch_gather_grad(data, indices, grad, axis=axis, match_outer=bool(match_outer))


def sparse_to_dense_mask(indices, output_grad, lengths=None, *, mask):
    """The gradient by the values, which are known only as the items of that of the result."""
    mask = to_tuple(mask, "SparseToDenseMaskGradient: mask")
    ids = indices if lengths is None else lod_tensor(indices, lengths)
    grad = array(output_grad)
    if not mask:
        raise ValueError("SparseToDenseMaskGradient: mask is empty; give the ids whose items the result has")
    if lengths is not None and (grad.ndim < 2 or grad.shape[1] != len(mask)):
        raise ShapeMismatchError(
            f"output_grad must have {len(mask)} items, one per id of mask, for each segment; "
            f"got shape {tuple(grad.shape)}"
        )
    items = check_rows(grad, "output_grad")[:1] if lengths is None else grad[:, 0]
    values = ops.lengths_tile(items, [height(indices, "indices")] if lengths is None else lengths)
    return ops.sparse_to_dense_mask_grad(ids, values, output_grad, mask=mask)[0]


_WITHOUT_DATA = {"Sum": "sum", "Mean": "mean"}
OPERATORS: dict = {
    f"{sparse}{name}{reduction}Gradient": _data_gradient(name, reduce)
    for sparse in ("", "Sparse")
    for name in ("SortedSegment", "UnsortedSegment", "Lengths")
    for reduction, reduce in _WITHOUT_DATA.items()
}
OPERATORS |= {
    f"{sparse}{name}WeightedSumGradient": _weighted_gradient(name)
    for sparse in ("", "Sparse")
    for name in ("SortedSegment", "UnsortedSegment", "Lengths")
}
for _sparse in ("", "Sparse"):
    for _reduction, _reduce in _WITHOUT_DATA.items():
        OPERATORS[f"{_sparse}LengthsIndicesInGradient{_reduction}Gradient"] = _data_gradient("Lengths", _reduce)
    OPERATORS[f"{_sparse}LengthsWeightedSumWithMainInputGradient"] = weighted_with_main_input
OPERATORS |= {
    "BatchGatherGradient": batch_gather,
    "SparseToDenseMaskGradient": sparse_to_dense_mask,
    "SparseLengthsIndicesInGradientWeightedSumGradient": _weighted_gradient("Lengths"),
    "SparseLengthsIndicesInGradientWeightedSumWithMainInputGradient": weighted_with_main_input,
    "LengthsMaxWithMainInputAndForwardOutputGradient": max_with_main_input,
    **{
        f"SortedSegmentRange{name}Gradient": _range(REDUCTIONS[name])
        for name in ("Sum", "Mean", "Max", "LogSumExp", "LogMeanExp")
    },
}
