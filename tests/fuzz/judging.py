"""What a case may do, and what is a finding."""

from __future__ import annotations

import linecache
import pathlib
import re

import numpy as np

import lodkit
from lodkit import Features, LoDTensor, RankTable, SelectedRows

PACKAGE = str(pathlib.Path(lodkit.__file__).parent)
CLEAR = (TypeError, ValueError, IndexError, NotImplementedError, MemoryError)
OWN = str(pathlib.Path(__file__).parent)
MOST = 1 << 20  # elements that are compared
#: What Python and NumPy say of an operator between values of types that have none, as dates and floating numbers.
OPERANDS = "ufunc '", "operand type(s) all returned", "unsupported operand"
#: Names that errors use for what several operators take; published names pass errors of lodkit's own operators on.
GENERAL = "takes", "needs", "compares", "values", "value", "lengths", "rows", "height", "inputs", "shape"
WORDS = frozenset(GENERAL).union(*({*op.inputs, *op.defaults, *op._needed} for op in lodkit.OPS.values()))


def obscure(error, words):
    """Why an error is no clear one; None if it is.

    Clear is an error of lodkit's own, or one that lodkit raises itself and that names an input or an attribute.
    """
    if isinstance(error, lodkit.LodkitError):
        return None
    frames = []
    trace = error.__traceback__
    while trace is not None:
        frames.append((trace.tb_frame.f_code.co_filename, trace.tb_lineno))
        trace = trace.tb_next
    file, line = frames[-1]
    text = linecache.getline(file, line).strip()
    if file.startswith(OWN) and isinstance(error, CLEAR):
        return None  # Python says that a method does not take so many arguments
    if isinstance(error, TypeError) and (str(error).startswith(OPERANDS) or re.match(r"[\w.]+\(\) \w+ ", str(error))):
        return None  # the latter is Python's, of the number of arguments
    where = f"at {file.removeprefix(PACKAGE + '/')}:{line}: {text}"
    if isinstance(error, MemoryError):
        return f"no memory, {where}"
    if not isinstance(error, CLEAR):
        return f"an unusual kind, {where}"
    if not (file.startswith(PACKAGE) and text.startswith("raise")):
        return f"not raised by lodkit, {where}"
    if not any(re.search(rf"\b{re.escape(word)}", str(error)) for word in WORDS | words):
        return f"names no input and no attribute, {where}"
    return None


def parts(result):
    """Arrays and other values that a result consists of."""
    if isinstance(result, dict):
        result = list(result.values())
    if isinstance(result, tuple | list):
        return [part for x in result for part in parts(x)]
    if isinstance(result, LoDTensor):
        return [result.values, *(np.array(level) for level in result.lod())]
    if isinstance(result, SelectedRows):
        return [result.rows, result.value, result.height]
    if isinstance(result, Features):
        return [result.keys, *parts((result.values, result.map_keys))]
    if isinstance(result, RankTable):
        return [result.index, *(np.array(level) for level in result.lod())]
    return [result]


def digest(result):
    """What two runs must have in common."""
    return [_digest(part) for part in parts(result)]


def _digest(x):
    if not isinstance(x, np.ndarray):
        return repr(x)[:1000] if isinstance(x, int | float | str | bool | None) else type(x).__name__
    if x.dtype.hasobject or x.size > MOST:
        return x.shape, str(x.dtype)
    if x.dtype.char in "gG":  # of their 16 bytes 6 say nothing
        return x.shape, str(x.dtype), repr(x.tolist())
    return x.shape, str(x.dtype), x.tobytes()


def shares(placed, result):
    """Whether a result lies in the memory of an input, as what was updated does."""
    return any(isinstance(x, np.ndarray) and np.may_share_memory(x, placed.array) for x in parts(result))


def ordinary(array):
    """Whether numbers are of a size whose sums do not cancel, and whose products and quotients are finite."""
    if array.dtype.kind != "f" or array.size > MOST:
        return True
    with np.errstate(all="ignore"):
        sizes = np.abs(array)
        return bool(((sizes < 1e4) & ((sizes == 0) | (sizes > 1e-20))).all())


TOLERANCE = {2: 3e-2, 4: 1e-3, 8: 1e-7}


def differs(result, expected):
    """Where a result is not what the definition gives, to rounding; None if it is."""
    got, wanted = parts(result), parts(expected)
    if len(got) != len(wanted):
        return f"{len(got)} parts, not {len(wanted)}"
    for i, (a, b) in enumerate(zip(got, wanted, strict=True)):
        if not isinstance(a, np.ndarray) or not isinstance(b, np.ndarray) or a.size > MOST:
            continue
        if a.shape != b.shape or a.dtype.newbyteorder("=") != b.dtype.newbyteorder("="):
            return f"part {i} has shape {a.shape} and type {a.dtype}, not {b.shape} and {b.dtype}"
        if not a.size:  # of any width: no array of it can be made
            continue
        if a.dtype.kind not in "fiub":
            if not np.array_equal(a, b):
                return f"part {i} is {a.tolist()!r:.200}, not {b.tolist()!r:.200}"
            continue
        tolerance = TOLERANCE.get(a.dtype.itemsize, 0) if a.dtype.kind == "f" else 0
        with np.errstate(all="ignore"):
            scale = np.abs(b[np.isfinite(b)]).max(initial=1) if a.dtype.kind == "f" else 0
            if not np.allclose(a, b, rtol=tolerance, atol=tolerance * scale, equal_nan=a.dtype.kind == "f"):
                return f"part {i} is {a.tolist()!r:.200}, not {b.tolist()!r:.200}"
    return None
