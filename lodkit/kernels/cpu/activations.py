"""CPU kernels of lodkit/ops/activations.py."""

from __future__ import annotations

import math

import numpy as np

from ...arrays import native
from ...jit import parallel_kernel, prange
from .primitives.softmax import softmax_grad_last as softmax_grad_last
from .primitives.softmax import softmax_last as softmax_last


@parallel_kernel
def _erfc(x, out):
    for i in prange(len(x)):
        out[i] = math.erfc(x[i])


def complementary_error(x):
    """The complementary error function of every element, which NumPy lacks."""
    out = np.empty(x.shape, native(x.dtype))
    _erfc(8 * x.size, np.ascontiguousarray(x, out.dtype).reshape(-1), out.reshape(-1))
    return out
