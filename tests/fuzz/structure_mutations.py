"""Mutations of LoDTensors and SelectedRows: lengths, kinds, and what is done to them behind lodkit's back."""

from __future__ import annotations

import contextlib

import numpy as np

from lodkit import LoDTensor, SelectedRows

from . import array_mutations
from .values import Given, Numbers, Ragged, Rows

N = 2**61


def _pried(arrays):
    """Write into arrays that lodkit handed out read-only, wherever NumPy lets us.

    Into their middle: a last offset that is not the number of rows is refused.
    """
    for array in arrays:
        for owner in (array, array.base):
            with contextlib.suppress(ValueError, AttributeError, TypeError, IndexError):
                owner.flags.writeable = True
                owner[len(owner) // 2 :][:1] = 1 << 40
        with contextlib.suppress(ValueError, AttributeError, TypeError, IndexError):
            array[1:2] = 1 << 40


def _reduced(x):
    """The arrays that pickling hands out; CPU kernels trust some of them."""
    with contextlib.suppress(Exception):  # values that cannot be pickled
        _, parts, *_ = x.__reduce_ex__(4)
        own = x.values if isinstance(x, LoDTensor) else x.value
        flat = [part for given in parts for part in (given if isinstance(given, tuple) else (given,))]
        return [part for part in flat if isinstance(part, np.ndarray) and part is not own]
    return []


def pried(x):
    """What kernels trust, as it is handed out, is written to."""
    if isinstance(x, LoDTensor):
        for level in range(x.lod_level):
            _pried([x.offsets(level), x.offsets(level, absolute=True), x.row_offsets(level)])
    elif isinstance(x, SelectedRows):
        _pried([x.rows])
    _pried(_reduced(x))
    return x


def _over_own_values(x):
    """A value over a copy of its numbers, and the copy; None for the copy of what is too large, or has no numbers."""
    numbers = x.values if isinstance(x, LoDTensor) else x.value
    if numbers is None or max(numbers.size, len(numbers)) > array_mutations.MANY:
        return x, None
    own = np.array(numbers)
    return (x.with_values(own) if isinstance(x, LoDTensor) else SelectedRows(x.rows, own, x.height)), own


def resized(x):
    """The values have fewer rows since."""
    made, own = _over_own_values(x)
    if own is not None and own.ndim:
        own.resize((len(own) // 2, *own.shape[1:]), refcheck=False)
    return made


def reshaped(x):
    """The values have another shape since."""
    made, own = _over_own_values(x)
    if own is not None:
        with contextlib.suppress(AttributeError):
            own.shape = () if own.size == 1 else (own.size,)
    return made


def selected_again(x):
    """Its first sequence 8 times, without values, then with as many as it says that it has."""
    made = LoDTensor(None, x.recursive_sequence_lengths())[[0] * 8 + [len(x) - 1]]
    rows = made.shape[0]
    return made.set_values(np.arange(float(rows))) or made if 0 <= rows < 1000 else made


STEPS = [pried, pried, resized, reshaped]


def change_lengths(rng, x):
    """Other lengths, mostly wrong ones."""
    levels = [list(level) for level in x.lengths] if isinstance(x.lengths, list) else []
    kind = rng.randrange(8)
    if kind <= 2 and levels and levels[-1]:
        level = rng.choice([level for level in levels if level] or [levels[-1]])
        level[rng.randrange(len(level))] = rng.choice(array_mutations.HUGE + array_mutations.SMALL)
    elif kind == 3 and levels:
        levels.pop(rng.randrange(len(levels)))
    elif kind == 4:
        levels.insert(0, [len(levels[0])] if levels else [1])
    elif kind == 5:
        levels = [[1.5], "12", [None], [[1, 2]], [], [True]][rng.randrange(6)]
    elif kind == 6:
        x.by_offsets = True
        levels = [[0, *np.cumsum(np.array(level, object)).tolist()] if level else [0] for level in levels]
        if levels and rng.random() < 0.5:
            levels[-1][rng.randrange(len(levels[-1]))] = rng.choice(array_mutations.HUGE)
    elif len(levels) > 1 and levels[-2]:  # the rows are as many as before
        levels[-2][-1] += 1
    elif levels:
        levels[-1] = [*levels[-1], 0] if rng.random() < 0.5 else levels[-1][::-1]
    x.lengths = levels


def change_ragged(rng, x):
    kind = rng.random()
    if kind < 0.4 and isinstance(x.values, Numbers):
        return change_within(rng, x, "values")
    if kind < 0.65:
        change_lengths(rng, x)
        return x, "change_lengths"
    if kind < 0.85:
        return stepped(rng, x)
    if kind < 0.9:
        x.values = None
        return x, "no_values"
    if kind < 0.95:
        return Ragged(None, [[N, 5]], steps=[selected_again]), "wrapped_structure"
    return x.values if x.values is not None else Given(None), "without_structure"


def change_rows(rng, x):
    kind = rng.random()
    if kind < 0.4:
        return change_within(rng, x, "value")
    if kind < 0.6:
        x.rows = array_mutations.change(rng, np.asarray(x.rows))[0]
        return x, "change_rows"
    if kind < 0.8:
        x.height = rng.choice([*array_mutations.HUGE, *array_mutations.SMALL, 2**63, 1.5, None])
        return x, "change_height"
    return stepped(rng, x) if kind < 0.95 else (x.value, "without_rows")


def change_within(rng, x, what):
    """Change the array of a LoDTensor or of SelectedRows."""
    numbers = getattr(x, what)
    array, name = array_mutations.change(rng, numbers.array)
    setattr(x, what, Numbers(array, numbers.at_end))
    return x, name


def stepped(rng, x):
    step = rng.choice(STEPS)
    x.steps.append(step)
    return x, step.__name__


def change(rng, x):
    """A changed description, and the name of the change."""
    if isinstance(x, Ragged):
        return change_ragged(rng, x)
    if isinstance(x, Rows):
        return change_rows(rng, x)
    array, name = array_mutations.change(rng, x.array)
    return Numbers(array, x.at_end), name
