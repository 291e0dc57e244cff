"""CPU kernels of lodkit/ops/elementwise.py: norms, without an array of squares."""

from __future__ import annotations

import math

import numpy as np

from ..common.elementwise import map_norms
from .primitives.norms import squared_norm


def _norm(xp, x):
    return np.asarray(math.sqrt(squared_norm(x)))


map_norms(_norm, "cpu")
