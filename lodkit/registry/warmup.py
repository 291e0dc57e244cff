"""Compile kernels ahead of their first use."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Sequence
from typing import Any

from ..arrays import VALUE_TYPES, native
from ..arrays.checks import as_dtype
from ..arrays.types import DTypeLike
from ..base.errors import DTypeError
from ..jit import settings
from .operators import OPS, Op

#: Settings by which small examples run as large batches do, whose tables are not in the caches.
_LARGE_CALL_SETTINGS = {"parallel_from": 0, "fetch_from": 0, "near_bytes": -1, "mid_bytes": -1}


def warmup(
    ops: str | Op[..., Any] | Sequence[str | Op[..., Any]] | None = None,
    dtypes: DTypeLike | Sequence[DTypeLike] = ("float32",),
    *,
    progress: bool | None = None,
) -> None:
    """Compile operators' kernels ahead of their first use, those of small batches and of large ones out of memory.

    Kernels are those of the operators' examples: what other numbers of columns, reductions and options need compiles
    at its first call. A job of yours warms up by small and large calls of its own, which are cached on disk as well.
    With an empty cache an operator takes up to 7 seconds of a core, all of them some minutes; what is cached on
    disk is only loaded.

    Parameters
    ----------
    ops : str, Op, or sequence of them, optional
        Operators, or their names; all by default.
    dtypes : dtype or sequence of dtypes
        Types of values; those that an operator refuses are skipped.
    progress : bool, optional
        Write to stderr how many operators there are, what is compiled, how long it took, and how long the rest will
        take at that rate. By default where stderr is a terminal.

    Raises
    ------
    KeyError, TypeError
        What is no name of an operator, no operator, or no data type of values. Nothing was compiled then.

    Examples
    --------
    >>> warmup(["relu", "lookup_table"], ["float32", "float64"])
    """
    given = list(OPS.values()) if ops is None else list(ops) if isinstance(ops, list | tuple) else [ops]
    chosen: list[Any] = [OPS[op] if isinstance(op, str) else op for op in given]
    for op in chosen:
        if not hasattr(op, "warmup_calls"):
            raise TypeError(f"ops must be operators or their names, got {op!r}")
    dtypes = [as_dtype(x, "dtypes") for x in (dtypes if isinstance(dtypes, list | tuple) else [dtypes])]
    for dtype in dtypes:
        if native(dtype) not in VALUE_TYPES:
            known = ", ".join(sorted(map(str, VALUE_TYPES)))
            raise DTypeError(f"dtypes: no operator takes values of {dtype}; name some of {known}")
    shown = sys.stderr.isatty() if progress is None else progress
    started = time.perf_counter()
    if shown:
        most = 7 * len(chosen) * len(dtypes)
        print(f"{len(chosen)} operators: up to {most} s unless they are cached on disk", file=sys.stderr)
    for k, op in enumerate(chosen):
        before = time.perf_counter()
        _compile(op, dtypes)
        if shown:
            now = time.perf_counter()
            left = (now - started) / (k + 1) * (len(chosen) - k - 1)
            print(f"[{k + 1}/{len(chosen)}] {op.name}: {now - before:.1f} s, {left:.0f} s left", file=sys.stderr)


def _compile(op, dtypes):
    chosen, usual = vars(settings), vars(settings).copy()
    try:
        for changes in (usual, _LARGE_CALL_SETTINGS):
            chosen.update(changes)
            for dtype in dtypes:
                for call in op.warmup_calls(dtype):
                    with contextlib.suppress(DTypeError):
                        call()
    finally:
        chosen.update(usual)
