"""Levels of a LoD: lengths or offsets, checked, to read-only int64 offsets."""

from __future__ import annotations

import functools

import numpy as np

from ..arrays import integers, is_tensor
from ..arrays.sizes import size_error, total_size
from ..arrays.types import Levels
from ..base.errors import LoDError, LoDMismatchError
from ..base.loading import load

# An array whose rows are empty may have 2**60 levels.
MOST_LEVELS = 1 << 16
_SHOWN = 8
_MAX_COMPARED_AS_BYTES = 2048
_INT64 = np.dtype(np.int64)
_CAPSULE = type(np.from_dlpack(np.empty(1)).base)


# An import statement in a function takes 2 us per call.
@functools.cache
def load_compiled(name="offsets"):
    """A module of this package that has compiled functions, on first use: importing LoDTensor does not import Numba."""
    return load(f".{name}", __package__)


def freeze(array):
    """Make ``array`` read-only and return it: for structure that is kept; a ``lender`` hands out copies."""
    # Takes a quarter of the time of ``flags.writeable = False``.
    array.setflags(False)
    return array


def lock_array(array):
    """The numbers of an array that nobody else has, in one that no flag makes writable, nor that of any ``base``.

    A few are copied to bytes. Many stay where they are, in memory whose owner Python cannot reach: a capsule has it.
    """
    base = type(array.base)
    if base is bytes or (base is _CAPSULE and not array.flags.writeable):
        return array
    if array.size <= _MAX_COMPARED_AS_BYTES:
        return copy_to_bytes(array)
    try:
        array = np.from_dlpack(array)
    except BufferError:  # NumPy 2.0 hands over no read-only arrays
        array = np.from_dlpack(array.copy())
    return freeze(array)


def locked_copy(array):
    """Copy the numbers of an array that others may write into one that nobody can write."""
    return copy_to_bytes(array) if array.size <= _MAX_COMPARED_AS_BYTES else lock_array(array.copy())


def lender(array):
    """A function that hands out a copy of int64 numbers, locked, in a new array per call.

    The numbers are shared, the array is not: its shape and dtype can be changed in place.
    """
    data = array.tobytes()
    return functools.partial(np.frombuffer, data, _INT64) if data else functools.partial(np.ndarray, 0, _INT64, data)


def copy_to_bytes(array):
    """Copy an array of any rank and layout into an immutable one backed by bytes."""
    data = array.tobytes()
    return np.frombuffer(data, array.dtype) if data and array.ndim == 1 else np.ndarray(array.shape, array.dtype, data)


def are_equal(a, b):
    """Compare the offsets of two levels. Compared as bytes, short ones take a tenth of ``np.array_equal``'s time."""
    if a.size > _MAX_COMPARED_AS_BYTES:
        return np.array_equal(a, b)
    return a.size == b.size and a.tobytes() == b.tobytes()


def lengths_between(offsets):
    """Lengths between offsets: ``np.diff`` at a third of its cost for a few."""
    return offsets[1:] - offsets[:-1]


def end_to_end(levels, what="tensors"):
    """Offsets of one level of several tensors as that of the tensors joined; ``what`` names these in an error."""
    total_size((offsets[-1] for offsets in levels), f"the lengths of all {what}")
    joined, last = [levels[0]], levels[0].item(-1)
    for offsets in levels[1:]:
        joined.append(offsets[1:] + last)
        last += offsets.item(-1)
    return freeze(np.concatenate(joined))


def format_short(numbers):
    """Format numbers for a message, truncated after the first few."""
    numbers = np.asarray(numbers)
    shown = ", ".join(map(str, numbers[:_SHOWN].tolist()))
    return f"[{shown}, ... {len(numbers)} in all]" if len(numbers) > _SHOWN else f"[{shown}]"


def _vector(numbers, where, remedy="", levels=None):
    if not is_tensor(numbers) and not np.iterable(numbers):  # PyTorch makes a list of it
        flat = levels is not None and not any(map(np.iterable, levels))
        example = f"[{format_short([*levels])}]" if flat else "[[3, 1, 2]]"
        raise LoDError(f"{where} is {numbers}, not a list; give one list per level{remedy or f': {example}'}")
    numbers = integers(numbers, where)
    if numbers.ndim != 1:
        deep = "; take a pair of brackets away" if numbers.ndim == 2 and len(numbers) == 1 else ""
        raise LoDError(f"{where} has shape {numbers.shape}; a level is one-dimensional{remedy or deep}")
    return numbers


def _list_levels(levels, name):
    if not np.iterable(levels):
        example = f"[[{levels}]]" if isinstance(levels, int) else "[[3, 1, 2]]"
        raise LoDError(f"{name} is {levels!r:.80}, not a list of levels; give one list per level: {example}")
    if isinstance(levels, np.ndarray) and levels.ndim and len(levels) > MOST_LEVELS:
        raise LoDError(f"{name} has shape {levels.shape}, {len(levels)} levels; an array has at most {MOST_LEVELS}")
    return levels


def from_lengths(lengths):
    """Convert lengths per level, outermost first, to offsets."""
    levels: list[np.ndarray] = []
    for level, numbers in enumerate(_list_levels(lengths, "recursive_sequence_lengths")):
        where = f"recursive_sequence_lengths[{level}]"
        numbers = _vector(numbers, where, levels=lengths)
        offsets = load_compiled().lengths_to_offsets(numbers, where)
        if levels and levels[-1][-1] != len(numbers):
            raise LoDError(
                f"level {level} of recursive_sequence_lengths has {len(numbers)} lengths, "
                f"but level {level - 1} sums to {levels[-1][-1]} ({format_short(lengths_between(levels[-1]))}); "
                "each level must have as many lengths as the level above sums to"
            )
        levels.append(freeze(offsets))
    return tuple(levels)


def level_offsets(lengths, what):
    """Convert the lengths of the only level, an argument that is called ``what``, to offsets."""
    return freeze(load_compiled().lengths_to_offsets(_vector(lengths, what), what))


def bad_length(lengths, what):
    """The error for lengths of which one is negative, or the sum does not fit int64."""
    # Private copy: another thread may write to the array meanwhile.
    lengths = lengths.copy()
    negative = np.flatnonzero(lengths < 0)
    if not len(negative):
        return size_error(sum(lengths.tolist()), what, "add up to")
    i = int(negative[0])
    return LoDError(f"{what}[{i}] = {lengths[i]} is negative; a length counts rows or sequences, 0 for an empty one")


def from_offsets(offsets, absolute=False, name="lod", remedy=""):
    """Check and copy offsets per level, outermost first; absolute ones become relative."""
    levels = [
        _checked_offsets(level, _vector(numbers, f"{name}[{level}]", remedy, offsets))
        for level, numbers in enumerate(_list_levels(offsets, name))
    ]
    for level in range(len(levels) - 1):
        upper, lower = levels[level], levels[level + 1]
        if absolute:
            levels[level] = _relative(level, upper, lower)
        elif upper[-1] != len(lower) - 1:
            raise LoDError(
                f"last offset {upper[-1]} at level {level} does not equal the {len(lower) - 1} sequences "
                f"of level {level + 1} ({format_short(upper)}); offsets count sequences of the next level: "
                "for offsets in rows use LoDTensor.from_offsets(values, ..., absolute=True)"
            )
    return tuple(levels)


def _checked_offsets(level, numbers):
    offsets = freeze(numbers.copy())
    if not len(offsets) or offsets[0] != 0:
        found = f"start at {offsets[0]}" if len(offsets) else "are empty"
        raise LoDError(
            f"offsets at level {level} {found}; they start at 0, with one entry more than there are sequences; "
            f"for lengths use LoDTensor(values, [lengths])"
        )
    i = load_compiled().first_decrease(offsets)
    if i:
        raise LoDError(
            f"offsets at level {level} decrease at position {i}: offsets[{i - 1}]={offsets[i - 1]} > "
            f"offsets[{i}]={offsets[i]}; each sequence ends where the next one starts"
        )
    return offsets


def _relative(level, upper, lower):
    """Convert row offsets to offsets into the next level, whose row offsets are ``lower``.

    Empty sequences on a boundary belong to the later sequence, those at the end to the last.
    """
    places = np.searchsorted(lower, upper)
    wrong = np.flatnonzero(lower[np.minimum(places, len(lower) - 1)] != upper)
    if not len(wrong) and upper[-1] == lower[-1]:
        places[-1] = len(lower) - 1
        return freeze(places.astype(np.int64))
    i = int(wrong[0]) if len(wrong) else len(upper) - 1
    raise LoDError(
        f"absolute offset {upper[i]} at position {i} of level {level} is not the start of a "
        f"sequence of level {level + 1} ({format_short(lower)}); outermost levels come first, last offsets are equal"
    )


def check_rows(levels, values, offsets=False):
    """Raise unless the innermost lengths sum to the rows of ``values``; ``offsets``: these were given."""
    if levels and values is not None and levels[-1][-1] != values.shape[0]:
        last, rows = int(levels[-1][-1]), values.shape[0]
        difference = f"{last - rows} too many" if last > rows else f"{rows - last} too few"
        rule = f"the innermost lengths must sum to the rows: {format_short(lengths_between(levels[-1]))}"
        if offsets:
            rule = f"offsets end with the number of rows: {'append' if last < rows else 'the last must be'} {rows}"
        elif are_offsets(starts := lengths_between(levels[-1]), rows):
            rule += f"; offsets are given by name: LoDTensor(values, lod=[{format_short(starts)}])"
        place = f"last offset {last} at level {len(levels) - 1}"
        raise LoDError(f"{place} does not equal values.shape[0]={rows} ({difference}); {rule}")


def are_offsets(numbers, rows):
    """Whether numbers look like offsets of so many rows: from 0 on, none less than the one before."""
    return numbers.size > 1 and numbers[0] == 0 and numbers[-1] == rows and bool((numbers[1:] >= numbers[:-1]).all())


def resized(name, rows, values):
    """The error for a tensor whose array of values has been resized since it was made."""
    now = values.shape[0] if values.shape else f"shape {tuple(values.shape)}"
    return LoDError(f"{name} was cut into {rows} rows, its values have {now} now; make it anew")


def mismatch(what, t, u):
    """Return the error for tensors of different structure."""
    return LoDMismatchError(f"{what}: {difference(t, u)}")


def difference(t, u):
    """Describe the first difference in structure of two tensors."""
    if t.lod_level != u.lod_level:
        return f"lod_level {t.lod_level} against {u.lod_level}"
    for level in range(t.lod_level):
        a, b = t.lengths(level), u.lengths(level)
        both = min(len(a), len(b))
        differing = np.flatnonzero(a[:both] != b[:both])
        if len(differing):
            i = int(differing[0])
            at = f"first difference at sequence {i}: {a[i]} vs {b[i]}"
            return f"different sequence lengths at level {level}; {at}"
        if len(a) != len(b):
            return f"{len(a)} sequences against {len(b)} at level {level}"
    return f"{len(t)} rows against {len(u)}"


def check_lod(lod: Levels, rows: int | None = None, *, absolute: bool = False) -> None:
    """Raise unless offsets are valid (Paddle's CheckLoD and CheckAbsLoD).

    Parameters
    ----------
    lod : list of lists of int
        Offsets per level, outermost first: from 0, non-decreasing.
    rows : int, optional
        Number of rows at which the innermost level must end.
    absolute : bool
        False: offsets count sequences of the next level. True: rows, and each is also an offset of the next level.

    Raises
    ------
    LoDError
        Names the level, the position and the offsets.

    Examples
    --------
    >>> check_lod([[0, 2, 3], [0, 2, 2, 5]], rows=5)
    >>> check_lod([[0, 4, 5], [0, 2, 4, 5]], absolute=True)
    >>> check_lod([[0, 2]], rows=0)
    Traceback (most recent call last):
        ...
    lodkit.LoDError: the innermost level ends at 2, but there are 0 rows; its last offset must be the number of rows
    """
    levels = from_offsets(lod, absolute)
    if levels and rows is not None and levels[-1][-1] != rows:
        last = levels[-1][-1]
        raise LoDError(
            f"the innermost level ends at {last}, but there are {rows} rows; its last offset must be the number of rows"
        )


def check_vector(x, name):
    """Return ``x`` as an int64 vector."""
    x = integers(x, name)
    if x.ndim != 1:
        raise LoDError(f"{name} must be one-dimensional, got shape {x.shape}; pass {name}.reshape(-1)")
    return x


def check_lengths(lengths, name="lengths"):
    lengths = check_vector(lengths, name)
    if len(lengths) and lengths.min() < 0:
        i = int(np.argmax(lengths < 0))
        raise LoDError(f"{name}[{i}] = {lengths[i]} is negative; a length counts rows, 0 for an empty segment")
    return lengths
