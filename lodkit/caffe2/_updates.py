"""Updates of tables and dense parameters, in place."""

from __future__ import annotations

from .. import ops
from ..arrays import flat
from ..selected_rows import SelectedRows
from ._common import negative, only


def adagrad(param, moment, grad, lr, *, epsilon=1e-5, decay=1.0, weight_decay=0.0):
    only("Adagrad", decay=(decay, 1.0), weight_decay=(weight_decay, 0.0))
    return ops.adagrad(param, grad, moment, lr=negative(lr), epsilon=float(epsilon))


def sparse_adagrad(param, moment, indices, grad, lr, *, epsilon=1e-5, decay=1.0, weight_decay=0.0):
    only("SparseAdagrad", decay=(decay, 1.0), weight_decay=(weight_decay, 0.0))
    rows = SelectedRows(flat(indices), grad, len(param))
    return ops.adagrad(param, rows, moment, lr=negative(lr), epsilon=float(epsilon), duplicates="sequential")


OPERATORS = {"Adagrad": adagrad, "SparseAdagrad": sparse_adagrad}
