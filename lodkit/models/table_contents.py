"""What a GrowingTable holds: keys, rows and states, which grow together; and the locks under which they change."""

from __future__ import annotations

import os
import threading
import weakref
from typing import Any, NamedTuple

import numpy as np

from ..arrays import empty
from ..base.errors import ShapeMismatchError

# Of the contents of all tables. No code of a user runs under it: a fork takes it, and would wait for ever for an
# initializer that waits for the fork.
lock = threading.RLock()


class Turn:
    """The lock of the updates of one table, which forks and other tables do not wait for: an operator may be a user's.

    A copy of a table, and a forked child, have one that is free.
    """

    def __init__(self) -> None:
        self._renew()
        _turns.add(self)

    def _renew(self):
        self._lock, self.updating = threading.RLock(), False

    def __enter__(self):
        self._lock.acquire()

    def __exit__(self, *error):
        self._lock.release()

    def __reduce__(self):
        return Turn, ()


_turns: weakref.WeakSet[Turn] = weakref.WeakSet()


def _renew_in_child():
    lock.release()
    for turn in _turns:
        turn._renew()  # the thread that had it is not here


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=lock.acquire, after_in_parent=lock.release, after_in_child=_renew_in_child)


class Contents(NamedTuple):
    """What grows together; one assignment replaces it all."""

    keys: Any
    values: Any
    states: dict[str, Any]

    def check_rows(self) -> None:
        """Refuse arrays that were resized since, which NumPy allows."""
        rows = len(self.keys.slots)
        if self.values.shape[:1] != (rows,):
            raise ShapeMismatchError(f"values have shape {self.values.shape} now, not {rows} rows: resized since")
        for name, state in self.states.items():
            if state.shape[:1] not in ((rows,), (1,)):
                raise ShapeMismatchError(
                    f"the state {name!r} has shape {state.shape} now, not a row for each of {rows} slots: resized since"
                )

    def grow(self, capacity: int, more: Any) -> Contents:
        """Return the contents with more slots, of the rows ``more``.

        The spare row, which is the last, becomes the row of a key. The states of new slots start as the state of the
        last one; one number for all slots stays.
        """
        from .table_keys import Keys

        keep = len(self.values) - 1
        values = empty((capacity, *self.values.shape[1:]), self.values.dtype)
        values[:keep], values[keep:] = self.values[:keep], more
        states = {name: _add_rows(state, capacity) for name, state in self.states.items()}
        return Contents(Keys(capacity, self.keys.slots[: self.keys.count]), values, states)


def _add_rows(state, capacity):
    if len(state) == 1:
        return state
    grown: np.ndarray = empty((capacity, *state.shape[1:]), state.dtype)
    grown[: len(state)], grown[len(state) :] = state, state[-1:]
    return grown
