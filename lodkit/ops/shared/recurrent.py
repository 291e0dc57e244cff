"""What recurrent layers share: activations, the order of their steps, checks of their inputs."""

from __future__ import annotations

import functools
import math
import typing

import numpy as np

from ...arrays import check_gradient, check_same_type, check_values, native
from ...base.errors import LodkitError, ShapeMismatchError
from ...lod.levels import load_compiled

Activation = typing.Literal["identity", "relu", "sigmoid", "tanh"]
#: Kernels know an activation by its number here.
ACTIVATIONS = typing.get_args(Activation)


class Steps:
    """The steps of sequences that are not empty, longest first: step t has those that are longer than t.

    Layers read the order of a RankTable, which keeps its arrays for others to read; these are of one call.

    Attributes
    ----------
    order : int64 array
        The numbers of these sequences.
    counts : list of int
        How many sequences take each step.
    first : int
        How many take the first one.
    rows : int64 array
        The row of x at each place in the order of the steps.
    places : int64 array
        The place of each row of x.
    ends : pair of int64 arrays
        The row of x at the last step of each sequence, -1 for an empty one; and which are empty.
    """

    def __init__(self, offsets, reverse):
        order, running = load_compiled().rank_lengths(offsets)
        self._offsets, self._reverse, self.counts = offsets, reverse, running.tolist()
        self.first = self.counts[0] if self.counts else 0
        self.order = order[: self.first]
        self.rows = load_compiled().time_major(offsets, order, running, reverse)
        self.places = np.empty_like(self.rows)
        self.places[self.rows] = np.arange(len(self.rows))

    def walk(self):
        """Of each step the place of its first row, and how many it has."""
        place = 0
        for count in self.counts:
            yield place, count
            place += count

    @property
    def previous(self):
        """Of each row, in the order of the steps, the place of its state one step before.

        Places are those of memory that holds the states before the first step, and then those of all steps.
        """
        before = np.array([self.first, *self.counts], np.int64)[:-1]
        return np.arange(len(self.rows)) + self.first - np.repeat(before, self.counts)

    @functools.cached_property
    def ends(self):
        starts, stops = self._offsets[:-1], self._offsets[1:]
        ends = starts if self._reverse else stops - 1
        if self.first == len(ends):
            return ends, ()
        empty = starts == stops
        return np.where(empty, -1, ends), np.flatnonzero(empty)

    @property
    def previous_rows(self):
        """Return, for each place behind the first step, the row of x one step before."""
        return self.rows[self.first :] + (1 if self._reverse else -1)


def _sigmoid(x):
    small = np.exp(-np.abs(x))
    return np.where(x >= 0, 1, small) / (1 + small)


_FUNCTIONS = {"identity": lambda x: x, "relu": lambda x: np.where(x < 0, 0, x), "sigmoid": _sigmoid, "tanh": np.tanh}
_SLOPES = {
    "identity": np.ones_like,
    "relu": lambda y: np.where(y > 0, 1, 0),
    "sigmoid": lambda y: y * (1 - y),
    "tanh": lambda y: 1 - y * y,
}


def activate(name, x):
    """An activation, for definitions."""
    return _FUNCTIONS[name](x)


def slope(name, y):
    """The derivative of an activation, from its result."""
    return _SLOPES[name](y)


def to_double(x, shape=None):
    """An array in double precision; zeros of a shape in place of None."""
    return np.zeros(shape) if x is None else x.astype(np.float64)


def round_to(x, dtype):
    with np.errstate(over="ignore", under="ignore"):
        return np.asarray(x, native(dtype))


def gate_type(dtype):
    """The type of gates, which the gradient reads: float32 for float16."""
    return np.dtype(np.float32) if native(dtype) == np.float16 else native(dtype)


def rows_of(x, input_weight):
    """The input products of all rows, in double precision."""
    rows = x.values.reshape(len(x.values), math.prod(x.values.shape[1:])).astype(np.float64)
    return rows, rows if input_weight is None else rows @ input_weight.astype(np.float64)


def paths(offsets, reverse):
    """The rows of each sequence, in the order in which the layer walks."""
    for start, stop in zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True):
        yield range(stop - 1, start - 1, -1) if reverse else range(start, stop)


def check_weights(name, x, gates, input_weight, weight, others=(), size=None):
    """Check types, and the weights of a layer of so many gates. Returns the size of its state and of its output.

    Parameters
    ----------
    others : dict
        Name -> array or None.
    size : int, optional
        Of the state, which the weight tells where no projection follows.
    """
    check_same_type(name, x.values, input_weight=input_weight, weight=weight, **dict(others))
    if weight.ndim != 2 or weight.shape[1] % gates:
        raise ShapeMismatchError(f"{name}: the weight has shape {tuple(weight.shape)}; it must be (n, {gates} * size)")
    size, back = weight.shape[1] // gates, weight.shape[0]
    width = math.prod(x.values.shape[1:])
    if input_weight is None and width != gates * size:
        raise ShapeMismatchError(
            f"{name}: rows of x have {width} elements, and without an input weight they must be the {gates * size} of "
            f"the products for {gates} gates of {size}"
        )
    if input_weight is not None and tuple(input_weight.shape) != (width, gates * size):
        raise ShapeMismatchError(
            f"{name}: the input weight has shape {tuple(input_weight.shape)}; rows of {width} elements and {gates} "
            f"gates of {size} need ({width}, {gates * size})"
        )
    return size, back


def check_states(name, offsets, **states):
    """Check initial states: name -> array or None, and its width."""
    for what, (state, width) in states.items():
        wanted = len(offsets) - 1, width
        if state is not None and tuple(state.shape) != wanted:
            raise ShapeMismatchError(f"{name}: {what} has shape {tuple(state.shape)}, it must be {wanted}, a row each")


def check_bias(name, bias, *sizes):
    """Check the shape of a bias, a vector or a matrix of one row, against the numbers of elements that it may have."""
    if bias is not None and tuple(bias.shape) not in {shape for n in sizes for shape in ((n,), (1, n))}:
        allowed = " or ".join(f"({n},) or (1, {n})" for n in sizes)
        raise ShapeMismatchError(f"{name}: the bias has shape {tuple(bias.shape)}; it must be {allowed}")


def check_results(rows, gates, grad, out, **others):
    """Check what a gradient reads: the gradient by the output, the output, and other arrays of a row each."""
    check_gradient(grad, (rows, out))
    for name, (array, width) in {**others, "gates": gates}.items():
        if array is not None and tuple(array.shape) != (rows, width):
            raise ShapeMismatchError(
                f"the gradient reads the {name} of the layer, of shape {(rows, width)}; the array has shape "
                f"{tuple(array.shape)}"
            )
        if array is not None:
            check_values(array.dtype, f"the gradient, which reads the {name} of the layer,", floating=True)


def refuse_gates(name, gradient):
    """No gradient flows from the gates, which are there for the gradient to read."""
    if gradient is not None:
        raise LodkitError(f"{name} has no gradient by its gates; compute from its hidden states")


def check_last_gradient(grad, offsets, width, name="grad_last"):
    """Check the gradient by the last states, which may be None."""
    if grad is not None:
        check_gradient(grad, (len(offsets) - 1, width), name)


def present(*gradients):
    """The gradients that are not None."""
    return tuple(g for g in gradients if g is not None)
