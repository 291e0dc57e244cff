"""Updates of a parameter in place, by a dense gradient or SelectedRows: one operator each.

Rows without gradient stay as they are, unless something decays: SelectedRows touch only their rows.
"""

from __future__ import annotations

import numpy as np

from ..arrays import FLOATING, Scalar
from ..lod import SelectedRows
from ..registry import Dense, op, takes_bfloat16
from .shared import plain
from .shared.optimizer import apply, optimizer
from .shared.optimizer_record import describe
from .shared.selected_parameters import key_positions, refuse_rest, sort_keys
from .shared.updates import (
    LEAST_DIVISOR,
    Duplicates,
    adjustment,
    check_rounding,
    check_update,
    learning_rate,
    masked,
    per_row,
    row_means,
)

DOCS_PAGE = "update"
SEARCH_WORDS = {
    "sgd": "SGD, gradient descent, optimizer step, sparse update, IndexedSlices",
    "adagrad": "Adagrad, SparseAdagrad, optimizer",
    "rowwise_adagrad": "RowWiseSparseAdagrad, FBGEMM, row-wise",
    "ftrl": "FTRL, follow the regularized leader, click-through rate",
}


@op(updates=True, types=FLOATING)
def sgd(
    param: Dense | SelectedRows,
    grad: Dense | SelectedRows,
    /,
    *,
    lr: Scalar,
    duplicates: Duplicates = "merge",
    lazy: bool = False,
    weight_decay: float = 0.0,
    decoupled: bool = False,
    maximize: bool = False,
    clip_value: float | None = None,
    clip_norm: float | None = None,
    mask: np.ndarray | None = None,
    rounding_seed: int | None = None,
) -> Dense | SelectedRows:
    """Update ``param -= lr * grad`` in place, and return the parameter.

    The gradient is dense, or SelectedRows that list the rows of a table that a batch has read. Unlisted rows change
    only by weight decay (see ``lazy``). All inputs are checked before anything is written.

    Parameters
    ----------
    param : array, or SelectedRows without duplicates
        Updated in place.
    grad : array like param, or SelectedRows of its shape
        If the parameter is SelectedRows, the gradient may list only rows of the parameter.
    lr : float or one-element array
    duplicates : {"merge", "sequential"}
        How to update a row that SelectedRows list twice. "merge" updates the row once, with the sum of its entries.
        "sequential" updates the row by one entry after another, as Caffe2 does.
    lazy : bool
        If True, rows that the SelectedRows do not list never change, even with decay.
    weight_decay : float
        Share of the parameter that is added to the gradient (L2).
    decoupled : bool
        If True, the parameter is multiplied by ``1 - lr * weight_decay`` instead, and the gradient does not change (as
        in AdamW).
    maximize : bool
        Step along the gradient, not against it.
    clip_value, clip_norm : float, optional
        Largest absolute value of the gradient's elements, or largest norm of the gradient. Clipping comes first, then
        the sign (``maximize``), then decay. On a GPU, ``clip_norm`` reads the norm and so synchronises.
    mask : NumPy array of bool, of shape (rows of param,), optional
        Rows with False, and their states, never change.
    rounding_seed : int, optional
        Round a float16 or bfloat16 parameter up or down at random, so that small steps count on average. The seed and
        the position in the parameter determine the direction. Pass another seed at each step.

    Returns
    -------
    param

    Raises
    ------
    RowIndexError
        A SelectedRows parameter lacks a row of the gradient.
    ShapeMismatchError
        Parameter and gradient differ in shape; SelectedRows have the shape ``(height, *item)``.
    DTypeError
        Types differ, or are not floating.
    OutputError
        The parameter is read-only, or shares memory with the gradient.

    Examples
    --------
    >>> param = np.ones((3, 1))
    >>> sgd(param, SelectedRows([2, 2], [[1.], [2.]], 3), lr=0.5).ravel()
    array([ 1. ,  1. , -0.5])
    """
    selected = isinstance(param, SelectedRows)
    if selected:
        sort_keys(plain, param)
        refuse_rest(weight_decay, mask, rounding_seed)
    target, lr = check_update("sgd", param, grad), learning_rate(lr)
    spreads = not lazy and weight_decay != 0
    if mask is not None:
        grad, spreads = masked(plain, grad, mask, duplicates, spreads), False
    check_rounding(target, duplicates, rounding_seed, None)
    grad, adjust = adjustment(plain, grad, duplicates, lr, weight_decay, decoupled, maximize, clip_value, clip_norm)
    if selected and isinstance(grad, SelectedRows):
        grad = SelectedRows(key_positions(param, grad._rows), grad.value, len(param._rows))
    elif selected:
        grad = grad[param._rows]
    apply(lambda p, g: (p - lr * g,), target, grad, (), duplicates, spreads, adjust, seed=rounding_seed)
    return param


describe(sgd, "SGD", "Steps against the gradient.", touches_all=False, numbers=lambda lr: (lr,))


def _adagrad_numbers(lr, epsilon, decay):
    return (lr, epsilon) if decay == 1 else ("decaying_adagrad", (lr, epsilon, decay))


@optimizer(
    "Adagrad",
    "Steps over the root of the sum of squared gradients.",
    touches_all=lambda attrs: attrs["decay"] != 1,
    numbers=_adagrad_numbers,
    class_defaults={"epsilon": 1e-10},
)
def adagrad(param, grad, moment, /, *, lr, epsilon=1e-6, decay=1.0):
    """Update ``moment = decay * moment + grad**2; param -= lr * grad / (sqrt(moment) + epsilon)``; return both.

    The operator corresponds to Paddle's adagrad, Caffe2's Adagrad and SparseAdagrad, and torch.optim.Adagrad.
    SelectedRows change only the listed rows. The result equals the dense update, because rows without gradient stay
    unchanged, unless there is decay.

    Parameters
    ----------
    moment : array like param
        Sum of the squared gradients of earlier steps; usually zeros at first.
    decay : float
        Factor that multiplies the moment at each step.

    >>> param, moment = np.zeros((3, 1)), np.zeros((3, 1))
    >>> adagrad(param, SelectedRows([2, 2], [[1.], [2.]], 3), moment, lr=0.5, epsilon=0.0)[0].ravel()
    array([ 0. ,  0. , -0.5])
    """
    moment = decay * moment + grad * grad
    return param - lr * grad / np.maximum(np.sqrt(moment) + epsilon, LEAST_DIVISOR), moment


@optimizer(
    "RowwiseAdagrad",
    "Adagrad with one sum of squares per row.",
    rowwise=True,
    touches_all=False,
    numbers=lambda lr, epsilon: (lr, epsilon),
)
def rowwise_adagrad(param, grad, moment, /, *, lr, epsilon=1e-6):
    """Step by adagrad with one moment per row: ``moment[i] += mean(grad[i]**2)``; return parameter and moment.

    Caffe2's RowWiseSparseAdagrad, FBGEMM's exact_rowwise_adagrad: the state of a table takes the memory of one column.

    Parameters
    ----------
    moment : array of shape (rows of param,)

    >>> param, moment = np.zeros((3, 2)), np.zeros(3)
    >>> rowwise_adagrad(param, SelectedRows([2], [[3., 4.]], 3), moment, lr=1.0)[1]
    array([ 0. ,  0. , 12.5])
    """
    moment = moment + row_means(grad * grad)
    return param - lr * grad / per_row(np.maximum(np.sqrt(moment) + epsilon, LEAST_DIVISOR), grad), moment


@optimizer(
    "DecayedAdagrad", "Adagrad whose squares decay.", numbers=lambda lr, epsilon, decay: (lr, epsilon, 1 - decay)
)
def decayed_adagrad(param, grad, moment, /, *, lr, decay=0.95, epsilon=1e-6):
    """Step by adagrad with an average: ``moment = decay * moment + (1 - decay) * grad**2``; return both.

    Paddle's decayed_adagrad; torch.optim.RMSprop without momentum.

    Parameters
    ----------
    moment : array like param
        Average of squares; zeros at first.

    >>> decayed_adagrad(np.zeros(1), np.array([2.]), np.zeros(1), lr=1.0, decay=0.75, epsilon=0.0)
    (array([-2.]), array([1.]))
    """
    moment = decay * moment + (1 - decay) * grad * grad
    return param - lr * grad / np.maximum(np.sqrt(moment) + epsilon, LEAST_DIVISOR), moment


LARGEST = 1e38  # 1 / lr of ftrl at most: an infinite one, times a root that stays, were NaN
#: The steps of ftrl: by whether both accumulators are side by side, and whether the power is a square root.
FTRL = {
    (False, True): "ftrl",
    (True, True): "ftrl_pairs",
    (False, False): "powered_ftrl",
    (True, False): "powered_ftrl_pairs",
}


def _ftrl_numbers(count, lr, beta, l1, l2, lr_power):
    root = lr_power == -0.5
    numbers = min(1 / lr, LARGEST), beta, l1, l2
    if not root:
        # The logarithm of 0, minus infinity, makes a power of 0; times a power of 0 it were NaN, not 1.
        numbers = *numbers, -lr_power, 0.0 if lr_power else LEAST_DIVISOR
    return FTRL[count == 1, root], numbers


@optimizer(
    "FTRL",
    """Follow the regularised leader: weights that l1 sets to exactly 0.

    What no gradient has reached is 0 after a dense step, as the accumulators have it: start from zeros, or pass
    SelectedRows.
    """,
    pairs=True,
    touches_all=False,
    positive=("lr",),
    numbers=_ftrl_numbers,
)
def ftrl(param, grad, squared, linear=None, /, *, lr, beta=1.0, l1=0.0, l2=0.0, lr_power=-0.5):
    """Step by FTRL-Proximal, in place; return the parameter and its accumulators.

    ``n = squared + grad**2; linear += grad - (sqrt(n) - sqrt(squared)) / lr * param``, and then
    ``param = (l1 * sign(linear) - linear) / ((beta + sqrt(n)) / lr + l2)`` where ``|linear| > l1``, else 0.
    The operator corresponds to Caffe2's Ftrl and SparseFtrl. SelectedRows touch only their rows, which equals the dense
    update of a parameter that its accumulators give: zeros at first, and after any step.

    Parameters
    ----------
    squared, linear : arrays like param
        Accumulated squares and adjusted gradients; usually zeros at first. Or one array of shape
        ``(*param.shape, 2)`` with both side by side, which is faster for rows of a tall table (Caffe2's n_z).
    lr : float or one-element array
        Larger than 0; often called alpha.
    beta, l1, l2 : float
        ``l1`` makes parameters exactly 0.
    lr_power : float
        At most 0: the accumulated squares are taken to the power ``-lr_power`` in place of the square root.

    >>> states = np.zeros((2, 2)), np.zeros((2, 2))
    >>> ftrl(np.zeros((2, 2)), SelectedRows([1], [[3., 0.5]], 2), *states, lr=1.0, l1=1.0)[0]
    array([[ 0. ,  0. ],
           [-0.5,  0. ]])
    """
    n = squared + grad * grad
    root, before = n**-lr_power, squared**-lr_power
    z = linear + grad - (root - before) / lr * param
    return (np.clip(z, -l1, l1) - z) / np.maximum((beta + root) / lr + l2, LEAST_DIVISOR), n, z


def _shrinks(attrs):
    return attrs["l1"] != 0 or attrs["l2"] != 0


def _proximal_numbers(lr, l1, l2):
    return lr, lr * l1, 1 / (1 + lr * l2)


def _shrunk(x, lr, l1, l2):
    """The proximal step of the regularizer ``l1 * |x| + l2 / 2 * x**2``."""
    return (x - np.clip(x, -lr * l1, lr * l1)) / (1 + lr * l2)


@optimizer(
    "ProximalGD", "Gradient descent that l1 and l2 pull towards 0.", touches_all=_shrinks, numbers=_proximal_numbers
)
def proximal_gd(param, grad, /, *, lr, l1=0.0, l2=0.0):
    """Step by sgd, then ``sign(param) * max(|param| - lr * l1, 0) / (1 + lr * l2)``; return the parameter.

    Paddle's proximal_gd (FOBOS). Regularized parameters shrink where there is no gradient too.

    Parameters
    ----------
    l1, l2 : float
        ``l1`` makes parameters exactly 0.

    >>> proximal_gd(np.array([1., 0.2]), np.array([1., 0.]), lr=0.5, l1=0.5)
    array([0.25, 0.  ])
    """
    return (_shrunk(param - lr * grad, lr, l1, l2),)


@optimizer("ProximalAdagrad", "Adagrad that l1 and l2 pull towards 0.", touches_all=_shrinks, numbers=_proximal_numbers)
def proximal_adagrad(param, grad, moment, /, *, lr, l1=0.0, l2=0.0):
    """Step by adagrad without epsilon, then shrink as proximal_gd does; return parameter and moment.

    The operator corresponds to Paddle's proximal_adagrad.

    Parameters
    ----------
    moment : array like param
        Accumulated squares.
    l1, l2
        As in proximal_gd.

    >>> proximal_adagrad(np.ones(1), np.array([3.]), np.full(1, 16.), lr=0.5, l1=0.2)
    (array([0.6]), array([25.]))
    """
    moment = moment + grad * grad
    return _shrunk(param - lr * grad / np.maximum(np.sqrt(moment), LEAST_DIVISOR), lr, l1, l2), moment


takes_bfloat16(sgd)
