"""Optimizers with moving averages and with norms, in place; sparse ones update the listed rows."""

from __future__ import annotations

from .. import ops
from ._common import copied, negative, number
from ._updates import LAZY, SEQUENTIAL, rows


def _momentum_settings(momentum, nesterov):
    return {"momentum": float(momentum), "nesterov": bool(nesterov), "rate_in_velocity": True, "return_step": True}


def momentum(grad, moment, lr, param, *, momentum=0.0, nesterov=0):
    settings = _momentum_settings(momentum, nesterov)
    param, moment, step = ops.momentum(param, grad, moment, lr=number(lr, "lr"), **settings)
    return step, moment, param


def momentum_step(grad, moment, lr, *, momentum=0.0, nesterov=0):
    """MomentumSGD of Caffe2: returns the step, which another operator applies."""
    settings = _momentum_settings(momentum, nesterov)
    _, moment, step = ops.momentum(copied(grad), grad, moment, lr=number(lr, "lr"), **settings)
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


def adadelta(param, moment, moment_delta, grad, lr, *, epsilon=1e-5, decay=0.95):
    settings = {"epsilon": float(epsilon), "decay": float(decay)}
    return ops.adadelta(param, grad, moment, moment_delta, lr=negative(lr), **settings)


def sparse_adadelta(param, moment, moment_delta, indices, grad, lr, *, epsilon=1e-5, decay=0.95):
    settings = {"epsilon": float(epsilon), "decay": float(decay), **LAZY}
    return ops.adadelta(param, rows(param, indices, grad), moment, moment_delta, lr=negative(lr), **settings)


def rms_prop(grad, mean_squares, mom, lr, *, decay=0.9, momentum=0.0, epsilon=1e-5):
    """RmsProp of Caffe2: returns the step, which another operator applies."""
    settings = {"decay": float(decay), "momentum": float(momentum), "epsilon": float(epsilon)}
    _, mean_squares, mom = ops.rmsprop(copied(grad), grad, mean_squares, mom, lr=number(lr, "lr"), **settings)
    return copied(mom), mean_squares, mom


def wngrad(param, seq_b, grad, lr, *, epsilon=1e-5):
    return ops.wngrad(param, grad, seq_b, lr=negative(lr), epsilon=float(epsilon))


def sparse_wngrad(param, seq_b, indices, grad, lr, *, epsilon=1e-5):
    settings = {"epsilon": float(epsilon), **SEQUENTIAL}
    return ops.wngrad(param, rows(param, indices, grad), seq_b, lr=negative(lr), **settings)


def storm(param, moment, grad_sq_sum, grad, lr, *, momentum=10.0, beta=0.1):
    settings = {"momentum": float(momentum), "beta": float(beta)}
    return ops.storm(param, grad, moment, grad_sq_sum, lr=negative(lr), **settings)


def sparse_storm(param, moment, grad_sq_sum, grad, indices, lr, *, momentum=10.0, beta=0.1):
    settings = {"momentum": float(momentum), "beta": float(beta), **LAZY}
    return ops.storm(param, rows(param, indices, grad), moment, grad_sq_sum, lr=negative(lr), **settings)


OPERATORS = {
    "Adadelta": adadelta,
    "Adam": adam,
    "MomentumSGD": momentum_step,
    "MomentumSGDUpdate": momentum,
    "RmsProp": rms_prop,
    "RowWiseSparseAdam": _sparse_adam(ops.rowwise_adam),
    "SparseAdadelta": sparse_adadelta,
    "SparseAdam": _sparse_adam(ops.adam),
    "SparseMomentumSGDUpdate": sparse_momentum,
    "SparseStorm": sparse_storm,
    "SparseWngrad": sparse_wngrad,
    "Storm": storm,
    "Wngrad": wngrad,
}
