"""adam whose rows wait for their gradient, and remember when the last one came."""

from __future__ import annotations

import numpy as np

from ..arrays import Scalar
from ..lod import SelectedRows
from ..registry import Dense
from .shared.optimizer import optimizer
from .shared.updates import LEAST_DIVISOR, one_number, per_row

DOCS_PAGE = "update"

# The difference of two larger counters may exceed int64.
MAX_STEPS = 1 << 62


@optimizer(
    "SmartDecayAdam",
    "Adam that makes up, when a row is seen again, for the decay of the steps since.",
    rowwise=True,
    touches_all=False,
    counter=True,
)
def smart_decay_adam(
    param: Dense,
    grad: Dense | SelectedRows,
    moment1: Dense,
    moment2: Dense,
    last_seen: Dense,
    /,
    *,
    lr: Scalar,
    iteration: Scalar,
    beta1: float = 0.9,
    beta2: float = 0.999,
    epsilon: float = 1e-8,
) -> tuple[Dense, ...]:
    """Step by adam; a row makes up for its steps without a gradient when one comes; return changed arrays.

    After k steps since the last step of a row, ``moment1 = beta1**k * moment1 + (1 - beta1) * grad``, and ``moment2``
    with beta2 and ``grad**2``. Then ``param -= lr * (moment1 + m) / (sqrt(moment2) + epsilon)``. Here m is the old
    moment, times ``beta1 * (1 - beta1**(k - 1)) / (1 - beta1)``: the sum of the missed steps. Moments that start from
    zeros are not corrected. Rows without a gradient wait. The operator corresponds to Caffe2's SmartDecaySparseAdam.

    Parameters
    ----------
    last_seen : int64 array of shape (rows of param,)
        ``iteration + 1`` of each row's last step; zeros at first.
    moment1, moment2, lr, iteration, beta1, beta2, epsilon
        As in adam.
    duplicates, lazy, weight_decay, decoupled, maximize, clip_value, clip_norm, mask
        As in sgd.

    >>> states = np.ones((2, 1)), np.ones((2, 1)), np.array([3, 0])
    >>> smart_decay_adam(np.zeros((2, 1)), SelectedRows([0], [[0.]], 2), *states, lr=1., iteration=4, beta1=0.5)[1:]
    (array([[0.25],
           [1.  ]]), array([[0.998001],
           [1.      ]]), array([5, 0]))
    """
    now = one_number(iteration) + 1
    passed = np.maximum(now - np.maximum(last_seen, now - MAX_STEPS), 0)
    missed = beta1 * (1 - beta1 ** np.maximum(passed - 1, 0)) / (1 - beta1)
    ahead = moment1 * per_row(missed, grad)
    moment1 = per_row(beta1**passed, grad) * moment1 + (1 - beta1) * grad
    moment2 = per_row(beta2**passed, grad) * moment2 + (1 - beta2) * grad * grad
    step = lr * (moment1 + ahead) / np.maximum(np.sqrt(moment2) + epsilon, LEAST_DIVISOR)
    return param - step, moment1, moment2, np.full_like(last_seen, now)
