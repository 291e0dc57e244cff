"""Reprs of LoDTensor and SelectedRows, truncated when large.

Nothing here compiles, or reads more values than it shows. ``repr_html`` has the Jupyter views.
"""

from __future__ import annotations

import functools
import math
import re

import numpy as np

from ..arrays import array_of, device_of, is_cpu_tensor, to_device
from ..arrays.tensors import check_storage
from ..base.bfloat16 import is_bfloat16, to_readable
from .indexing import first_branches

_MAX_SHOWN_NUMBERS = 120
_PART = 24  # numbers shown of one sequence among many
_SEQUENCES = 5  # sequences shown of a large tensor
_NUMBERS = 8  # rows read of a large array on a GPU
_LENGTHS = 12  # lengths shown per level
_WIDTH = 100
_MAX_CHARACTERS = 4000


def _elide_middle(format):
    """Elide the middle of a long text (string values, very many levels)."""

    @functools.wraps(format)
    def text(x):
        line = format(x)
        half = _MAX_CHARACTERS // 2
        return line if len(line) <= _MAX_CHARACTERS else f"{line[:half]} ... {line[-half:]}"

    return text


def check_values(t):
    """Raise if the memory of values is gone: PyTorch's error of a part of them names no values."""
    if is_cpu_tensor(t.values):
        check_storage(t.values, "values")


@_elide_middle
def text(t):
    """Return the repr of a LoDTensor, always below 10 kB."""
    if t.values is None:
        return f"LoDTensor(None, {_lengths(t)})"
    check_values(t)
    rest = [f"shape={t.shape}", f"dtype={_dtype(t)}"]
    if t.device != "cpu":
        rest.append(f"device={t.device!r}")
    if not t.lod_level:
        return f"LoDTensor({numbers(t.values)}, {', '.join(rest)})"
    facts = ", ".join([f"recursive_sequence_lengths={_lengths(t)}", *rest])
    if math.prod(t.values.shape) <= _MAX_SHOWN_NUMBERS and sum(map(len, t._lod)) <= _MAX_SHOWN_NUMBERS:
        host = t.to("cpu")
        parts = [_format_nested(host, 0, i) for i in range(len(t))]
        whole = "[" + ", ".join(parts) + "]"
        if len(whole) + len(facts) < _WIDTH - len("LoDTensor(, )"):
            return f"LoDTensor({whole}, {facts})"
        if len(whole) > _WIDTH:
            whole = "[" + ",\n           ".join(parts) + "]"
        return f"LoDTensor({whole},\n          {facts})"
    return "\n  ".join([f"LoDTensor({', '.join(headline(t))}", *_level_lines(t), *first_sequences(t)]) + ")"


@_elide_middle
def selected_rows_text(s):
    """Return the repr of a SelectedRows: ``SelectedRows(rows=[73], value=[[1., 2.]], height=100)``."""
    rows, tail = numbers(s._rows), f"height={s.height})"
    if math.prod(s.value.shape) <= _MAX_SHOWN_NUMBERS:
        return f"SelectedRows(rows={rows}, value={numbers(s.value)}, {tail}"
    value = f"{tuple(s.value.shape)} {_dtype(s.value)} {numbers(s.value[:2])} ..."
    return f"SelectedRows(rows={rows}, value={value}, {tail}"


def numbers(array, whole=_MAX_SHOWN_NUMBERS):
    """Format an array in one line, eliding the middle of a large one, on a GPU all but its first rows."""
    big = math.prod(array.shape) > whole
    if big and device_of(array) != "cpu":
        array = array[:_NUMBERS]
    edges = {1: 4, 2: 2}.get(len(array.shape), 1)
    with np.printoptions(threshold=0 if big else whole, edgeitems=edges, precision=4):
        line = np.array2string(to_readable(_to_host(array)), separator=", ", max_line_width=10**6)
    return re.sub(r"(?<=\[) | (?=[,\]])", "", " ".join(line.split()))


def _to_host(array):
    if is_cpu_tensor(array):
        return array_of(array, "values", record=False)
    return to_device(array, "cpu")


def headline(t):
    """Return the facts: sequences, shape, dtype, bytes, padding avoided."""
    kind = f"{' x '.join(map(str, t.shape))} {_dtype(t)}"
    padded = math.prod(t.max_length(level) for level in range(t.lod_level)) * len(t)
    avoided = (padded - t.shape[0]) * math.prod(t.shape[1:]) * t.dtype.itemsize
    waste = [f"padding avoided {amount(avoided)} ({t.padding_waste():.0%})"] if t.lod_level else []
    return [f"{len(t)} sequences", kind, f"lod_level={t.lod_level}", amount(t.nbytes), t.device, *waste]


def summary(lengths):
    """Format the distribution of lengths: ``min 0, median 9, max 182``."""
    if not len(lengths):
        return "none"
    return f"min {lengths.min()}, median {np.median(lengths):g}, max {lengths.max()}"


def amount(size):
    """Format bytes: ``1.6 GB``."""
    if size < 1000:
        return f"{size} B"
    thousands = min(int(math.log10(size)) // 3, 5)
    return f"{size / 1000**thousands:.1f} {'kMGTP'[thousands - 1]}B"


def _dtype(x):
    return "bfloat16" if is_bfloat16(x.dtype) else str(x.dtype).removeprefix("torch.")


def _lengths(t):
    return "[" + ", ".join(format_lengths(np.diff(offsets)) for offsets in t._lod) + "]"


def format_lengths(lengths):
    """Format lengths, truncated: ``[3, 1, 2, ...]``."""
    shown = ", ".join(map(str, lengths[:_LENGTHS].tolist()))
    return f"[{shown}, ...]" if len(lengths) > _LENGTHS else f"[{shown}]"


def _level_lines(t):
    for level in range(t.lod_level):
        lengths = t.lengths(level)
        yield f"level {level}: {len(lengths)} lengths {format_lengths(lengths)}: {summary(lengths)}"


def _format_nested(t, level, i):
    """Format a sequence as nested lists."""
    start, stop = int(t._lod[level][i]), int(t._lod[level][i + 1])
    if level == t.lod_level - 1:
        return numbers(t.values[start:stop])
    return "[" + ", ".join(_format_nested(t, level + 1, j) for j in range(start, stop)) + "]"


def first_sequences(t):
    """Yield one line per sequence, with its branch, for the first of the innermost level."""
    if not t.lod_level:
        yield numbers(t.values)
        return
    ends = t._row_offsets()
    branches = first_branches(t, _SEQUENCES)
    for k, branch in enumerate(branches):
        start, stop = int(ends[k]), int(ends[k + 1])
        yield f"<{', '.join(map(str, branch))}> {stop - start} rows: {numbers(t.values[start:stop], _PART)}"
    if len(ends) - 1 > len(branches):
        yield "..."
