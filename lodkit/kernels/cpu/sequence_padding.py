"""CPU part of lodkit/ops/sequence_padding.py."""

from __future__ import annotations

import numpy as np

from ...ops.sequence_padding import pad_as


def pads(pad, values, dtype):
    """Padding for ``copy_runs``: a number, or a row for each side."""
    pad = pad_as(pad, dtype)
    return np.stack([pad, pad]) if pad.ndim else pad[()]
