"""Kernels of lodkit/ops/sequence_softmax.py."""

from __future__ import annotations

from ... import ops
from ...arrays import check_values
from ...lod import LoDTensor
from ...ops.sequence_softmax import prepare


def _softmax(on, x, level, logs, name, out):
    values, offsets = x.values, x._row_offsets(level)
    out = on.output(values.shape, check_values(values.dtype, name, floating=True), out, values)
    on.softmax_rows(values, offsets, logs, out)
    return x.with_values(out)


@ops.sequence_softmax.kernel("cpu", "cuda")
def sequence_softmax(on, x: LoDTensor, /, *, level, out=None):
    return _softmax(on, x, level, False, "sequence_softmax", out)


@ops.sequence_log_softmax.kernel("cpu", "cuda")
def sequence_log_softmax(on, x: LoDTensor, /, *, level, out=None):
    return _softmax(on, x, level, True, "sequence_log_softmax", out)


def _gradient(on, y, grad, level, logs, name):
    values, offsets = y.values, y._row_offsets(level)
    result = on.output(values.shape, prepare(name, values, grad), None, values)
    on.softmax_grad_rows(values, grad, offsets, logs, result)
    return y.with_values(result)


@ops.sequence_softmax_grad.kernel("cpu", "cuda")
def sequence_softmax_grad(on, out: LoDTensor, grad, /, *, level):
    return _gradient(on, out, grad, level, False, "sequence_softmax_grad")


@ops.sequence_log_softmax_grad.kernel("cpu", "cuda")
def sequence_log_softmax_grad(on, out: LoDTensor, grad, /, *, level):
    return _gradient(on, out, grad, level, True, "sequence_log_softmax_grad")
