"""Compile kernels ahead of their first use."""

from __future__ import annotations

import contextlib

from ..errors import DTypeError
from ..jit import settings
from .operators import OPS


def warmup(op, dtypes=("float32",)):
    """Compile an operator's kernels ahead of their first use, serial and parallel twins.

    Parameters
    ----------
    op : str or Op
        The operator, or its name.
    dtypes : sequence of dtypes
        Types of values; those that the operator refuses are skipped.
    """
    op = OPS[op] if isinstance(op, str) else op
    if not hasattr(op, "warmup_calls"):
        raise TypeError(f"op must be an operator or its name, got {op!r}")
    dtypes = dtypes if isinstance(dtypes, list | tuple) else [dtypes]
    usual = settings.parallel_from
    try:
        for settings.parallel_from in (usual, 0):
            for dtype in dtypes:
                for call in op.warmup_calls(dtype):
                    with contextlib.suppress(DTypeError):
                        call()
    finally:
        settings.parallel_from = usual
