"""Optimizers; parameters and states are updated in place, by a dense gradient or SelectedRows."""

from __future__ import annotations

import numpy as np

from ..arrays import is_array, is_number, plain_array, refuse_overlap
from ..base.errors import DTypeError
from ..base.signals import uninterrupted
from ..lod import values_of
from ..ops.adam_optimizers import check_power
from ..ops.shared.updates import check_power_of_beta, iteration_of, one_number
from ..registry import VarDesc
from ._types import dtype_of_variable, op_type, single_float

POWERS = "Beta1Pow", "Beta2Pow"
#: The versions of Paddle from which epsilon of adam, and the moments of lamb, are corrected for zeros at first.
CORRECTED_EPSILON, CORRECTED_LAMB = (2, 0), (2, 1)
SUBNORMAL = 1.2e-38  # float32 powers below have lost digits


def _rate(lr):
    """Return the learning rate, 0 for a description."""
    return 0.0 if isinstance(lr, VarDesc) else lr


def _iteration(power, beta):
    """Return the number of steps before this one, of which ``Beta1Pow`` or ``Beta2Pow`` is the record."""
    return 0 if isinstance(power, VarDesc) else iteration_of(power, beta)


def _name_outputs(outputs, *slots):
    return dict(zip(slots, outputs, strict=True))


def _rescale(ops, grad, by):
    """A gradient times a number, before anything else happens to it."""
    if not is_number(by):
        raise TypeError(f"rescale_grad must be a number, got {by!r:.80}")
    return ops.scale(grad, scale=by) if by != 1.0 else grad


@op_type
def sgd(ops, Param, Grad, LearningRate):
    return {"ParamOut": ops.sgd(Param, Grad, lr=_rate(LearningRate))}


@op_type
def adagrad(ops, Param, Grad, Moment, LearningRate, *, epsilon=1e-6):
    outputs = ops.adagrad(Param, Grad, Moment, lr=_rate(LearningRate), epsilon=epsilon)
    return _name_outputs(outputs, "ParamOut", "MomentOut")


@op_type
def decayed_adagrad(ops, Param, Grad, Moment, LearningRate, *, decay=0.95, epsilon=1e-6):
    outputs = ops.decayed_adagrad(Param, Grad, Moment, lr=_rate(LearningRate), decay=decay, epsilon=epsilon)
    return _name_outputs(outputs, "ParamOut", "MomentOut")


@op_type
def proximal_gd(ops, Param, Grad, LearningRate, *, l1=0.0, l2=0.0):
    return {"ParamOut": ops.proximal_gd(Param, Grad, lr=_rate(LearningRate), l1=l1, l2=l2)}


@op_type
def proximal_adagrad(ops, Param, Grad, Moment, LearningRate, *, l1=0.0, l2=0.0):
    outputs = ops.proximal_adagrad(Param, Grad, Moment, lr=_rate(LearningRate), l1=l1, l2=l2)
    return _name_outputs(outputs, "ParamOut", "MomentOut")


@op_type
def ftrl(ops, Param, SquaredAccumulator, LinearAccumulator, Grad, LearningRate, *, l1=0.0, l2=0.0, lr_power=-0.5):
    settings = {"lr": _rate(LearningRate), "beta": 0.0, "l1": l1, "l2": 2 * l2, "lr_power": lr_power}
    outputs = ops.ftrl(Param, Grad, SquaredAccumulator, LinearAccumulator, **settings)
    return _name_outputs(outputs, "ParamOut", "SquaredAccumOut", "LinearAccumOut")


@op_type
def momentum(
    ops,
    Param,
    Grad,
    Velocity,
    LearningRate,
    *,
    mu,
    use_nesterov=False,
    regularization_method="",
    regularization_coeff=0.0,
    rescale_grad=1.0,
):
    settings = {"momentum": mu, "nesterov": use_nesterov}
    if regularization_method == "l2_decay":
        settings["weight_decay"] = regularization_coeff
    grad = _rescale(ops, Grad, rescale_grad)
    return _name_outputs(
        ops.momentum(Param, grad, Velocity, lr=_rate(LearningRate), **settings), "ParamOut", "VelocityOut"
    )


@op_type
def lars_momentum(
    ops,
    Param,
    Grad,
    Velocity,
    LearningRate,
    *,
    mu,
    lars_coeff=0.001,
    lars_weight_decay=0.0005,
    epsilon=0.0,
    rescale_grad=1.0,
):
    settings = {"momentum": mu, "coefficient": lars_coeff, "weight_decay": lars_weight_decay, "epsilon": epsilon}
    grad = _rescale(ops, Grad, rescale_grad)
    return _name_outputs(ops.lars(Param, grad, Velocity, lr=_rate(LearningRate), **settings), "ParamOut", "VelocityOut")


@op_type
def rmsprop(
    ops,
    Param,
    MeanSquare,
    LearningRate,
    Grad,
    Moment,
    MeanGrad=None,
    *,
    epsilon=1e-10,
    decay=0.9,
    momentum=0.0,
    centered=False,
):
    if centered and is_number(decay) and is_array(values_of(Param)) and dtype_of_variable(Param) == np.float32:
        # Attributes of Paddle are float32: where the variance nearly vanishes, what they round is what is left of it.
        decay = float(np.float32(decay))
    settings = {"lr": _rate(LearningRate), "decay": decay, "momentum": momentum, "epsilon": epsilon}
    means = [MeanGrad] if centered else []
    outputs = [*ops.rmsprop(Param, Grad, MeanSquare, Moment, *means, **settings)]
    if MeanGrad is None:
        return _name_outputs(outputs, "ParamOut", "MeanSquareOut", "MomentOut")
    return _name_outputs([*outputs[:3], MeanGrad], "ParamOut", "MeanSquareOut", "MomentOut", "MeanGradOut")


@op_type
def adadelta(ops, Param, Grad, AvgSquaredGrad, AvgSquaredUpdate, LearningRate=None, *, rho=0.95, epsilon=1e-6):
    settings = {"lr": 1.0 if LearningRate is None else _rate(LearningRate), "decay": rho, "epsilon": epsilon}
    outputs = ops.adadelta(Param, Grad, AvgSquaredGrad, AvgSquaredUpdate, **settings)
    return _name_outputs(outputs, "ParamOut", "AvgSquaredGradOut", "AvgSquaredUpdateOut")


@op_type
def adamax(ops, Param, Grad, LearningRate, Moment, InfNorm, Beta1Pow, *, beta1=0.9, beta2=0.999, epsilon=1e-8):
    settings = {"beta1": beta1, "beta2": beta2, "epsilon": epsilon, "epsilon_on_norm": True}
    settings["iteration"] = _iteration(Beta1Pow, beta1)
    outputs = ops.adamax(Param, Grad, Moment, InfNorm, lr=_rate(LearningRate), **settings)
    return _name_outputs(outputs, "ParamOut", "MomentOut", "InfNormOut")


def _check_powers(powers, inputs):
    """Refuse powers that cannot be advanced in place after the update, before it."""
    arrays = {**inputs, **dict(zip(POWERS, powers, strict=True))}
    for slot, power in zip(POWERS, powers, strict=True):
        if isinstance(power, VarDesc):
            continue
        power = values_of(power)
        if not is_array(power):
            raise TypeError(f"{slot} must be an array of one number, updated in place, got {type(power).__name__}")
        if isinstance(power, np.ndarray):
            power = plain_array(power, slot)
            check_power(power, slot)
            if power.dtype.itemsize < 4:
                raise DTypeError(f"{slot} must be float32 or float64: {power.dtype} rounds powers of 0.999 to 1")
            check_power_of_beta(power.item(), slot)
            others = {name: x for name, x in arrays.items() if name != slot}
            refuse_overlap(slot, power, [*others.values()], [*others])


def _common_iteration(powers, betas):
    """Return the number of steps before this one: what Beta2Pow tells, Beta1Pow where that one has come down to 0."""
    first, second = powers
    if isinstance(first, VarDesc) or isinstance(second, VarDesc):
        return 0
    told = all(map(is_number, betas)) and 0 < betas[0] < 1
    if told and (betas[1] <= 0 or one_number(second) < SUBNORMAL):
        return _iteration(first, betas[0])
    return _iteration(second, betas[1])


def _adam(ops, update, inputs, powers, lr, beta1, beta2, epsilon, tensors=(None, None, None), **settings):
    """Run an update of the family of adam, then advance the powers of its betas, which are checked before.

    ``tensors`` are numbers in place of the betas and of epsilon.
    """
    named = zip(("Beta1Tensor", "Beta2Tensor", "EpsilonTensor"), tensors, (beta1, beta2, epsilon), strict=True)
    beta1, beta2, epsilon = (single_float(tensor, slot, number) for slot, tensor, number in named)
    _check_powers(powers, dict(zip(("Param", "Grad", "Moment1", "Moment2"), inputs, strict=True)))
    iteration = _common_iteration(powers, (beta1, beta2))
    settings |= {"beta1": beta1, "beta2": beta2, "epsilon": epsilon, "iteration": iteration}
    with uninterrupted():
        outputs = update(*inputs, lr=_rate(lr), **settings)
        powers = [ops.advance_power(power, beta=beta) for power, beta in zip(powers, (beta1, beta2), strict=True)]
    return _name_outputs([*outputs, *powers], "ParamOut", "Moment1Out", "Moment2Out", "Beta1PowOut", "Beta2PowOut")


@op_type
def adam(
    ops,
    Param,
    Grad,
    LearningRate,
    Moment1,
    Moment2,
    Beta1Pow,
    Beta2Pow,
    Beta1Tensor=None,
    Beta2Tensor=None,
    EpsilonTensor=None,
    *,
    beta1=0.9,
    beta2=0.999,
    epsilon=1e-8,
    lazy_mode=False,
):
    """Before 2.0 epsilon is added to the root of the squares as it is, not corrected for zeros at first."""
    inputs, powers = (Param, Grad, Moment1, Moment2), (Beta1Pow, Beta2Pow)
    settings = {"lazy": lazy_mode, "corrected_epsilon": ops.version >= CORRECTED_EPSILON}
    settings["tensors"] = Beta1Tensor, Beta2Tensor, EpsilonTensor
    return _adam(ops, ops.adam, inputs, powers, LearningRate, beta1, beta2, epsilon, **settings)


@op_type
def adamw(
    ops,
    Param,
    Grad,
    LearningRate,
    Moment1,
    Moment2,
    Beta1Pow,
    Beta2Pow,
    Beta1Tensor=None,
    Beta2Tensor=None,
    EpsilonTensor=None,
    *,
    beta1=0.9,
    beta2=0.999,
    epsilon=1e-8,
    lazy_mode=False,
    coeff=0.01,
    with_decay=False,
):
    inputs, powers = (Param, Grad, Moment1, Moment2), (Beta1Pow, Beta2Pow)
    settings = {"lazy": lazy_mode, "weight_decay": coeff if with_decay else 0.0}
    settings["tensors"] = Beta1Tensor, Beta2Tensor, EpsilonTensor
    return _adam(ops, ops.adamw, inputs, powers, LearningRate, beta1, beta2, epsilon, **settings)


@op_type
def lamb(
    ops,
    Param,
    Grad,
    LearningRate,
    Moment1,
    Moment2,
    Beta1Pow,
    Beta2Pow,
    *,
    weight_decay,
    beta1=0.9,
    beta2=0.999,
    epsilon=1e-6,
):
    """Before 2.1 moments are not corrected for zeros at first, and the powers stay as they are."""
    inputs, powers = (Param, Grad, Moment1, Moment2), (Beta1Pow, Beta2Pow)
    if ops.version >= CORRECTED_LAMB:
        return _adam(ops, ops.lamb, inputs, powers, LearningRate, beta1, beta2, epsilon, weight_decay=weight_decay)
    settings = {"beta1": beta1, "beta2": beta2, "epsilon": epsilon, "weight_decay": weight_decay}
    outputs = ops.lamb(*inputs, lr=_rate(LearningRate), iteration=0, bias_correction=False, **settings)
    return _name_outputs(outputs, "ParamOut", "Moment1Out", "Moment2Out")


@op_type
def dpsgd(ops, Param, Grad, LearningRate, *, clip=10.0, batch_size=16.0, sigma=1.0, seed=0):
    settings = {"clip_norm": clip, "batch_size": batch_size, "sigma": sigma, "seed": seed}
    return {"ParamOut": ops.dpsgd(Param, Grad, lr=_rate(LearningRate), **settings)}
