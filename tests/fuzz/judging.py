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


def numbers(values):
    """All numbers of Python's in nested lists."""
    for x in values:
        if isinstance(x, list | tuple):
            yield from numbers(x)
        elif type(x) in (int, float):
            yield x


def ordinary(array):
    """Whether numbers are of a size whose sums do not cancel, and whose products and quotients are finite."""
    if array.dtype.kind != "f" or array.size > MOST:
        return True
    with np.errstate(all="ignore"):
        sizes = np.abs(array)
        return bool(((sizes < 1e4) & ((sizes == 0) | (sizes > 1e-20))).all())


TOLERANCE = {2: 3e-2, 4: 1e-3, 8: 1e-7}
AMPLIFIED = 100  # times the effect of rounding errors of the inputs, a kernel's may be


def differs(result, expected, near=(), noise=0.0):
    """Where a result is not what the definition gives, to rounding; None if it is.

    ``near`` are results of the definition for inputs that differ by rounding errors, of the relative size ``noise``: as
    far as those go, so may it.
    """
    got, wanted = parts(result), parts(expected)
    others = [other for other in map(parts, near) if len(other) == len(wanted)]
    if len(got) != len(wanted):
        return f"{len(got)} parts, not {len(wanted)}"
    for i, (a, b) in enumerate(zip(got, wanted, strict=True)):
        if not isinstance(a, np.ndarray) or not isinstance(b, np.ndarray) or a.size > MOST:
            continue
        if a.shape != b.shape or a.dtype.newbyteorder("=") != b.dtype.newbyteorder("="):
            return f"part {i} has shape {a.shape} and type {a.dtype}, not {b.shape} and {b.dtype}"
        if not a.size:  # of any width: no array of it can be made
            continue
        wrong = _unequal(a, b, least=min(100 * noise, 1e-4))
        if near and a.dtype.kind == "f" and np.abs(b[~np.isnan(b)]).max(initial=0) > np.finfo(a.dtype).max * 1e-4:
            wrong &= np.isfinite(a)  # what becomes of an intermediate result that is infinite depends on the order
        for other in others:
            if isinstance(other[i], np.ndarray) and other[i].shape == b.shape and b.dtype.kind in "fiub":
                with np.errstate(all="ignore"):
                    wrong &= ~(_apart(a, b) <= AMPLIFIED * _apart(other[i], b))
        if wrong.any():
            at = np.unravel_index(int(np.argmax(wrong)), wrong.shape)
            return f"part {i} is {a[at].item()!r:.80} at {tuple(map(int, at))}, not {b[at].item()!r:.80}"
    return None


def rounding(arrays):
    """The relative size of rounding errors of a computation with these arrays; codes stand for float32."""
    kinds = {x.dtype for x in arrays if isinstance(x, np.ndarray) and x.dtype.kind in "fu"}
    return 2 * max((float(np.finfo(k if k.kind == "f" else np.float32).eps) for k in kinds), default=0.0)


def _apart(a, b):
    return np.abs(a.astype(np.float64) - b.astype(np.float64))


def _unequal(a, b, least=0.0):
    """Where elements differ by more than rounding errors."""
    if a.dtype.kind not in "fiub":
        return np.asarray((a != b) & ((a == a) | (b == b)))
    tolerance = max(TOLERANCE.get(a.dtype.itemsize, 0), least) if a.dtype.kind == "f" else 0
    with np.errstate(all="ignore"):
        scale = np.abs(b[np.isfinite(b)]).max(initial=1) if a.dtype.kind == "f" else 0
        return ~np.isclose(a, b, rtol=tolerance, atol=tolerance * scale, equal_nan=a.dtype.kind == "f")
