"""What a constant leaves is as exact far from zero as near it, on the emulated GPU too."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("greenlet")
pytest.importorskip("numba_cuda")
pytest.importorskip("array_api_compat")

from calls import calling
from emulated import to_numpy
from far_from_zero import check_input, is_held, measured
from samples import SAMPLES
from test_cuda_laws import any_gpu  # noqa: F401
from test_every_op import is_floating
from test_far_from_zero import EXCEPTIONS, MEASURE

import lodkit
from lodkit.registry.kinds import numbers_of


def smallest(name):
    """The sample of an operator with the fewest numbers, of those in single precision if there are any."""
    best = []
    for inputs, attrs in SAMPLES[name]:
        accepted = lodkit.OPS[name]._accept(tuple(inputs))
        numbers = [numbers_of(x) for x in accepted if is_floating(x)]
        size = sum(x.size for x in numbers)
        if len(numbers) and size >= 4 and all(x.dtype != np.float16 and np.isfinite(x).all() for x in numbers):
            best.append((numbers[0].dtype == np.float64, size, len(best), accepted, attrs))
    return min(best)[3:] if best else None


def test_a_constant_costs_no_digits(gpu):
    held = 0
    for name in MEASURE:
        if not (case := smallest(name)):
            continue
        op, labels = lodkit.OPS[name], lodkit.OPS[name]._names(case[0])
        with calling(name, *case, "cuda"):
            for i in measured(op, *case):
                if is_held(labels[i], EXCEPTIONS.get(name, ())):
                    held += check_input(op, case[0], i, case[1], gpu, to_numpy)
    assert held >= 10
