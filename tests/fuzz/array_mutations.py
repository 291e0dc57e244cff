"""Mutations of one array: type, rank, size, memory, values."""

from __future__ import annotations

import numpy as np
from numba import config

#: Mostly the types that kernels are compiled for already; refused types compile nothing.
TYPES = ["float32"] * 6 + ["int64"] * 6 + ["float64"] * 3 + ["int32"] * 3 + ["float16", "bool", "uint8", "uint64"]
TYPES += ["complex64", "object", "U2", "S3", "longdouble", "M8[s]", ">f4", ">i8"]
HUGE = [2**63 - 1, 2**62, 2**61, 2**60, 2**33, 2**32, 2**31, 2**31 - 1, -1, -2, -(2**31), -(2**62), -(2**63)]
if config.DISABLE_JIT:  # loops of so many steps take minutes there
    HUGE = [number for number in HUGE if not 1 << 20 < abs(number) < 1 << 40]
SMALL = [0, 0, 1, 1, 2, 3, 5, 7]
FLOATS = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1e30, -1e30, 1e-40, 1.0, -1.0]
MANY = 1 << 20
GIANTS = [2**63 - 1, 2**62, 2**61, 2**61, 2**60]


def number(rng, dtype):
    """A number of a type, likely a hostile one."""
    if dtype.kind == "f":
        return rng.choice(FLOATS)
    number = rng.choice(HUGE if rng.random() < 0.5 else SMALL)
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        return min(max(number, info.min), info.max)
    return bool(number & 1)


def change_type(rng, a):
    return a.astype(np.dtype(rng.choice(TYPES)))


def change_rank(rng, a):
    kind = rng.randrange(6)
    if kind == 0:
        return a[..., None]
    if kind == 1:
        return a[None]
    if kind == 2:
        return a.reshape(-1)
    if kind == 3:
        return a.reshape(-1)[:1].reshape(()) if a.size else np.zeros((), a.dtype)
    if kind == 4:
        return a[0].copy() if a.ndim and len(a) else a
    return a.reshape(*a.shape, 1, 1, 1)


def change_size(rng, a):
    if not a.ndim:
        return a.reshape(1)
    kind = rng.randrange(6)
    if kind == 0:
        return a[:-1]
    if kind == 1:
        return np.concatenate([a, a[-1:]])
    if kind == 2:
        return a[:0]
    if kind == 3:
        return a[..., :0]
    if kind == 4:
        return np.concatenate([a] * rng.choice([2, 3, 30]))
    return a[:1]


def change_memory(rng, a):
    """Another layout of the same numbers."""
    kind = rng.randrange(8)
    if kind == 0:
        return np.asfortranarray(a)
    if kind == 1 and a.ndim:  # plain arrays: NumPy's repeat writes out of bounds of a matrix of three dimensions
        return np.repeat(np.asarray(a), 2, axis=0)[::2]
    if kind == 2 and a.ndim:
        return np.repeat(np.asarray(a), 3, axis=-1)[..., ::3]
    if kind == 3:
        return np.flip(np.flip(a).copy())
    if kind == 4 and not a.dtype.hasobject and a.dtype.itemsize:
        made = np.zeros(a.nbytes + 1, np.uint8)[1:].view(a.dtype).reshape(a.shape)
        made[...] = a
        return made
    if kind == 5:
        made = a.copy()
        made.flags.writeable = False
        return made
    if kind == 6 and a.dtype.kind in "iuf":
        return a.astype(a.dtype.newbyteorder())
    return np.broadcast_to(a[:1], a.shape) if a.ndim and len(a) else a


def change_values(rng, a):
    """Some other numbers."""
    if not a.size or a.dtype.kind not in "iufb":
        return a
    made = a.copy()
    flat = made.reshape(-1)
    for _ in range(rng.choice([1, 1, 1, 2, 4])):
        flat[rng.randrange(len(flat))] = number(rng, a.dtype)
    if rng.random() < 0.15:
        flat[:] = number(rng, a.dtype)
    return made


def to_giant(rng, a):
    """Many rows without memory: of no elements, or all the same one. Uncompiled loops over them would take days."""
    if config.DISABLE_JIT:
        return a
    rows = rng.choice(GIANTS)
    if rng.random() < 0.7:
        return np.zeros((rows, 0), a.dtype if rows * a.dtype.itemsize < 2**63 else np.float16)
    item = a.shape[1:] if a.ndim else ()
    size = max(1, int(np.prod(item))) * max(1, a.dtype.itemsize)
    first = a[:1] if a.ndim and len(a) else np.zeros((1, *item), a.dtype)
    return np.broadcast_to(first, (min(rows, (2**63 - 1) // size), *item))


def to_subclass(rng, a):
    kind = rng.randrange(3)
    if kind == 0:
        return np.ma.masked_array(a, mask=np.zeros(a.shape, bool))
    if kind == 1 and a.ndim == 2:
        return np.asmatrix(a)
    return a.view(np.recarray) if kind == 2 else a


CHANGES = [change_type, change_rank, change_size, change_memory, change_values, to_giant, to_subclass]
WEIGHTS = [3, 3, 4, 5, 7, 3, 0.5]


def change(rng, a):
    """A changed copy of an array, and the name of the change."""
    (function,) = rng.choices(CHANGES, WEIGHTS)
    if max(a.size, *a.shape, 0) > MANY and function is not to_giant:
        return a, "nothing"  # it would be copied
    with np.errstate(all="ignore"):
        try:
            return function(rng, a), function.__name__
        except (ValueError, TypeError, OverflowError):  # what NumPy cannot make of this array
            return a, "nothing"
