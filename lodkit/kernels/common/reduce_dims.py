"""Kernels of lodkit/ops/reduce_dims.py: the front is one segment of rows, the back many of numbers."""

from __future__ import annotations

from ... import ops
from ...arrays import check_values
from ...ops.reduce_dims import check_columns, check_grad_output


def _as_segments(on, data, weights, lengths, where, num_dims, reduce):
    """Rows, which of them (None: all), offsets, the shape of a reduced row per segment, and that of the result."""
    rows, columns, kept = check_columns(data, weights, lengths, where, num_dims, reduce)
    if lengths is not None:
        steps = (columns, 1) if where == "front" else (1, rows)
        offsets, positions = on.reduce_dims.positions(data, lengths, rows, *steps)
        return data.reshape(data.size), positions, offsets, (columns,), kept
    if where == "front":
        return data.reshape(rows, *kept), None, on.reduce_dims.even_offsets(data, 1, rows), (1, *kept), kept
    return data.reshape(data.size), None, on.reduce_dims.even_offsets(data, columns, rows), (columns,), kept


@ops.reduce_dims.kernel("cpu", "cuda")
def reduce_dims(on, data, weights, lengths, /, *, reduce, where, num_dims):
    values, positions, offsets, _, kept = _as_segments(on, data, weights, lengths, where, num_dims, reduce)
    return on.reduce_into(values, positions, weights, None, offsets, reduce, 0.0).reshape(kept)


@ops.reduce_dims_grad.kernel("cpu", "cuda")
def reduce_dims_grad(on, data, out, grad, weights, lengths, /, *, reduce, where, num_dims):
    dtype = check_values(data.dtype, "the gradient", floating=True)
    values, positions, offsets, shape, kept = _as_segments(on, data, weights, lengths, where, num_dims, reduce)
    check_grad_output(kept, out, grad)
    out, grad = out.reshape(shape), grad.reshape(shape)
    rows = on.values_grad(values, positions, None, offsets, weights, out, grad, reduce)
    if positions is not None:
        rows = on.put_rows(positions, rows, on.zeros((data.size,), dtype, data))
    return rows.reshape(data.shape)


@ops.reduce_dims_weights_grad.kernel("cpu", "cuda")
def reduce_dims_weights_grad(on, data, out, grad, weights, /, *, reduce, num_dims):
    values, _, offsets, shape, kept = _as_segments(on, data, weights, None, "front", num_dims, reduce)
    check_grad_output(kept, out, grad)
    return on.weights_grad(values, None, None, offsets, weights, out.reshape(shape), grad.reshape(shape), reduce)
