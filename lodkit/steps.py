"""The optimizers, as steps over vectors that every device shares.

``step(parameter, state, gradient, lr, epsilon) -> (parameter, state)``; a device's kernel templates say whence and
whither, for a dense gradient and for the rows of SelectedRows.
"""

from __future__ import annotations

from . import simd
from .ops.optimizers import LEAST_DIVISOR


def sgd(p, state, g, lr, epsilon):
    return simd.sub(p, simd.mul(simd.like(p, lr), g)), state


def adagrad(p, state, g, lr, epsilon):
    state = simd.add(state, simd.mul(g, g))
    divisor = simd.larger(simd.add(simd.sqrt(state), simd.like(p, epsilon)), simd.like(p, LEAST_DIVISOR))
    return simd.sub(p, simd.div(simd.mul(simd.like(p, lr), g), divisor)), state
