"""CPU part of lodkit/ops/sequence_padding.py."""

from __future__ import annotations

import numpy as np

from ...ops.sequence_padding import pad_as


def pads(pad, values, dtype):
    """Padding for ``copy_runs``: a number, or a row for each side."""
    if pad.ndim == 0 and pad.dtype.kind in "fiub" and not any(pad.tobytes()):
        return 0  # the usual number, which is of every type
    pad = pad_as(pad, dtype)
    return np.stack([pad, pad]) if pad.ndim else pad[()]
