"""Compile kernels ahead of their first use."""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from ..arrays import BFLOAT16, MOVED, bfloat16_dtype, is_bfloat16
from ..arrays.checks import as_dtype
from ..arrays.types import DTypeLike
from ..base.errors import DTypeError, LodkitError
from ..base.progress import show_progress
from ..jit import cache as disk
from ..jit import limits, settings
from .examples import Example, read_example
from .operators import OPS, Op

_Given: TypeAlias = str | Op[..., Any] | functools.partial[Any]
_MANY_NUMBERS = 1 << 40
_LONG_ROWS = 128  # more than blocks of sums and, with chunks of one row, tiles have
_CACHE_SIZES = "first_bytes", "near_bytes", "mid_bytes"
#: Settings by which one small example runs as calls of all sizes do: by how many numbers there are, and, where
#: reductions prefetch, by which level of the cache holds the table.
_TABLE_SIZES = [
    {name: -1 if i < level else _MANY_NUMBERS for i, name in enumerate(_CACHE_SIZES)}
    for level in range(len(_CACHE_SIZES) + 1)
]
_FEW_SETTINGS = {"parallel_from": _MANY_NUMBERS, "fetch_from": _MANY_NUMBERS}
_SETTINGS = [
    _FEW_SETTINGS,
    *({**_FEW_SETTINGS, "fetch_from": 0, **sizes} for sizes in _TABLE_SIZES),
    *({"parallel_from": 0, "fetch_from": 0, "few_rows": 0, **sizes} for sizes in _TABLE_SIZES),
    {"parallel_from": 0, "far_bytes": 0},
]


def warmup(
    ops: _Given | Sequence[_Given] | None = None,
    dtypes: DTypeLike | Sequence[DTypeLike] = ("float32",),
    *,
    gradients: bool = False,
    cache: str | os.PathLike[str] | None = None,
    progress: bool | None = None,
) -> None:
    """Compile kernels ahead of their first use, for small and for large batches, in and out of the caches.

    ``functools.partial(op, *inputs, **attrs)`` is a call that has not run. Its warm-up compiles everything for calls
    with the same types, layouts, columns and attributes, for any number of rows, ids and sequences. The call runs on
    its inputs as small and large calls run, and writes to none of them. A few sequences make a good example. For an
    operator or its name, the kernels of its small examples are compiled. Other numbers of columns, reductions and
    options compile at their first call.

    With an empty cache an operator takes up to 7 seconds of a core, and all operators some minutes. Code that is cached
    on disk is only loaded. Other threads should make no calls meanwhile: their sums may be rounded in another way.

    Parameters
    ----------
    ops : str, Op, functools.partial of an Op, or sequence of them, optional
        Operators, their names, or calls on the CPU; all operators by default.
    dtypes : dtype or sequence of dtypes
        Types of values in the examples of operators; types that an operator refuses are skipped.
    gradients : bool
        Compile what a tape takes for the gradients of calls, too.
    cache : path, optional
        A directory to ship, for instance in an image. All compiled code that this process has used is written to it,
        for every user to read. Set ``LODKIT_CACHE_DIR`` to the directory: processes on CPUs of the same kind then
        compile and write nothing. The processes must belong to the user that wrote it, or to any user if root wrote it.
    progress : bool, optional
        Show how many operators are done, the last one, and about how long the rest will take. With tqdm installed it is
        a bar, else lines on stderr. By default on a terminal and in a notebook, if it takes over a second.

    Raises
    ------
    KeyError, TypeError
        An item is no name of an operator, no operator and no call; or a data type is not for values. Nothing was
        compiled then. A call that is wrong raises what it would raise.
    OSError
        The directory cannot be written to.

    Examples
    --------
    >>> warmup(["relu", "lookup_table"], ["float32", "float64"])
    >>> import functools, numpy as np, lodkit
    >>> table, ids = np.zeros((100, 16), np.float32), lodkit.LoDTensor([3, 1, 4], [[2, 0, 1]])
    >>> warmup(functools.partial(lodkit.embedding_bag, table, ids, pool="mean"))
    """
    given = list(OPS.values()) if ops is None else list(ops) if isinstance(ops, list | tuple) else [ops]
    chosen: list[Any] = [OPS[op] if isinstance(op, str) else op for op in given]
    for op in chosen:
        if not hasattr(_operator_of(op), "warmup_calls"):
            raise TypeError(f"ops must be operators, their names or functools.partial(op, *inputs), got {op!r:.200}")
    dtypes = dtypes if isinstance(dtypes, list | tuple) else [dtypes]
    dtypes = [bfloat16_dtype() if isinstance(x, str) and x == "bfloat16" else as_dtype(x, "dtypes") for x in dtypes]
    for dtype in dtypes:
        if dtype == BFLOAT16:
            raise DTypeError('dtypes: examples in bfloat16 need ml_dtypes: pip install "lodkit[bfloat16]"')
        if dtype not in MOVED and not is_bfloat16(dtype):
            known = ", ".join(sorted(map(str, MOVED.known)))
            raise DTypeError(f"dtypes: no operator takes values of {dtype}; name some of {known}")
    with contextlib.nullcontext() if cache is None else disk.baking(cache):
        _compile_all(chosen, dtypes, gradients, progress)


def _operator_of(op):
    return op.func if isinstance(op, functools.partial) else op


def _compile_all(chosen, dtypes, gradients, progress):
    with show_progress("lodkit.warmup", len(chosen), "operators", progress) as advance:
        for op in chosen:
            if isinstance(op, functools.partial):
                _compile_example(read_example(op), gradients)
            else:
                _compile_operator(op, dtypes)
            advance(1, _operator_of(op).name)


def _compile_operator(op, dtypes):
    for dtype in dtypes:
        for call in op.warmup_calls(dtype):
            with contextlib.suppress(DTypeError):
                call()
                _run_in_all_ways(call)


def _compile_example(example: Example, gradients: bool) -> None:
    example.run(gradients)
    _run_in_all_ways(functools.partial(example.run, gradients))
    with contextlib.suppress(LodkitError):
        _run_in_all_ways(functools.partial(example.merge_rows().run, gradients))
    chunk = example.chunk_rows
    repeats = [functools.partial(example.repeat_first_row, count) for count in (0, 1, _LONG_ROWS * chunk)]
    makers: list[Callable[[], Example]] = [example.drop_sequences, *repeats]
    for make in makers:
        # Not all operators take rows that are alike, or none.
        with contextlib.suppress(LodkitError), _change(settings, {"chunk_rows": chunk}):
            _run_in_all_ways(functools.partial(make().run, gradients))


def _run_in_all_ways(call: Callable[[], Any]) -> None:
    for threads in {1, limits.threads}:
        for way in _SETTINGS:
            with _change(limits, {"threads": threads}), _change(settings, way):
                call()


@contextlib.contextmanager
def _change(namespace, changes):
    """Context with other values in a namespace."""
    usual = {name: getattr(namespace, name) for name in changes}
    vars(namespace).update(changes)
    try:
        yield
    finally:
        vars(namespace).update(usual)
