"""Optimizers; parameters and states are updated in place, by a dense gradient or SelectedRows."""

from __future__ import annotations

import functools
import inspect
from types import SimpleNamespace

import numpy as np

from ..arrays import is_array, is_number, plain_array, refuse_overlap
from ..base.errors import DTypeError
from ..base.signals import uninterrupted
from ..lod import values_of
from ..ops.adam_optimizers import check_power
from ..ops.shared.updates import check_power_of_beta, iteration_of, one_number
from ..registry import OPS, VarDesc
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


def _take_slots(slots):
    """Declare an operator type by a function of ``ops``, what is in the slots by name, and the attributes.

    The slots are in Paddle's order; those with a question mark may be left out.
    """
    kind, absent = inspect.Parameter.POSITIONAL_OR_KEYWORD, dict.fromkeys(slots.replace("?", "").split())
    taken = [
        inspect.Parameter(slot.rstrip("?"), kind, default=None if "?" in slot else inspect.Parameter.empty)
        for slot in slots.split()
    ]

    def declare(function):
        @functools.wraps(function)
        def run(ops, **given):
            x = SimpleNamespace(**{slot: given.pop(slot, None) for slot in absent})
            return function(ops, x, **given)

        ops, _, *attributes = inspect.signature(function).parameters.values()
        run.__signature__ = inspect.Signature([ops, *taken, *attributes])
        return op_type(run)

    return declare


def _step(update, x, *states, **attrs):
    """Run an optimizer on what is in the slots, its states by their names; outputs are named after the slots."""
    outputs = update(x.Param, x.Grad, *(getattr(x, slot) for slot in states), lr=_rate(x.LearningRate), **attrs)
    return _name_outputs(outputs if states else [outputs], *(f"{slot}Out" for slot in ("Param", *states)))


def _declare(name, *attributes):
    """Declare the operator type that is an optimizer of this name, with these of its attributes."""
    states = [state.capitalize() for state in OPS[name].definition.optimizer.list_states()]

    def run(ops, x, **attrs):
        return _step(getattr(ops, name), x, *states, **attrs)

    kind, defaults = inspect.Parameter.KEYWORD_ONLY, OPS[name].defaults
    parameters = [inspect.Parameter(attr, kind, default=defaults[attr]) for attr in attributes]
    ops, x, _ = inspect.signature(run).parameters.values()
    run.__name__ = run.__qualname__ = name
    run.__signature__ = inspect.Signature([ops, x, *parameters])
    return _take_slots(f"Param Grad {' '.join(states)} LearningRate")(run)


sgd = _declare("sgd")
adagrad = _declare("adagrad", "epsilon")
decayed_adagrad = _declare("decayed_adagrad", "decay", "epsilon")
proximal_gd = _declare("proximal_gd", "l1", "l2")
proximal_adagrad = _declare("proximal_adagrad", "l1", "l2")


@_take_slots("Param SquaredAccumulator LinearAccumulator Grad LearningRate")
def ftrl(ops, x, *, l1=0.0, l2=0.0, lr_power=-0.5):
    settings = {"beta": 0.0, "l1": l1, "l2": 2 * l2, "lr_power": lr_power}
    outputs = _step(ops.ftrl, x, "SquaredAccumulator", "LinearAccumulator", **settings)
    return _name_outputs(outputs.values(), "ParamOut", "SquaredAccumOut", "LinearAccumOut")


@_take_slots("Param Grad Velocity LearningRate")
def momentum(ops, x, *, mu, use_nesterov=False, regularization_method="", regularization_coeff=0.0, rescale_grad=1.0):
    settings = {"momentum": mu, "nesterov": use_nesterov}
    if regularization_method == "l2_decay":
        settings["weight_decay"] = regularization_coeff
    x.Grad = _rescale(ops, x.Grad, rescale_grad)
    return _step(ops.momentum, x, "Velocity", **settings)


@_take_slots("Param Grad Velocity LearningRate")
def lars_momentum(ops, x, *, mu, lars_coeff=0.001, lars_weight_decay=0.0005, epsilon=0.0, rescale_grad=1.0):
    settings = {"momentum": mu, "coefficient": lars_coeff, "weight_decay": lars_weight_decay, "epsilon": epsilon}
    x.Grad = _rescale(ops, x.Grad, rescale_grad)
    return _step(ops.lars, x, "Velocity", **settings)


@_take_slots("Param MeanSquare LearningRate Grad Moment MeanGrad?")
def rmsprop(ops, x, *, epsilon=1e-10, decay=0.9, momentum=0.0, centered=False):
    if centered and is_number(decay) and is_array(values_of(x.Param)) and dtype_of_variable(x.Param) == np.float32:
        # Attributes of Paddle are float32: where the variance nearly vanishes, what they round is what is left of it.
        decay = float(np.float32(decay))
    means = ["MeanGrad"] if centered and x.MeanGrad is not None else []
    settings = {"decay": decay, "momentum": momentum, "epsilon": epsilon}
    outputs = _step(ops.rmsprop, x, "MeanSquare", "Moment", *means, **settings)
    return outputs if x.MeanGrad is None else {**outputs, "MeanGradOut": x.MeanGrad}


@_take_slots("Param Grad AvgSquaredGrad AvgSquaredUpdate LearningRate?")
def adadelta(ops, x, *, rho=0.95, epsilon=1e-6):
    x.LearningRate = 1.0 if x.LearningRate is None else x.LearningRate
    return _step(ops.adadelta, x, "AvgSquaredGrad", "AvgSquaredUpdate", decay=rho, epsilon=epsilon)


@_take_slots("Param Grad LearningRate Moment InfNorm Beta1Pow")
def adamax(ops, x, *, beta1=0.9, beta2=0.999, epsilon=1e-8):
    settings = {"beta1": beta1, "beta2": beta2, "epsilon": epsilon, "epsilon_on_norm": True}
    return _step(ops.adamax, x, "Moment", "InfNorm", iteration=_iteration(x.Beta1Pow, beta1), **settings)


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


def _step_adam(ops, update, x, *, beta1, beta2, epsilon, **settings):
    """Run an update of the family of adam, then advance the powers of its betas, which are checked before.

    In three slots, if any, are numbers in place of the betas and of epsilon.
    """
    numbers = {"Beta1Tensor": beta1, "Beta2Tensor": beta2, "EpsilonTensor": epsilon}
    beta1, beta2, epsilon = (single_float(getattr(x, slot, None), slot, number) for slot, number in numbers.items())
    powers = x.Beta1Pow, x.Beta2Pow
    _check_powers(powers, {slot: getattr(x, slot) for slot in ("Param", "Grad", "Moment1", "Moment2")})
    iteration = _common_iteration(powers, (beta1, beta2))
    settings |= {"beta1": beta1, "beta2": beta2, "epsilon": epsilon, "iteration": iteration}
    with uninterrupted():
        outputs = _step(update, x, "Moment1", "Moment2", **settings)
        powers = [ops.advance_power(power, beta=beta) for power, beta in zip(powers, (beta1, beta2), strict=True)]
    return outputs | _name_outputs(powers, "Beta1PowOut", "Beta2PowOut")


ADAM = "Param Grad LearningRate Moment1 Moment2 Beta1Pow Beta2Pow"
NUMBERS = "Beta1Tensor? Beta2Tensor? EpsilonTensor?"


@_take_slots(f"{ADAM} {NUMBERS}")
def adam(ops, x, *, beta1=0.9, beta2=0.999, epsilon=1e-8, lazy_mode=False):
    """Before 2.0 epsilon is added to the root of the squares as it is, not corrected for zeros at first."""
    settings = {"lazy": lazy_mode, "corrected_epsilon": ops.version >= CORRECTED_EPSILON}
    return _step_adam(ops, ops.adam, x, beta1=beta1, beta2=beta2, epsilon=epsilon, **settings)


@_take_slots(f"{ADAM} {NUMBERS}")
def adamw(ops, x, *, beta1=0.9, beta2=0.999, epsilon=1e-8, lazy_mode=False, coeff=0.01, with_decay=False):
    settings = {"lazy": lazy_mode, "weight_decay": coeff if with_decay else 0.0}
    return _step_adam(ops, ops.adamw, x, beta1=beta1, beta2=beta2, epsilon=epsilon, **settings)


@_take_slots(ADAM)
def lamb(ops, x, *, weight_decay, beta1=0.9, beta2=0.999, epsilon=1e-6):
    """Before 2.1 moments are not corrected for zeros at first, and the powers stay as they are."""
    settings = {"beta1": beta1, "beta2": beta2, "epsilon": epsilon, "weight_decay": weight_decay}
    if ops.version >= CORRECTED_LAMB:
        return _step_adam(ops, ops.lamb, x, **settings)
    return _step(ops.lamb, x, "Moment1", "Moment2", iteration=0, bias_correction=False, **settings)


@_take_slots("Param Grad LearningRate")
def dpsgd(ops, x, *, clip=10.0, batch_size=16.0, sigma=1.0, seed=0):
    return _step(ops.dpsgd, x, clip_norm=clip, batch_size=batch_size, sigma=sigma, seed=seed)
