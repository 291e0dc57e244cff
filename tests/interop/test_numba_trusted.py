"""Offsets and row numbers that leave users' functions of ``@numba.njit``: nobody can write what kernels trust."""

from __future__ import annotations

import numba
import numpy as np
import pytest
from conftest import check_locked_array
from numba import njit
from ragged_functions import same, sentences, words

from lodkit import LoDTensor, SelectedRows

WAYS = {
    "whole": lambda o: o,
    "part": lambda o: o[1:],
    "steps": lambda o: o[::-2],
    "tuple": lambda o: (o, 1),
    "list": lambda o: [o],
    "reshape": lambda o: o.reshape(1, len(o)),
    "ravel": lambda o: o.ravel(),
    "transpose": lambda o: o.T,
    "view": lambda o: o.view(np.float64),
    "real": lambda o: o.real,
    "asarray": lambda o: np.asarray(o),
    "flip": lambda o: np.flip(o),
    "split": lambda o: np.array_split(o, 2),
    "expand": lambda o: np.expand_dims(o, 0),
    "atleast": lambda o: np.atleast_2d(o),
    "broadcast": lambda o: np.broadcast_to(o, (2, len(o))),
    "either": lambda o: o[1:] if len(o) > 1 else np.zeros(1, np.int64),
    "contiguous": lambda o: np.ascontiguousarray(o),
    "fortran": lambda o: np.asfortranarray(o),
    "buffer": lambda o: np.frombuffer(o, np.int64),
}
COPIES = ("contiguous", "fortran", "buffer")  # in compiled code, of its own: anybody's to write


def _arrays(x):
    return [x] if isinstance(x, np.ndarray) else [a for part in x if np.ndim(part) for a in _arrays(part)]


def _pried(x, kept):
    """Check that what compiled code gave back is not what kernels trust, nor can be written."""
    for array in _arrays(x):
        assert not np.shares_memory(array, kept)
        check_locked_array(array)


@pytest.mark.jit
@pytest.mark.parametrize("way", WAYS)
def test_structure_leaves_compiled_code_as_a_copy(way):
    """What left was kept by the object: a flag, or PyTorch, made it writable, and kernels read outside."""
    through = njit(WAYS[way])
    t = LoDTensor(np.arange(5.0), [[1, 3, 1]])
    s = SelectedRows([2, 0, 1], np.ones((3, 1)), 3)
    for function, x, trusted in (
        (lambda t: through(t.offsets()), t, t._lod[0]),
        (lambda s: through(s.rows), s, s._rows),
    ):
        got = njit(function)(x)
        same(_arrays(got), _arrays(WAYS[way](trusted)))
        if way not in COPIES:
            _pried(got, trusted)
        assert not any(np.shares_memory(array, trusted) for array in _arrays(got))


@pytest.mark.jit
def test_levels_leave_compiled_code_as_copies():
    t = sentences()
    for function in (
        lambda t: t.offsets(0),
        lambda t: t.row_offsets(),
        lambda t: t[1:].offsets(),
        lambda t: t.offsets(0, True),
    ):
        got = njit(function)(t)
        same(got, function(t))
        check_locked_array(got)
        assert not any(np.shares_memory(got, kept) for kept in t._lod)
    big = LoDTensor(np.zeros(5000), [[1] * 5000])
    got = njit(lambda t: t.offsets())(big)
    _pried(got, big._lod[0])
    same(got, big.offsets())


@pytest.mark.jit
def test_structure_is_read_only_in_every_way_out():
    """Out of generators and typed lists, and where a variable may hold another array."""
    t, kept = words(), words()._lod[0]

    @njit
    def generated(t):
        yield t.offsets()

    @njit
    def listed(t):
        made = numba.typed.List()
        made.append(t.offsets())
        return made

    @njit
    def mixed(t, other):
        o = t.offsets()
        if other:
            o = np.zeros(1, np.int64)
        return o

    @njit
    def added(t):
        o = t.offsets()
        o[:1].copy()[0] = 1
        made = o + 1
        made[0] = 5
        return made, np.diff(o), o.copy()

    for got in (next(generated(t)), listed(t)[0], mixed(t, False)):
        same(got, kept)
        _pried(got, t._lod[0])
    same(mixed(t, True), np.zeros(1, np.int64))
    assert all(array.flags.writeable for array in added(t))
    with pytest.raises(numba.TypingError, match=r"take a copy: t.offsets\(\)"):
        njit(numba.types.Array(numba.int64, 1, "C", readonly=True)(numba.typeof(t)))(lambda t: t.offsets())
