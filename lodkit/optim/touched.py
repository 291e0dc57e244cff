"""States of the rows that were ever touched: memory and time follow these, not the height of the table."""

from __future__ import annotations

import numpy as np

from ..arrays import write_together
from ..arrays.sizes import memory_for
from ..base.errors import LodkitError
from ..lod import SelectedRows
from ..registry.open_tapes import no_grad, note_written
from .master_weights import MASTER, step_master, widen_gradient

FIRST = 1024  # rows of the first allocation


class TouchedRows:
    """States by row, kept for rows that had a gradient; capacity doubles.

    Parameters
    ----------
    height : int
        Rows of the table.
    names : list of str
        States; master weights come last.
    new : callable
        ``new(name, rows)`` makes a state of zeros.
    """

    def __init__(self, height, names, new):
        with memory_for(f"the slots of {height} rows of a parameter"):
            # of slot + 1; the system gives pages when they are written
            self._slots = np.zeros(height, np.int32 if height < 1 << 31 else np.int64)
        self._rows, self._counted = np.zeros(0, np.int64), np.zeros(1, np.int64)
        self._new, self._names = new, names
        self._states = {name: new(name, 0) for name in names}

    def step(self, op, param, grad, attrs):
        """Update rows of ``param`` and their states by an operator that leaves other rows alone."""
        if MASTER in self._names:  # sums are not rounded before the step
            grad = widen_gradient(grad)
        if attrs.get("duplicates", op.defaults.get("duplicates")) == "sequential":
            rows, places = np.unique(grad._rows, return_inverse=True)
            grad = SelectedRows(places, grad._value, len(rows))
        else:
            with no_grad():
                grad = grad.merge()
            rows, grad = grad._rows, SelectedRows(np.arange(len(grad._rows)), grad._value, len(grad._rows))
        slots = self._slots_of(rows)
        found = param[rows]
        states = [self._states[name][slots] for name in self._names]
        if MASTER in self._names:  # it is zero for rows that come for the first time
            step_master(lambda copy: op(copy, grad, *states[:-1], **attrs), found, states[-1], None)
        else:
            op(found, grad, *states, **attrs)
        kept = (self._states[name] for name in self._names)
        changed = [(array, slots, state) for array, state in zip(kept, states, strict=True)]
        write_together([(param, rows, found), *changed])
        note_written(param)

    def _slots_of(self, rows):
        """Slots of sorted rows; new ones for rows that come for the first time."""
        slots = self._slots[rows].astype(np.int64)
        fresh = rows[slots == 0]
        if len(fresh):
            start, stop = self._count, self._count + len(fresh)
            self._reserve(stop)
            numbered = [(self._rows, slice(start, stop), fresh), (self._slots, fresh, np.arange(start, stop) + 1)]
            write_together([*numbered, (self._counted, 0, stop)])
            slots = self._slots[rows].astype(np.int64)
        return slots - 1

    @property
    def _count(self):
        """Rows that were touched."""
        return self._counted.item()

    def _reserve(self, count):
        if count > len(self._rows):
            capacity = max(FIRST, count, 2 * len(self._rows))
            made = {name: self._new(name, capacity) for name in self._states}
            for name, state in self._states.items():
                made[name][: len(state)] = state[:capacity]
            self._states = made
            self._rows = np.concatenate([self._rows, np.zeros(capacity - len(self._rows), np.int64)])

    def state_dict(self):
        """Rows that were touched, and their states, one after another."""
        return {"rows": self._rows[: self._count], **{n: s[: self._count] for n, s in self._states.items()}}

    def load(self, name, given):
        """Take the states of a ``state_dict``."""
        rows = np.asarray(given.get("rows"))
        if rows.dtype != np.int64 or rows.ndim != 1 or len(np.unique(rows)) != len(rows):
            raise LodkitError(f"{name}: the state has no rows, or rows that repeat")
        if len(rows) and not 0 <= rows.min() <= rows.max() < len(self._slots):
            raise LodkitError(f"{name}: the state has row {rows.max()}, the table {len(self._slots)} rows")
        for state in self._names:
            shape = (len(rows), *self._states[state].shape[1:])
            array = given.get(state)
            if array is None or array.shape != shape or array.dtype != self._states[state].dtype:
                raise LodkitError(f"{name}: the state {state} is missing, or not of shape {shape}")
        order = np.argsort(rows)
        slots = self._slots_of(rows[order])
        for state in self._names:
            self._states[state][slots] = given[state][order]
