"""Checks that all updates share, before anything is written, and the gradients that their definitions step by."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

from ...arrays import (
    cast_to,
    check_rows,
    check_values,
    from_lists,
    is_array,
    is_half,
    is_number,
    mixed_types,
    native,
    writable,
)
from ...base.errors import DTypeError, ShapeMismatchError
from ...lod import SelectedRows
from ..selected_rows import added

TOO_MUCH = 2.0**128 - 2.0**103  # rounded to float32, this is infinite
LEAST_DIVISOR = float(np.finfo(np.float32).smallest_normal)  # 0 / 0, with epsilon = 0, is no step
Duplicates = Literal["merge", "sequential"]
#: Binary digits of a half, and the exponent of its last one at least, by the kind of its type: float16 and bfloat16.
LAST_DIGITS = {"f": (11, -24), "V": (8, -133)}


def one_number(x):
    """A float, of a number or a one-element array."""
    if type(x) is float:
        return x
    return float(x) if type(x) is int else float(np.asarray(x).reshape(-1)[0])


def learning_rate(lr):
    """The rate as a float; NaN and infinity are refused, negative ones ascend."""
    rate = lr if type(lr) is float else one_number(lr)
    if rate - rate == 0:  # neither NaN nor infinite
        return rate
    raise ValueError(f"lr must be {'a number' if rate != rate else 'finite'}, got {rate}")


def plain_number(x):
    """A one-element array as a float; anything else as it is."""
    return float(x.reshape(-1)[0]) if isinstance(x, np.ndarray) else x


_AT_LEAST_0 = lambda x: x >= 0, "at least 0"
_POSITIVE = lambda x: x > 0, "larger than 0"
_BELOW_1 = lambda x: 0 <= x < 1, "at least 0 and less than 1"
#: Tests and descriptions of the numbers of a rule, by name.
_LIMITS = {
    "decay": (lambda x: 0 <= x <= 1, "in [0, 1]"),
    "dampening": (lambda x: 0 <= x <= 1, "in [0, 1]"),
    "beta1": _BELOW_1,
    "beta2": _BELOW_1,
    "iteration": (lambda x: 0 <= x < 2**63 - 1 and x % 1 == 0, "a whole number from 0 on, below 2**63 - 1"),
    "lr_power": (lambda x: x <= 0, "at most 0"),
    "reg_lambda": (lambda x: 0 < x < 1, "between 0 and 1"),
    **dict.fromkeys(
        ("weight_decay", "beta", "l1", "l2", "momentum", "epsilon", "momentum_decay", "sigma", "seed"), _AT_LEAST_0
    ),
    **dict.fromkeys(("clip_value", "clip_norm", "norm", "batch_size", "coefficient"), _POSITIVE),
    **dict.fromkeys(("positive_lr", "positive_epsilon", "positive_beta"), _POSITIVE),
}


def limit_of(name):
    """The test of a number of a rule; None where it has no limits."""
    return _LIMITS[name][0] if name in _LIMITS else None


def check_rule(**numbers):
    """Refuse numbers outside their limits."""
    for name, number in numbers.items():
        fits, expected = _LIMITS[name]
        if not fits(number):
            raise ValueError(f"{name.removeprefix('positive_')} must be {expected}, got {number}")


def numbers_in(dtype, numbers, adjust=()):
    """Numbers of an update, and of its ``adjustment``, in the type that a parameter computes in.

    Those that it does not hold are refused; a bound of gradients that is one of them bounds nothing.
    """
    # Gradients without a bound have an infinite one, the last number.
    finite = (*numbers, *(adjust[:3] if adjust and adjust[3] == math.inf else adjust))
    if dtype == np.float32 and not max(map(abs, finite), default=0.0) < TOO_MUCH:
        for number in (*numbers, *adjust[:3]):
            if TOO_MUCH <= abs(number) < math.inf:
                source = "lr, or another number of the update, makes"
                raise ValueError(f"{source} {number}, outside what {dtype} holds; pass smaller ones")
        if adjust and adjust[3] >= TOO_MUCH:
            adjust = *adjust[:3], math.inf
    return np.array((*numbers, *adjust), dtype)


def adjustment(
    on, grad, duplicates, lr, weight_decay=0.0, decoupled=False, maximize=False, clip_value=None, clip_norm=None
):
    """What happens to a gradient before a rule: clipping, the sign, then decay.

    Returns
    -------
    grad : array or SelectedRows
        Merged, where the norm of its rows was taken.
    numbers : tuple of float
        The share of the parameter that is added to the gradient, the factors of the parameter and of the gradient, and
        its bound. Nothing where all are off.
    """
    if not weight_decay >= 0:
        check_rule(weight_decay=weight_decay)
    if not (weight_decay or maximize) and clip_value is None and clip_norm is None:
        return grad, ()
    factor = -1.0 if maximize else 1.0
    if clip_value is not None:
        if not clip_value > 0:
            check_rule(clip_value=clip_value)
        if clip_norm is not None:
            check_clipping(clip_value, clip_norm)
    elif clip_norm is not None:
        check_rule(clip_norm=clip_norm)
        if isinstance(grad, SelectedRows):
            grad = on.merge_rows(grad) if duplicates == "merge" else grad
        value = grad.value if isinstance(grad, SelectedRows) else grad
        check_values(value.dtype, "the gradient", floating=True, bfloat16=True)
        norm = math.sqrt(on.squared_norm(value))
        factor *= clip_norm / norm if norm > clip_norm else 1.0
    decay, keep = (0.0, 1 - lr * weight_decay) if decoupled else (weight_decay, 1.0)
    return grad, (decay, keep, factor, math.inf if clip_value is None else clip_value)


def check_clipping(clip_value, clip_norm):
    """Refuse both ways to clip at once."""
    if clip_value is not None and clip_norm is not None:
        raise ValueError("clip_value and clip_norm are two ways to clip a gradient; give one of them")


def check_mask(mask, shape):
    """Refuse a mask that is not one of the rows of a parameter of this shape."""
    if not (isinstance(mask, np.ndarray) and mask.dtype == np.bool_ and mask.shape == tuple(shape[:1])):
        found = f"{mask.dtype} of shape {mask.shape}" if isinstance(mask, np.ndarray) else type(mask).__name__
        raise ShapeMismatchError(f"mask must be an array of bool, one for each of {shape[0]} rows, got {found}")


def masked(on, grad, mask, duplicates, touches_all):
    """The gradient of the rows where a mask is True, as SelectedRows: of all of them where all rows are to change."""
    check_mask(mask, grad.shape)
    sparse, listed = isinstance(grad, SelectedRows), np.flatnonzero(mask)
    value, height = grad.value if sparse else grad, grad.shape[0]
    if not sparse:
        rows = on.send(value, listed)
        return SelectedRows._wrap(rows, on.take(value, rows), height, True)
    if touches_all:
        check_merged(duplicates)
        grad = on.merge_rows(grad)
    rows = on.read(grad._rows)
    kept = np.flatnonzero(mask[rows])
    value = on.take(grad.value, on.send(grad.value, kept))
    if not touches_all:
        return SelectedRows._wrap(on.send(value, rows[kept]), value, height, grad.is_merged)
    filled = on.zeros((len(listed), *value.shape[1:]), value.dtype, value)
    on.put_rows(on.send(value, np.searchsorted(listed, rows[kept])), value, filled)
    return SelectedRows._wrap(on.send(value, listed), filled, height, True)


def check_record(grad, duplicates, mask=None):
    """Refuse to record the steps of rows that are merged first, or left out."""
    if mask is not None:
        raise ValueError("return_step takes no mask: rows that it leaves out have no step")
    if isinstance(grad, SelectedRows) and duplicates != "sequential":
        raise ValueError('return_step with SelectedRows needs duplicates="sequential" and lazy=True')


def check_rounding(param, duplicates, seed, records):
    """Refuse a rounding at random that has no meaning."""
    if seed is None:
        return
    if not is_half(param.dtype):
        raise DTypeError(
            f"rounding_seed is for a parameter of float16 or bfloat16, this one is {param.dtype}; leave it out"
        )
    if not 0 <= seed < 1 << 31:
        raise ValueError(f"rounding_seed must be at least 0 and less than 2**31, got {seed}")
    if duplicates == "sequential" or records is not None:
        raise ValueError('rounding_seed takes one step a row: no duplicates="sequential" and no return_step')


def corrections(beta1, beta2, iteration):
    """``1 - beta**t`` of both moments of adam, which start from zeros, at step t = iteration + 1."""
    # Kernels give a float: half of this function's time for another call.
    t = (iteration if type(iteration) is float else one_number(iteration)) + 1
    return 1 - beta1**t, 1 - beta2**t


def rectification(beta2, iteration):
    """RAdam's factor of a step, None as long as it is not to be divided by the root of the averaged squares."""
    t, largest = one_number(iteration) + 1, 2 / (1 - beta2) - 1
    length = largest - 2 * t * beta2**t / (1 - beta2**t)
    if length < 5:
        return None
    return math.sqrt((length - 4) * (length - 2) * largest / ((largest - 4) * (largest - 2) * length))


def iteration_of(power, beta):
    """The number of steps before the one whose correction has this power of beta: of ``beta**t``, t - 1."""
    numbers = power if is_array(power) else from_lists(power, "a power of beta")
    if numbers.size != 1 or numbers.dtype.kind not in "fiu":
        raise ShapeMismatchError(f"a power of beta must be one number, got {numbers.dtype} of shape {numbers.shape}")
    power = one_number(power)
    check_power_of_beta(power, "a power of beta")
    if not is_number(beta) or not 0 < beta < 1 or power >= 1:
        return 0
    return max(0, round(math.log(power) / math.log(beta)) - 1) if power > 0 else 1 << 40


def check_power_of_beta(number, name):
    """Refuse what no power of a number from 0 to 1 is, as NaN."""
    if not 0 <= number <= 1:
        raise ValueError(f"{name} must be between 0 and 1, got {number}; before the first step it is beta")


def adam_rate(lr, beta1, beta2, iteration, rectified):
    """The rate of a step of adam, and whether to divide it by the root of the squares, as RAdam does not at first."""
    first, second = corrections(beta1, beta2, iteration)
    factor = rectification(beta2, iteration) if rectified else 1.0
    return (lr / first, False) if factor is None else (lr * math.sqrt(second) / first * factor, True)


def nesterov_rates(lr, beta1, beta2, iteration, momentum_decay):
    """NAdam's rates of the gradient and the moment. Momentum at step t is ``beta1 * (1 - 0.96**(t * decay) / 2)``."""
    t = int(one_number(iteration)) + 1
    matters = math.ceil(-40 / math.log(max(beta1, 1e-9)))  # so many momenta multiply to less than a float64 adds to 1
    steps = np.arange(1, 1 + min(t, matters))
    before = np.prod(beta1 * (1 - 0.5 * 0.96 ** (steps * momentum_decay))).item()
    now, then = (beta1 * (1 - 0.5 * 0.96 ** (step * momentum_decay)) for step in (t, t + 1))
    scale = lr * math.sqrt(1 - beta2**t)
    return scale * (1 - now) / (1 - before), scale * then / (1 - before * then)


def check_target(name, param):
    """Refuse a parameter that cannot be updated in place; returns the array of its values."""
    target = param.value if isinstance(param, SelectedRows) else param
    check_values(target.dtype, name, floating=True, bfloat16=True)
    return writable(target, "param")


def check_states(name, target, names, states, rowwise=False, pairs=False, counter=False):
    """Refuse states unlike the parameter. The last one of a row-wise update is a vector, which may be a counter."""
    shape, vector = (*target.shape, 2) if pairs else target.shape, len(states) - 1 if rowwise else None
    for i, array in enumerate(states):
        what = names[i]
        writable(array, what)
        if i == vector:
            shape = target.shape[:1]
        if array.shape != shape:
            raise ShapeMismatchError(
                f"{name}: {what} has shape {tuple(array.shape)}, the parameter {tuple(target.shape)}; "
                f"pass one of shape {tuple(shape)}"
            )
        if counter and i == vector:
            if array.dtype != np.int64:
                raise DTypeError(
                    f"{name}: {what} must be int64, not {array.dtype}; {cast_to(np.int64, of=array.dtype)}"
                )
        elif array.dtype != target.dtype and not (is_half(target.dtype) and array.dtype == np.float32):
            raise mixed_types(f"{name}: {what}", array.dtype, "the parameter", target.dtype)


def check_update(name, param, grad, names=(), states=(), rowwise=False, pairs=False, counter=False):
    """Check a parameter, its gradient and its states; returns the array of the parameter's values."""
    target = check_target(name, check_rows(param, "param") if rowwise else param)
    if grad.shape != param.shape:
        raise ShapeMismatchError(
            f"{name}: the gradient has shape {tuple(grad.shape)}, the parameter {tuple(param.shape)}"
        )
    if states:
        check_states(name, target, names, states, rowwise, pairs, counter)
    check_grad_dtype(name, target, grad)
    return target


def check_grad_dtype(name, target, grad):
    """Refuse a gradient of another type than the parameter's."""
    if grad.dtype is not target.dtype and native(grad.dtype) != target.dtype:
        raise mixed_types(f"{name}: the gradient", grad.dtype, "the parameter", target.dtype)


def check_merged(duplicates):
    """Refuse updates of one row after another where rows without gradient change too."""
    if duplicates == "sequential":
        raise ValueError(
            'duplicates="sequential" has no meaning where rows without gradient change too; '
            "pass lazy=True, which leaves them alone"
        )


def check_whole(name, duplicates):
    """Refuse updates of one row after another by a rule that takes norms of all rows."""
    if duplicates == "sequential":
        raise ValueError(
            f'{name}: duplicates="sequential" has no meaning for a rule with norms of all rows; merge them'
        )


def merged(rows, value):
    """Each row once, and the sum of its values in float64."""
    unique, inverse = np.unique(rows, return_inverse=True)
    return unique, added(inverse, value, len(unique))


def grad_steps(grad, duplicates, touches_all=False):
    """Steps of a definition, one after another: an index, and the gradient there as float64."""
    if touches_all and isinstance(grad, SelectedRows):
        check_merged(duplicates)
        return [(slice(None), added(grad._rows, grad.value, grad.height))]
    if not isinstance(grad, SelectedRows):
        return [(... if not grad.ndim else slice(None), grad.astype(np.float64))]
    if duplicates == "sequential":
        return [([row], g[None].astype(np.float64)) for row, g in zip(grad._rows, grad.value, strict=True)]
    return [merged(grad._rows, grad.value)]


def row_means(squares):
    """The mean of each row; 0 for rows of no elements."""
    if not squares.size:
        return np.zeros(squares.shape[:1])
    return squares.reshape(len(squares), -1).mean(axis=1)


def per_row(numbers, rows):
    """One number per row, in a shape that broadcasts over the rows."""
    return numbers.reshape(-1, *(1,) * (rows.ndim - 1))
