"""CPU kernels of lodkit/ops/sequence_softmax.py."""

from __future__ import annotations

from ... import arrays
from ...arrays import check_values, matrix
from ...lod.lod_tensor import LoDTensor
from ...ops.sequence_softmax import (
    check_grad_output,
    sequence_log_softmax,
    sequence_log_softmax_grad,
    sequence_softmax,
    sequence_softmax_grad,
)
from ...registry import Dense
from .primitives.softmax import softmax_grad_rows, softmax_rows


def _run(x, level, logs, name, out):
    values, offsets = x.values, x.row_offsets(level)
    out = arrays.output(values.shape, check_values(values.dtype, name, floating=True), out)
    softmax_rows(matrix(values), offsets, logs, matrix(out))
    return x.with_values(out)


@sequence_softmax.kernel("cpu")
def softmax(x: LoDTensor, /, *, level, out=None):
    return _run(x, level, False, "sequence_softmax", out)


@sequence_log_softmax.kernel("cpu")
def log_softmax(x: LoDTensor, /, *, level, out=None):
    return _run(x, level, True, "sequence_log_softmax", out)


def _run_grad(out, grad, level, logs, name):
    y, offsets = out.values, out.row_offsets(level)
    check_grad_output(y, grad, name)
    result = arrays.output(y.shape, y.dtype.newbyteorder("="))
    softmax_grad_rows(matrix(y), matrix(grad.astype(result.dtype, copy=False)), offsets, logs, matrix(result))
    return out.with_values(result)


@sequence_softmax_grad.kernel("cpu")
def softmax_grad(out: LoDTensor, grad: Dense, /, *, level):
    return _run_grad(out, grad, level, False, "sequence_softmax_grad")


@sequence_log_softmax_grad.kernel("cpu")
def log_softmax_grad(out: LoDTensor, grad: Dense, /, *, level):
    return _run_grad(out, grad, level, True, "sequence_log_softmax_grad")
