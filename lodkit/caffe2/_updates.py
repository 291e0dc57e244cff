"""In-place updates of tables and dense parameters; sparse ones update the listed rows."""

from __future__ import annotations

from .. import ops
from ..arrays import flat
from ..lod import SelectedRows
from ._common import copy_input, height, lod_tensor, negative, number, require_defaults

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
        require_defaults(name, decay=(decay, 1.0), counter_halflife=(counter_halflife, -1))
        settings = {"epsilon": float(epsilon), "weight_decay": float(weight_decay), **LAZY}
        return update(param, rows(param, indices, grad), moment, lr=negative(lr), **settings)

    return run


def _fused_adagrad(update, pool):
    """Apply the gradient of SparseLengthsSum or Mean without materializing one row per index."""

    def run(param, moment, indices, grad, lr, lengths, *, epsilon=1e-5, weight_decay=0.0):
        settings = {"epsilon": float(epsilon), "weight_decay": float(weight_decay), "pool": pool, **SEQUENTIAL}
        return update(param, lod_tensor(indices, lengths), grad, moment, lr=negative(lr), **settings)

    return run


def _fused_weighted_adagrad(update):
    """``aux_param`` has one weight per index; its gradient, the third output, uses the table before the update."""

    def run(param, moment, aux_param, indices, grad, lr, lengths, *, epsilon=1e-5, weight_decay=0.0):
        settings = {"epsilon": float(epsilon), "weight_decay": float(weight_decay)}
        ids = lod_tensor(indices, lengths)
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
    iteration, halflife = number(iter, "iter"), float(counter_halflife)
    ops.rowwise_counter(flat(prev_iter), flat(counter), indices, iteration=iteration, halflife=halflife)
    return prev_iter, counter  # which may have a column: (rows, 1)


def _momentum_settings(momentum, nesterov):
    return {"momentum": float(momentum), "nesterov": bool(nesterov), "rate_in_velocity": True, "return_step": True}


def momentum(grad, moment, lr, param, *, momentum=0.0, nesterov=0):
    settings = _momentum_settings(momentum, nesterov)
    param, moment, step = ops.momentum(param, grad, moment, lr=number(lr, "lr"), **settings)
    return step, moment, param


def momentum_step(grad, moment, lr, *, momentum=0.0, nesterov=0):
    """MomentumSGD of Caffe2: returns the step, which another operator applies."""
    settings = _momentum_settings(momentum, nesterov)
    _, moment, step = ops.momentum(copy_input(grad), grad, moment, lr=number(lr, "lr"), **settings)
    return step, moment


def sparse_momentum(grad, moment, lr, param, indices, *, momentum=0.0, nesterov=0):
    settings = _momentum_settings(momentum, nesterov)
    gradient = rows(param, indices, grad)
    param, moment, step = ops.momentum(param, gradient, moment, lr=number(lr, "lr"), **settings, **LAZY)
    return step, moment, param


def adam(param, moment1, moment2, grad, lr, iter, *, beta1=0.9, beta2=0.999, epsilon=1e-5):
    settings = {"beta1": float(beta1), "beta2": float(beta2), "epsilon": float(epsilon)}
    return ops.adam(param, grad, moment1, moment2, lr=negative(lr), iteration=number(iter, "iter"), **settings)


def _sparse_adam(update):
    def run(param, moment1, moment2, indices, grad, lr, iter, *, beta1=0.9, beta2=0.999, epsilon=1e-5, enableRAdam=0):
        settings = {"beta1": float(beta1), "beta2": float(beta2), "epsilon": float(epsilon), **LAZY}
        settings["rectified"] = bool(enableRAdam)
        gradient = rows(param, indices, grad)
        return update(param, gradient, moment1, moment2, lr=negative(lr), iteration=number(iter, "iter"), **settings)

    return run


def smart_decay_adam(
    param, moment1, moment2, last_seen, indices, grad, lr, iter, *, beta1=0.9, beta2=0.999, epsilon=1e-5
):
    settings = {"beta1": float(beta1), "beta2": float(beta2), "epsilon": float(epsilon), **LAZY}
    inputs = param, rows(param, indices, grad), moment1, moment2, last_seen
    return ops.smart_decay_adam(*inputs, lr=negative(lr), iteration=number(iter, "iter"), **settings)


def adadelta(param, moment, moment_delta, grad, lr, *, epsilon=1e-5, decay=0.95):
    return ops.adadelta(param, grad, moment, moment_delta, epsilon=float(epsilon), decay=float(decay), lr=negative(lr))


def sparse_adadelta(param, moment, moment_delta, indices, grad, lr, *, epsilon=1e-5, decay=0.95):
    settings = {"epsilon": float(epsilon), "decay": float(decay), **LAZY}
    return ops.adadelta(param, rows(param, indices, grad), moment, moment_delta, lr=negative(lr), **settings)


def rms_prop(grad, mean_squares, mom, lr, *, decay=0.9, momentum=0.0, epsilon=1e-5):
    """RmsProp of Caffe2: returns the step, which another operator applies."""
    settings = {"decay": float(decay), "momentum": float(momentum), "epsilon": float(epsilon)}
    _, mean_squares, mom = ops.rmsprop(copy_input(grad), grad, mean_squares, mom, lr=number(lr, "lr"), **settings)
    return copy_input(mom), mean_squares, mom


def wngrad(param, seq_b, grad, lr, *, epsilon=1e-5):
    return ops.wngrad(param, grad, seq_b, lr=negative(lr), epsilon=float(epsilon))


def sparse_wngrad(param, seq_b, indices, grad, lr, *, epsilon=1e-5):
    settings = {"epsilon": float(epsilon), **SEQUENTIAL}
    return ops.wngrad(param, rows(param, indices, grad), seq_b, lr=negative(lr), **settings)


def storm(param, moment, grad_sq_sum, grad, lr, *, momentum=10.0, beta=0.1):
    return ops.storm(param, grad, moment, grad_sq_sum, momentum=float(momentum), beta=float(beta), lr=negative(lr))


def sparse_storm(param, moment, grad_sq_sum, grad, indices, lr, *, momentum=10.0, beta=0.1):
    settings = {"momentum": float(momentum), "beta": float(beta), **LAZY}
    return ops.storm(param, rows(param, indices, grad), moment, grad_sq_sum, lr=negative(lr), **settings)


FUSED = "FusedWithSparseLengths"
OPERATORS = {
    "Adadelta": adadelta,
    "Adagrad": adagrad,
    "Adam": adam,
    "Ftrl": ftrl,
    "MomentumSGD": momentum_step,
    "MomentumSGDUpdate": momentum,
    "RmsProp": rms_prop,
    "RowWiseCounter": row_wise_counter,
    "RowWiseSparseAdam": _sparse_adam(ops.rowwise_adam),
    "SmartDecaySparseAdam": smart_decay_adam,
    "SparseAdadelta": sparse_adadelta,
    "SparseAdam": _sparse_adam(ops.adam),
    "SparseFtrl": sparse_ftrl,
    "SparseLpRegularizer": sparse_lp_regularizer,
    "SparseMomentumSGDUpdate": sparse_momentum,
    "SparseNormalize": sparse_normalize,
    "SparseStorm": sparse_storm,
    "SparseWngrad": sparse_wngrad,
    "Storm": storm,
    "Wngrad": wngrad,
}
for _name, _update, _fused in (
    ("SparseAdagrad", ops.adagrad, ops.embedding_bag_adagrad),
    ("RowWiseSparseAdagrad", ops.rowwise_adagrad, ops.embedding_bag_rowwise_adagrad),
):
    OPERATORS[_name] = _sparse_adagrad(_name, _update)
    OPERATORS[f"{_name}{FUSED}SumGradient"] = _fused_adagrad(_fused, "sum")
    OPERATORS[f"{_name}{FUSED}MeanGradient"] = _fused_adagrad(_fused, "mean")
    OPERATORS[f"{_name}{FUSED}WeightedSumGradient"] = _fused_weighted_adagrad(_fused)
