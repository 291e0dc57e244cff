"""What recurrent layers share: rows in the order of the steps, memory for states, gradients of weights.

Rows are sorted by step, within a step by the length of their sequence, longest first; so each step is a range of rows.
Hidden states and cells live in one array that has a row more for every sequence: the states before the first step come
first, then those of step 0, of step 1, and so on. Sequences that go on stand first, so what a step of ``count`` rows
starts from are the first ``count`` states of the step before.
"""

from __future__ import annotations

import math

import numpy as np


def to_contiguous(on, array, dtype):
    """An array as C-contiguous memory of a type; None stays None."""
    return None if array is None else on.to_contiguous(on.convert(array, dtype))


def as_rows(values):
    return values.reshape(len(values), math.prod(values.shape[1:]))


def to_time_major(on, values, steps, dtype):
    """Rows in the order of the steps, in the type that is computed in."""
    rows = as_rows(values)
    # Long doubles, for example, which no kernel takes.
    if rows.dtype.itemsize > np.dtype(dtype).itemsize:
        rows = on.convert(rows, dtype)
    return on.convert(on.take_rows(rows, steps.rows), dtype)


class Sums:
    """The products of all rows, in the order of the steps: rows of x, or theirs with the input weight.

    ``walk`` makes products of steps ahead, as many at once as the device sees fit.
    """

    def __init__(self, on, x, input_weight, steps, dtype):
        self.on, self.steps, self.weight = on, steps, to_contiguous(on, input_weight, dtype)
        self.rows = self.values = to_time_major(on, x.values, steps, dtype)
        if input_weight is not None:
            self.values = on.output((len(steps.rows), input_weight.shape[1]), dtype, None, self.rows)

    def walk(self):
        """Walk the steps, whose products are there."""
        ready = len(self.rows) if self.weight is None else 0
        for at, now, before, count in walk(self.steps) if self.values.size else ():
            if ready < at + count:
                ready = self.on.matmul_ahead(self.rows, self.weight, ready, at + count, self.values)
            yield at, now, before, count


def walk(steps):
    """Of each step its first row among the gates, its first among the states, that of the step before, and its rows."""
    before = 0
    for at, count in steps.walk():
        yield at, steps.first + at, before, count
        before = steps.first + at


def states(on, initial, steps, width, like):
    """Memory for the states of all steps, and those before the first: the initial ones, or zeros."""
    out = on.output((steps.first + len(steps.rows), width), like.dtype, None, like)
    first = on.part(out, 0, steps.first)
    if initial is None:
        on.fill(first, 0)
    elif first.size:
        on.gather(initial, on.send(like, steps.order), None, first)
    return out


def states_of(on, initial, values, steps, dtype):
    """The states of all steps, as ``states`` lays them out, from a layer's result."""
    out = states(on, initial, steps, values.shape[1], on.convert(on.part(values, 0, 0), dtype))
    if out.size:
        on.gather(to_contiguous(on, values, dtype), on.send(out, steps.rows), None, on.part(out, steps.first, len(out)))
    return out


def from_time_major(on, steps, values, dtype):
    """The last rows of values, in the order of the steps, in that of x again, rounded to a type."""
    rows = on.take_rows(on.part(values, len(values) - len(steps.rows), len(values)), steps.places)
    if rows.dtype == dtype:
        return rows
    with np.errstate(over="ignore"):
        return on.convert(rows, dtype)


def last_states(on, values, initial, steps):
    """The state of each sequence after its last step, of the states of all rows; of an empty one its initial state."""
    ends, empty = steps.ends
    out = on.take_rows(values, ends)
    if initial is not None and len(empty):
        on.scatter_rows(empty, on.take_rows(to_contiguous(on, initial, values.dtype), empty), out)
    return out


def bias_row(on, vector, width, dtype, like):
    """The numbers of a vector, and zeros behind, as a row; zeros in place of None."""
    row = on.zeros((1, width), dtype, like)
    if vector is not None and width:
        given = to_contiguous(on, vector, dtype).reshape(-1)
        on.copy_elements(given, on.part(row.reshape(-1), 0, len(given)))
    return row


def previous_states(on, values, initial, steps, dtype):
    """The states that steps started from, in the order of the steps, and how many rows at the front are left out.

    Without initial states these are the rows of the first step, which started from zeros.
    """
    rows = on.take_rows(to_contiguous(on, values, dtype), steps.previous_rows)
    if initial is None:
        return rows, steps.first
    return on.join_rows([on.take_rows(initial, steps.order), rows]), 0


def column_sums(on, rows):
    """The sum of all rows, as one row."""
    if not rows.size:
        return on.zeros((1, rows.shape[1]), rows.dtype, rows)
    return on.reduce_into(rows, None, None, None, np.array([0, len(rows)]), "sum", 0.0)


def input_grads(on, x, input_weight, by_sums, steps, dtype):
    """The gradients by x and by the input weight, if there is one."""
    if input_weight is None:
        return (from_time_major(on, steps, by_sums, dtype).reshape(*x.values.shape),)
    packed = to_time_major(on, x.values, steps, by_sums.dtype)
    by_packed = on.matmul(by_sums, input_weight, transpose="right")
    by_x = from_time_major(on, steps, by_packed, dtype).reshape(*x.values.shape)
    return by_x, on.matmul(packed, by_sums, transpose="left")


def carried_grad(on, by_last, steps, width, dtype, like):
    """The gradients by states that a walk back starts with, longest sequences first: those by the last states, or 0."""
    if by_last is None:
        return on.zeros((steps.first, width), dtype, like)
    return on.take_rows(to_contiguous(on, by_last, dtype), steps.order)


def initial_grad(on, carried, steps, like, by_last):
    """The gradient by initial states: of empty sequences, which end where they start, that by their last state."""
    if by_last is None:
        out = on.zeros(like.shape, carried.dtype, carried)
    else:
        out = on.convert(by_last, carried.dtype, new=True)
    if carried.size:
        on.scatter_rows(steps.order, carried, out)
    return out
