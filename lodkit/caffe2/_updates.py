"""In-place updates of tables and dense parameters."""

from __future__ import annotations

from .. import ops
from ..arrays import flat
from ..lod import SelectedRows
from ._common import height, negative, number, only, ragged

SEQUENTIAL = {"duplicates": "sequential"}
LAZY = {"duplicates": "sequential", "lazy": True}


def rows(param, indices, grad):
    """Make the SelectedRows gradient of a parameter."""
    return SelectedRows(flat(indices), grad, height(param, "param"))


def adagrad(param, moment, grad, lr, *, epsilon=1e-5, decay=1.0, weight_decay=0.0):
    settings = {"epsilon": float(epsilon), "decay": float(decay), "weight_decay": float(weight_decay)}
    return ops.adagrad(param, grad, moment, lr=negative(lr), **settings)


def _sparse_adagrad(name, update):
    def run(param, moment, indices, grad, lr, *, epsilon=1e-5, decay=1.0, weight_decay=0.0, counter_halflife=-1):
        only(name, decay=(decay, 1.0), counter_halflife=(counter_halflife, -1))
        settings = {"epsilon": float(epsilon), "weight_decay": float(weight_decay)}
        return update(param, rows(param, indices, grad), moment, lr=negative(lr), **settings, **LAZY)

    return run


def _fused_adagrad(update, pool):
    """Apply the gradient of SparseLengthsSum or Mean without materializing one row per index."""

    def run(param, moment, indices, grad, lr, lengths, *, epsilon=1e-5, weight_decay=0.0):
        settings = {"epsilon": float(epsilon), "weight_decay": float(weight_decay), "pool": pool}
        ids = ragged(indices, lengths)
        return update(param, ids, grad, moment, lr=negative(lr), **settings, **SEQUENTIAL)

    return run


def _fused_weighted_adagrad(update):
    """``aux_param`` has one weight per index; its gradient, the third output, uses the table before the update."""

    def run(param, moment, aux_param, indices, grad, lr, lengths, *, epsilon=1e-5, weight_decay=0.0):
        settings = {"epsilon": float(epsilon), "weight_decay": float(weight_decay)}
        ids = ragged(indices, lengths)
        aux_grad = ops.embedding_bag_weights_grad(param, ids, grad, aux_param)
        updated = update(param, ids, grad, moment, aux_param, lr=negative(lr), **settings, **SEQUENTIAL)
        return *updated, aux_grad

    return run


def _alpha(name, alpha, given):
    """Return the learning rate, an argument or the last input."""
    if given and alpha is not None:
        raise ValueError(f"{name}: give alpha as an input or as an argument, not both")
    return number(given[0] if given else 0.005 if alpha is None else alpha, "alpha")


def ftrl(var, n_z, grad, *alpha_input, alpha=None, beta=1.0, lambda1=0.001, lambda2=0.001):
    settings = {"beta": float(beta), "l1": float(lambda1), "l2": float(lambda2)}
    return ops.ftrl(var, grad, n_z, lr=_alpha("Ftrl", alpha, alpha_input), **settings)


def sparse_ftrl(var, n_z, indices, grad, *alpha_input, alpha=None, beta=1.0, lambda1=0.001, lambda2=0.001):
    settings = {"beta": float(beta), "l1": float(lambda1), "l2": float(lambda2), **SEQUENTIAL}
    return ops.ftrl(var, rows(var, indices, grad), n_z, lr=_alpha("SparseFtrl", alpha, alpha_input), **settings)


def sparse_normalize(param, indices, grad=None, *, use_max_norm=True, norm=1.0):
    return ops.sparse_normalize(param, indices, norm=float(norm), use_max_norm=bool(use_max_norm))


def sparse_lp_regularizer(param, indices, grad=None, *, p=2.0, reg_lambda=1e-5):
    p = int(p) if p in (1, 2) else p
    return ops.sparse_lp_regularizer(param, indices, p=p, reg_lambda=float(reg_lambda), **SEQUENTIAL)


def row_wise_counter(prev_iter, counter, indices, iter, *, counter_halflife=-1):
    return ops.rowwise_counter(
        prev_iter, counter, indices, iteration=number(iter, "iter"), halflife=float(counter_halflife)
    )


FUSED = "FusedWithSparseLengths"
OPERATORS = {
    "Adagrad": adagrad,
    "Ftrl": ftrl,
    "RowWiseCounter": row_wise_counter,
    "SparseFtrl": sparse_ftrl,
    "SparseLpRegularizer": sparse_lp_regularizer,
    "SparseNormalize": sparse_normalize,
}
for _name, _update, _fused in (
    ("SparseAdagrad", ops.adagrad, ops.embedding_bag_adagrad),
    ("RowWiseSparseAdagrad", ops.rowwise_adagrad, ops.embedding_bag_rowwise_adagrad),
):
    OPERATORS[_name] = _sparse_adagrad(_name, _update)
    OPERATORS[f"{_name}{FUSED}SumGradient"] = _fused_adagrad(_fused, "sum")
    OPERATORS[f"{_name}{FUSED}MeanGradient"] = _fused_adagrad(_fused, "mean")
    OPERATORS[f"{_name}{FUSED}WeightedSumGradient"] = _fused_weighted_adagrad(_fused)
