"""Steps of listed rows without a gradient, as those of ``optimizer_steps``: regularizers and norms."""

from __future__ import annotations

from ...jit import jitable, simd
from .optimizer_steps import _clipped, _one


@jitable
def shrink(p, states, g, squares, numbers):
    return simd.mul(p, simd.like(p, numbers[0])), states


@jitable
def soft_threshold(p, states, g, squares, numbers):
    return simd.sub(p, _clipped(p, simd.like(p, numbers[0]))), states


@jitable(inline=True)
def _to_norm(p, squares, numbers):
    """The factor that gives a row its norm."""
    squares = _one(squares)
    size = simd.add(simd.sqrt(simd.mul(squares, simd.like(squares, numbers[1]))), simd.like(squares, 1e-12))
    return simd.like(p, simd.lane(simd.div(simd.like(size, numbers[0]), size), 0))


@jitable
def normalize(p, states, g, squares, numbers):
    return simd.mul(p, _to_norm(p, squares, numbers)), states


@jitable
def normalize_down(p, states, g, squares, numbers):
    return simd.mul(p, simd.minimum(_to_norm(p, squares, numbers), simd.like(p, 1))), states
