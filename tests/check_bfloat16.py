"""All 2^32 patterns of float32, rounded to bfloat16, beside PyTorch's cast: ``python tests/check_bfloat16.py``.

Takes a minute. A sample of them is in test_simd_bfloats.py.
"""

from __future__ import annotations

import numpy as np
import torch

from lodkit.base.bfloat16 import round_to_bits, widen_bits
from lodkit.jit import njit, simd

STEP = 1 << 24


@njit
def round_all(floats, bits):
    for i in range(len(bits)):
        simd.store(bits, i, 0, simd.load(floats, i, 0, 64))


def check_all():
    """Compare compiled code, its NumPy body and PyTorch. Returns how many patterns were compared."""
    checked, bits = 0, np.empty((STEP // 64, 64), np.int16)
    for start in range(0, 1 << 32, STEP):
        floats = np.arange(start, start + STEP, dtype=np.uint32).view(np.float32)
        round_all(floats.reshape(-1, 64), bits)
        got, by_numpy = bits.reshape(-1).view(np.uint16), round_to_bits(floats)
        by_torch = torch.from_numpy(floats).bfloat16().view(torch.int16).numpy().view(np.uint16)
        nan = np.isnan(floats)
        assert (got == by_numpy).all(), hex(start)
        assert (np.where(nan, 0, got) == np.where(nan, 0, by_torch)).all(), hex(start)
        assert np.isnan(widen_bits(got[nan])).all(), hex(start)
        checked += len(floats)
    return checked


if __name__ == "__main__":
    print(f"{check_all():,} patterns of float32 are rounded as by PyTorch; NaN stays NaN")
