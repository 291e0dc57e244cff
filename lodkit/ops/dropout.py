"""Dropout: a mask that is computed from a seed and each element's number, the same everywhere."""

from __future__ import annotations

import numpy as np

from ..arrays import FLOATING, check_values, native
from ..lod import values_of
from ..registry import Dense, op

DOCS_PAGE = "layers"
SEARCH_WORDS = {"dropout": "Dropout, regularisation, regularization"}

GOLDEN, FIRST, SECOND = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
WORD = (1 << 64) - 1


def mix_state(state):
    """SplitMix64 of a state: 64 bits that each depend on all of the state's."""
    state = ((state ^ state >> 30) * FIRST) & WORD
    state = ((state ^ state >> 27) * SECOND) & WORD
    return state ^ state >> 31


def prepare(x, rate, seed, training):
    """Check the inputs. Returns dtype, start of the counter, limit of the 32 bits of a dropped element, and the factor.

    Element i is dropped where the upper half of ``mix_state(start + i * GOLDEN)`` is below the limit.
    """
    dtype = check_values(x.dtype, "dropout")
    if not 0 <= rate <= 1:
        raise ValueError(f"dropout: rate must be from 0 to 1, got {rate!r}; it is the share of elements that become 0")
    start = mix_state((seed + GOLDEN) & WORD)
    limit = round(rate * 2**32) if training else 0
    return dtype, start, limit, 1 / (1 - rate) if training and rate < 1 else 1.0


@op(rowwise=True, like="x", types=FLOATING)
def dropout(x: Dense, /, *, rate: float, seed: int, training: bool = True) -> Dense:
    """Put 0 in place of a share of all elements, and scale the others by ``1 / (1 - rate)``.

    The mask depends only on the seed and the position of each element. So it is the same on the CPU and on a GPU, for
    any number of threads, and the gradient computes it again. Take another seed for each step and each layer, for
    example a counter.

    Parameters
    ----------
    x : array or LoDTensor of float16, float32 or float64
    rate : float
        Probability of an element to become 0.
    seed : int
    training : bool
        False: a copy of x.

    Returns
    -------
    array or LoDTensor
        Like x.

    Examples
    --------
    >>> dropout(np.ones(8), rate=0.5, seed=1)
    array([2., 0., 2., 0., 2., 0., 2., 2.])
    """
    dtype, start, limit, factor = prepare(x, rate, seed, training)
    bits = [mix_state((start + i * GOLDEN) & WORD) >> 32 for i in range(x.size)]
    kept = np.reshape(np.array(bits, np.int64) >= limit, x.shape)
    with np.errstate(over="ignore", invalid="ignore"):
        return np.where(kept, x.astype(np.float64) * factor, 0).astype(native(dtype))


@dropout.gradient
def _(call, grad):
    return dropout(values_of(grad), **call.attrs)


@dropout.example
def _(dtype):
    return [((np.ones((2, 3), np.float32 if dtype.kind == "i" else dtype),), {"rate": 0.5, "seed": 0})]
