"""adam and its relatives, in place: steps along an averaged gradient, over its averaged size.

Averages decay where there is no gradient. With SelectedRows all rows take the step of the dense gradient; with
``lazy`` only the listed rows do, in time proportional to their number.
"""

from __future__ import annotations

import math

import numpy as np

from ..arrays import FLOATING, check_values, writable
from ..base.errors import ShapeMismatchError
from ..registry import Dense, op
from .shared.optimizer import optimizer
from .shared.updates import LEAST_DIVISOR, adam_rate, corrections, nesterov_rates, per_row, row_means

DOCS_PAGE = "update"
SEARCH_WORDS = {
    "adam": "Adam, optimizer, sparse adam, SparseAdam, lazy adam",
    "adamw": "AdamW, decoupled weight decay",
    "rowwise_adam": "partial rowwise adam, FBGEMM",
}


def _averages(grad, moment1, moment2, beta1, beta2):
    return beta1 * moment1 + (1 - beta1) * grad, beta2 * moment2 + (1 - beta2) * grad * grad


def corrected(epsilon, beta1, beta2, iteration):
    """The epsilon beside ``sqrt(v)`` that has the effect of ``epsilon`` beside the corrected ``sqrt(v_hat)``."""
    return epsilon * math.sqrt(corrections(beta1, beta2, iteration)[1])


def direction_numbers(beta1, beta2, epsilon, iteration, bias_correction):
    """The rate and the epsilon of lamb's direction: adam's with ``corrected_epsilon``, or none that is corrected."""
    if not bias_correction:
        return 1.0, epsilon
    return adam_rate(1.0, beta1, beta2, iteration, False)[0], corrected(epsilon, beta1, beta2, iteration)


def _numbers(lr, beta1, beta2, epsilon, iteration):
    """Return the rate, the shares of the new, and epsilon: for averages that are corrected for zeros at first."""
    rate = adam_rate(lr, beta1, beta2, iteration, False)[0]
    return rate, 1 - beta1, 1 - beta2, corrected(epsilon, beta1, beta2, iteration)


#: The steps of adam: by the number of states, and whether they are divided by the root of the squares.
ADAM = {(2, True): "adam", (2, False): "unscaled_adam", (3, True): "amsgrad", (3, False): "unscaled_amsgrad"}


def _adam_numbers(count, lr, beta1, beta2, epsilon, iteration, rectified, corrected_epsilon):
    rate, scaled = adam_rate(lr, beta1, beta2, iteration, rectified)
    epsilon = corrected(epsilon, beta1, beta2, iteration) if corrected_epsilon else epsilon
    return ADAM[count, scaled], (rate, 1 - beta1, 1 - beta2, epsilon)


@optimizer(
    "Adam",
    "Averaged gradients over the root of averaged squares; ``amsgrad=True`` divides by the largest so far.",
    numbers=_adam_numbers,
    flags={"amsgrad": "largest"},
    class_defaults={"corrected_epsilon": True},
)
def adam(
    param,
    grad,
    moment1,
    moment2,
    largest=None,
    /,
    *,
    lr,
    iteration,
    beta1=0.9,
    beta2=0.999,
    epsilon=1e-8,
    rectified=False,
    corrected_epsilon=False,
):
    """Step by Adam: the averaged gradient over the root of the averaged squares; return parameter and moments.

    ``moment1 = beta1 * moment1 + (1 - beta1) * grad``, the same of ``grad**2`` with beta2, and
    ``param -= rate * moment1 / (sqrt(moment2) + epsilon)``. The rate is ``lr * sqrt(1 - beta2**t) / (1 - beta1**t)``,
    where t is ``iteration + 1``. The operator corresponds to Paddle's adam, Caffe2's Adam and SparseAdam,
    torch.optim.Adam.

    Parameters
    ----------
    moment1, moment2 : arrays like param
        Averages of the gradient and of its squares; zeros at first.
    largest : array like param, optional
        AMSGrad: the largest ``moment2`` so far, which replaces ``moment2`` in the divisor; zeros at first.
    rectified : bool
        RAdam: the first steps are not divided by the root of the averaged squares, and later steps are shortened.
        Caffe2's enableRAdam.
    corrected_epsilon : bool
        Add epsilon to the root that is corrected for zeros at first, as PyTorch and Paddle 2 do; it is
        ``epsilon * sqrt(1 - beta2**t)`` then.

    >>> param = np.zeros(2)
    >>> adam(param, np.array([1., -2.]), np.zeros(2), np.zeros(2), lr=0.1, iteration=0)[0].round(6)
    array([-0.1,  0.1])
    """
    rate, scaled = adam_rate(lr, beta1, beta2, iteration, rectified)
    epsilon = corrected(epsilon, beta1, beta2, iteration) if corrected_epsilon else epsilon
    moment1, moment2 = _averages(grad, moment1, moment2, beta1, beta2)
    largest = moment2 if largest is None else np.maximum(largest, moment2)
    divisor = np.maximum(np.sqrt(largest) + epsilon, LEAST_DIVISOR) if scaled else 1
    return param - rate * moment1 / divisor, moment1, moment2, largest


def _rowwise_adam_numbers(lr, beta1, beta2, epsilon, iteration, rectified):
    rate, scaled = adam_rate(lr, beta1, beta2, iteration, rectified)
    return "rowwise_adam" if scaled else "unscaled_adam", (rate, 1 - beta1, 1 - beta2, epsilon)


@optimizer("RowwiseAdam", "Adam with one average of squares per row.", rowwise=True, numbers=_rowwise_adam_numbers)
def rowwise_adam(
    param, grad, moment1, moment2, /, *, lr, iteration, beta1=0.9, beta2=0.999, epsilon=1e-8, rectified=False
):
    """Step by adam with one average per row, of the mean square of the row; return parameter and moments.

    The operator corresponds to Caffe2's RowWiseSparseAdam, FBGEMM's partial_rowwise_adam.

    Parameters
    ----------
    moment1 : array like param
    moment2 : array of shape (rows of param,)
    lr, iteration, beta1, beta2, epsilon, rectified
        As in adam.

    >>> param, grad = np.zeros((1, 2)), np.array([[3., 4.]])
    >>> rowwise_adam(param, grad, np.zeros((1, 2)), np.zeros(1), lr=0.1, iteration=0, beta2=0.5)[2]
    array([6.25])
    """
    rate, scaled = adam_rate(lr, beta1, beta2, iteration, rectified)
    moment1 = beta1 * moment1 + (1 - beta1) * grad
    moment2 = beta2 * moment2 + (1 - beta2) * row_means(grad * grad)
    divisor = per_row(np.maximum(np.sqrt(moment2) + epsilon, LEAST_DIVISOR), grad) if scaled else 1
    return param - rate * moment1 / divisor, moment1, moment2


@optimizer(
    "AdamW",
    "Adam with decoupled weight decay.",
    numbers=lambda count, lr, beta1, beta2, epsilon, iteration: (
        ADAM[count, True],
        _numbers(lr, beta1, beta2, epsilon, iteration),
    ),
    flags={"amsgrad": "largest"},
    defaults={"weight_decay": 0.01, "decoupled": True},
)
def adamw(param, grad, moment1, moment2, largest=None, /, *, lr, iteration, beta1=0.9, beta2=0.999, epsilon=1e-8):
    """Scale ``param *= 1 - lr * weight_decay``, then step by adam with ``corrected_epsilon``; return changed arrays.

    The operator corresponds to Paddle's adamw, torch.optim.AdamW.

    Parameters
    ----------
    moment1, moment2, largest, lr, iteration, beta1, beta2, epsilon
        As in adam.

    >>> adamw(np.ones(1), np.zeros(1), np.zeros(1), np.zeros(1), lr=0.5, iteration=0, weight_decay=0.5)[0]
    array([0.75])
    """
    epsilon = corrected(epsilon, beta1, beta2, iteration)
    moment1, moment2 = _averages(grad, moment1, moment2, beta1, beta2)
    largest = moment2 if largest is None else np.maximum(largest, moment2)
    divisor = np.maximum(np.sqrt(largest) + epsilon, LEAST_DIVISOR)
    return param - adam_rate(lr, beta1, beta2, iteration, False)[0] * moment1 / divisor, moment1, moment2, largest


def _adamax_numbers(lr, beta1, beta2, epsilon, iteration, epsilon_on_norm):
    rate = lr / corrections(beta1, beta2, iteration)[0]
    beside, on_norm = (0.0, epsilon) if epsilon_on_norm else (epsilon, 0.0)
    return rate, 1 - beta1, beta2, beside, on_norm


@optimizer("Adamax", "Adam over the largest decayed gradient.", numbers=_adamax_numbers)
def adamax(param, grad, moment, norm, /, *, lr, iteration, beta1=0.9, beta2=0.999, epsilon=1e-8, epsilon_on_norm=False):
    """Step by adam over the largest gradient: ``norm = max(beta2 * norm, |grad| + epsilon)``; return changed arrays.

    ``param -= lr / (1 - beta1**t) * moment / norm``. torch.optim.Adamax, and with ``epsilon_on_norm`` Paddle's adamax.

    Parameters
    ----------
    moment, norm : arrays like param
        The averaged gradient, and its fading maximum; zeros at first.
    lr, iteration, beta1, beta2, epsilon
        As in adam.
    epsilon_on_norm : bool
        ``norm = max(beta2 * norm + epsilon, |grad|)``, as in Paddle.

    >>> adamax(np.zeros(1), np.array([3.]), np.zeros(1), np.full(1, 4.), lr=1.0, iteration=0, beta2=0.5, epsilon=0.0)
    (array([-1.]), array([0.3]), array([3.]))
    """
    beside, on_norm = (0.0, epsilon) if epsilon_on_norm else (epsilon, 0.0)
    moment = beta1 * moment + (1 - beta1) * grad
    norm = np.maximum(beta2 * norm + on_norm, np.abs(grad) + beside)
    rate = lr / corrections(beta1, beta2, iteration)[0]
    return param - rate * moment / np.maximum(norm, LEAST_DIVISOR), moment, norm


def _nadam_numbers(lr, beta1, beta2, epsilon, iteration, momentum_decay):
    by_grad, by_moment = nesterov_rates(lr, beta1, beta2, iteration, momentum_decay)
    return by_moment, 1 - beta1, 1 - beta2, corrected(epsilon, beta1, beta2, iteration), by_grad


@optimizer("NAdam", "Adam with Nesterov's look ahead.", numbers=_nadam_numbers)
def nadam(
    param, grad, moment1, moment2, /, *, lr, iteration, beta1=0.9, beta2=0.999, epsilon=1e-8, momentum_decay=0.004
):
    """Step by adam with Nesterov's momentum, which grows from step to step; return parameter and moments.

    ``param -= (a * grad + b * moment1) / (sqrt(moment2) + epsilon)`` with the rates a and b of docs/optimizers.md.
    torch.optim.NAdam.

    Parameters
    ----------
    momentum_decay : float
        Momentum at step t is ``beta1 * (1 - 0.96**(t * momentum_decay) / 2)``.
    moment1, moment2, lr, iteration, beta1, beta2, epsilon
        As in adam with ``corrected_epsilon``.

    >>> nadam(np.zeros(1), np.ones(1), np.zeros(1), np.zeros(1), lr=0.1, iteration=0)[0].round(4)
    array([-0.1056])
    """
    epsilon = corrected(epsilon, beta1, beta2, iteration)
    by_grad, by_moment = nesterov_rates(lr, beta1, beta2, iteration, momentum_decay)
    moment1, moment2 = _averages(grad, moment1, moment2, beta1, beta2)
    step = (by_grad * grad + by_moment * moment1) / np.maximum(np.sqrt(moment2) + epsilon, LEAST_DIVISOR)
    return param - step, moment1, moment2


@optimizer(
    "RAdam",
    "Adam whose first steps are not divided by averaged squares.",
    numbers=lambda count, lr, beta1, beta2, epsilon, iteration: _adam_numbers(
        count, lr, beta1, beta2, epsilon, iteration, True, False
    ),
)
def radam(param, grad, moment1, moment2, /, *, lr, iteration, beta1=0.9, beta2=0.999, epsilon=1e-8):
    """Step by adam, ``rectified``; return parameter and moments. torch.optim.RAdam.

    Parameters
    ----------
    moment1, moment2, lr, iteration, beta1, beta2, epsilon
        As in adam.

    >>> radam(np.zeros(1), np.full(1, 2.), np.zeros(1), np.zeros(1), lr=0.1, iteration=0)[0].round(6)
    array([-0.2])
    """
    rate, scaled = adam_rate(lr, beta1, beta2, iteration, True)
    moment1, moment2 = _averages(grad, moment1, moment2, beta1, beta2)
    divisor = np.maximum(np.sqrt(moment2) + epsilon, LEAST_DIVISOR) if scaled else 1
    return param - rate * moment1 / divisor, moment1, moment2


@optimizer(
    "AdaBelief",
    "Adam over how far gradients are from their average.",
    numbers=lambda lr, beta1, beta2, epsilon, iteration: (*_numbers(lr, beta1, beta2, epsilon, iteration), epsilon),
)
def adabelief(param, grad, moment, spread, /, *, lr, iteration, beta1=0.9, beta2=0.999, epsilon=1e-16):
    """Step by adam over the deviation of gradients from their average; return changed arrays.

    ``spread = beta2 * spread + (1 - beta2) * (grad - moment)**2 + epsilon``, by the moment after this step, stands in
    place of adam's squares; ``corrected_epsilon``.

    >>> adabelief(np.zeros(1), np.ones(1), np.zeros(1), np.zeros(1), lr=0.1, iteration=0)[0].round(4)
    array([-0.1111])
    """
    moment = beta1 * moment + (1 - beta1) * grad
    spread = beta2 * spread + (1 - beta2) * (grad - moment) ** 2 + epsilon
    divisor = np.maximum(np.sqrt(spread) + corrected(epsilon, beta1, beta2, iteration), LEAST_DIVISOR)
    return param - adam_rate(lr, beta1, beta2, iteration, False)[0] * moment / divisor, moment, spread


@op(updates=True, types=FLOATING)
def advance_power(power: Dense, /, *, beta: float) -> Dense:
    """Multiply ``power *= beta``, in place: the power of beta that Paddle keeps for adam; return it.

    Parameters
    ----------
    power : array of one element

    >>> advance_power(np.array([0.81]), beta=0.9)
    array([0.729])
    """
    check_power(power)
    power[...] = power * beta
    return power


def check_power(power, name="power"):
    """Refuse a power that is no single number in place."""
    if writable(power, name).size != 1:
        raise ShapeMismatchError(f"{name} must be one number, got shape {power.shape}")
    check_values(power.dtype, name, floating=True)


advance_power.example(lambda dtype: [((np.ones(1, dtype if dtype.kind == "f" else np.float32),), {"beta": 0.9})])
