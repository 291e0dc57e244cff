"""Assertions for tests, as in ``numpy.testing``; the message names the first difference."""

from __future__ import annotations

import numpy as np

from .arrays import is_array, to_device
from .lod import LoDTensor, SelectedRows, levels
from .models.features import Features

__all__ = ["assert_allclose", "assert_equal"]


def assert_equal(actual, desired, *, strict=True, err_msg=""):
    """Raise an AssertionError unless two values are equal: kind, structure, dtype, shape and every element.

    Parameters
    ----------
    actual, desired : LoDTensor, SelectedRows, Features or array; or lists, tuples and dicts of them
        On any device. NaN equals NaN. SelectedRows are compared row by row; to ignore order and duplicates, compare
        ``x.merge()``.
    strict : bool
        Compare dtypes too, if both sides have one (a list has none).
    err_msg : str
        Prefix of the message.

    Raises
    ------
    AssertionError
        The message names the first difference.

    Examples
    --------
    >>> t = LoDTensor([1, 2, 3], [[2, 1]])
    >>> assert_equal(t, LoDTensor([1, 2, 3], [[1, 2]]))
    Traceback (most recent call last):
        ...
    AssertionError: actual: different sequence lengths at level 0; first difference at sequence 0: 2 vs 1
    >>> assert_equal(t, t.with_values([1, 2, 4]))
    Traceback (most recent call last):
        ...
    AssertionError: actual: values differ first at [1, 0] (row 2): 3 vs 4; 1 of 3 elements differ, by at most 1
    """
    __tracebackhide__ = True
    _Comparison(_are_equal, strict, err_msg).compare("actual", actual, desired)


def assert_allclose(actual, desired, rtol=1e-7, atol=0, *, equal_nan=True, strict=False, err_msg=""):
    """Raise an AssertionError unless two values agree, elements within ``atol + rtol * abs(desired)``.

    Parameters
    ----------
    actual, desired
        As in ``assert_equal``. Structure, shapes and rows must be equal.
    rtol, atol : float
    equal_nan : bool
    strict : bool
        Compare dtypes too.
    err_msg : str

    Raises
    ------
    AssertionError
        The message names the first difference.
    """
    __tracebackhide__ = True

    def close(a, b):
        if a.dtype.kind not in "biufc" or b.dtype.kind not in "biufc":
            return _are_equal(a, b)
        return np.isclose(a, b, rtol, atol, equal_nan)

    _Comparison(close, strict, err_msg).compare("actual", actual, desired)


def _are_equal(a, b):
    return (a == b) | ((a != a) & (b != b))


class _Comparison:
    """Comparison of two values up to the first difference."""

    def __init__(self, same, strict, err_msg):
        self.same, self.strict, self.err_msg = same, strict, err_msg

    def fail(self, place, text):
        __tracebackhide__ = True
        raise AssertionError(f"{self.err_msg}\n{place}: {text}" if self.err_msg else f"{place}: {text}")

    def compare(self, place, a, b):
        __tracebackhide__ = True
        for kind, compare in _KINDS.items():
            if isinstance(a, kind) or isinstance(b, kind):
                if not (isinstance(a, kind) and isinstance(b, kind)):
                    self.fail(place, f"{_kind(a)} where {_kind(b)} is desired")
                return compare(self, place, a, b)
        if isinstance(a, list | tuple) and isinstance(b, list | tuple):
            return self.sequences(place, a, b)
        if a is None or b is None:
            return None if a is b else self.fail(place, f"{_kind(a)} where {_kind(b)} is desired")
        return self.arrays(place, _array(a), _array(b), hasattr(a, "dtype") and hasattr(b, "dtype"))

    def lod_tensors(self, place, t, u):
        __tracebackhide__ = True
        if not t.same_lod(u):
            self.fail(place, levels.difference(t, u))
        if (t.values is None) != (u.values is None):
            self.fail(place, "only one of the two has values")
        if t.values is not None:
            self.arrays(place, _array(t.values), _array(u.values), True, t)

    def selected_rows(self, place, s, t):
        if s.height != t.height:
            self.fail(place, f"height {s.height} against {t.height}")
        self.arrays(f"{place}.rows", _array(s._rows), _array(t._rows), False)
        self.arrays(f"{place}.value", _array(s.value), _array(t.value), True)

    def features(self, place, f, g):
        if f.kind != g.kind:
            self.fail(place, f"{f.kind} features against {g.kind} features")
        self.lod_tensors(f"{place}.keys", f._keys, g._keys)
        self.lod_tensors(f"{place}.values", f.values, g.values)
        if f.map_keys is not None:
            self.lod_tensors(f"{place}.map_keys", f.map_keys, g.map_keys)

    def dicts(self, place, a, b):
        for key in [*b, *a]:
            if key not in a or key not in b:
                self.fail(place, f"key {key!r} is only in {'actual' if key in a else 'desired'}")
        for key in b:
            self.compare(f"{place}[{key!r}]", a[key], b[key])

    def sequences(self, place, a, b):
        if len(a) != len(b):
            self.fail(place, f"{len(a)} items against {len(b)}")
        for i, (x, y) in enumerate(zip(a, b, strict=True)):
            self.compare(f"{place}[{i}]", x, y)

    def arrays(self, place, a, b, typed, t=None):
        """Compare arrays; ``t`` has the structure that names rows."""
        __tracebackhide__ = True
        if self.strict and typed and a.dtype != b.dtype:
            self.fail(place, f"dtype {a.dtype} against {b.dtype}")
        if a.shape != b.shape:
            self.fail(place, f"shape {a.shape} against {b.shape}")
        same = np.asarray(self.same(a, b), bool)
        if same.all():
            return
        at = tuple(map(int, np.unravel_index(int(np.argmin(same)), same.shape)))
        where = _place(at, t)
        count = same.size - np.count_nonzero(same)
        of = "element differs" if same.size == 1 else f"of {same.size} elements differ"
        self.fail(place, f"values differ first{where}: {a[at]} vs {b[at]}; {count} {of}{_largest(a, b, ~same)}")


def _place(at, t):
    if t is None or not t.lod_level:
        return f" at {list(at)}" if at else ""
    row, *element = at
    branch, i = [], row
    for offsets in reversed(t._lod):
        sequence = int(np.searchsorted(offsets, i, side="right")) - 1
        branch.append(i - int(offsets[sequence]))
        i = sequence
    return f" at {[i, *reversed(branch), *element]} (row {row})"


def _largest(a, b, differ):
    if a.dtype.kind not in "biuf" or b.dtype.kind not in "biuf":
        return ""
    with np.errstate(invalid="ignore", over="ignore"):
        by = np.abs(a[differ].astype(np.float64) - b[differ].astype(np.float64))
    by = by[np.isfinite(by)]
    return f", by at most {by.max():g}" if len(by) else ""


def _kind(x):
    return "None" if x is None else type(x).__name__


def _array(x):
    return to_device(x, "cpu") if is_array(x) else np.asarray(x)


_KINDS = {
    LoDTensor: _Comparison.lod_tensors,
    SelectedRows: _Comparison.selected_rows,
    Features: _Comparison.features,
    dict: _Comparison.dicts,
}
