"""Descriptions of inputs, which mutations change, and their building in guarded memory.

A case is built anew for each of its runs, so that runs share nothing.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from lodkit import LoDTensor, SelectedRows

from .memory import Placed

MANY = 300  # elements that a description shows


@dataclasses.dataclass
class Numbers:
    """An array, with its strides; at the end or at the beginning of its pages."""

    array: np.ndarray
    at_end: bool = True

    def __post_init__(self):
        if isinstance(self.array, np.generic):  # a scalar of NumPy has no memory of its own
            self.array = np.array(self.array)

    def build(self, builder):
        return builder.place(self.array, self.at_end)

    def text(self):
        a = self.array
        if not a.size:
            return f"np.zeros({a.shape}, {str(a.dtype)!r})"
        if 0 in a.strides and a.size > MANY:
            return f"np.broadcast_to(np.zeros((), {str(a.dtype)!r}), {a.shape})"
        shown = repr(a.tolist()) if a.size <= MANY else f"<{a.shape} numbers>"
        notes = [] if a.flags.c_contiguous else [f"strides {a.strides}"]
        notes += [] if a.flags.aligned else ["not aligned"]
        notes += [] if a.flags.writeable else ["read-only"]
        notes += [] if type(a) is np.ndarray else [type(a).__name__]
        return f"np.array({shown}, {str(a.dtype)!r})" + (f" ({', '.join(notes)})" if notes else "")


def _after(made, steps):
    """A value after what is done to it."""
    for step in steps:
        made = step(made)
    return made


def _after_in_text(made, steps):
    for step in steps:
        made = f"{step.__name__}({made})"
    return made


@dataclasses.dataclass
class Ragged:
    """A LoDTensor, and what is done to it before it is used."""

    values: Any
    lengths: Any
    by_offsets: bool = False
    steps: list[Any] = dataclasses.field(default_factory=list)

    def build(self, builder):
        values = None if self.values is None else self.values.build(builder)
        made = LoDTensor(values, lod=self.lengths) if self.by_offsets else LoDTensor(values, self.lengths)
        return _after(made, self.steps)

    def text(self):
        values = None if self.values is None else self.values.text()
        made = f"LoDTensor({values}, {'lod=' if self.by_offsets else ''}{self.lengths})"
        return _after_in_text(made, self.steps)


@dataclasses.dataclass
class Rows:
    """SelectedRows."""

    rows: Any
    value: Numbers
    height: Any
    steps: list[Any] = dataclasses.field(default_factory=list)

    def build(self, builder):
        made = SelectedRows(self.rows, self.value.build(builder), self.height)
        return _after(made, self.steps)

    def text(self):
        rows = self.rows.tolist() if isinstance(self.rows, np.ndarray) else self.rows
        made = f"SelectedRows({rows}, {self.value.text()}, {self.height})"
        return _after_in_text(made, self.steps)


@dataclasses.dataclass
class Several:
    """A list of values."""

    parts: list[Any]

    def build(self, builder):
        return [part.build(builder) for part in self.parts]

    def text(self):
        return f"[{', '.join(part.text() for part in self.parts)}]"


@dataclasses.dataclass
class Given:
    """Any other value, as it is."""

    value: Any

    def build(self, builder):
        return self.value

    def text(self):
        return repr(self.value)[:400]


@dataclasses.dataclass
class Shared:
    """The memory of another input: itself, or a view of it."""

    of: int
    view: Any
    label: str

    def build(self, builder):
        return builder.later(self)

    def text(self):
        return f"{self.label} of input {self.of}"


def described(x):
    """The description of a value."""
    if isinstance(x, np.ndarray):
        return Numbers(x.copy())
    if isinstance(x, LoDTensor):
        return Ragged(None if x.values is None else described(x.values), x.recursive_sequence_lengths())
    if isinstance(x, SelectedRows):
        return Rows(x.rows.copy(), described(x.value), x.height)
    if isinstance(x, list | tuple) and any(isinstance(part, np.ndarray | LoDTensor | SelectedRows) for part in x):
        return Several([described(part) for part in x])
    return Given(x)


class Builder:
    """Builds the inputs of one run; ``placed`` are its arrays."""

    def __init__(self):
        self.placed = []
        self.built = []

    def place(self, array, at_end):
        placed = Placed(array, at_end)
        self.placed.append(placed)
        plain = type(array) is np.ndarray or (isinstance(array, np.matrix) and array.ndim != 2)  # no view makes these
        return placed.array if plain else placed.array.view(type(array))

    def later(self, shared):
        other = self.built[shared.of] if shared.of < len(self.built) else None
        return shared.view(other)

    def build(self, descriptions):
        for each in descriptions:
            self.built.append(each.build(self))
        return self.built


class Disturbed(Builder):
    """A builder of inputs with rounding errors: where those change a result much, it is no defect that others do."""

    def __init__(self, noise, seed):
        super().__init__()
        self.noise, self.rng = noise, np.random.default_rng(seed)

    def place(self, array, at_end):
        if type(array) is np.ndarray and array.dtype.kind == "f" and 0 < array.size <= 1 << 16:
            errors = self.noise * (np.abs(array) + self.noise) * self.rng.choice([-1, 1], array.shape)
            array = (array + errors).astype(array.dtype)
        return super().place(array, at_end)

    def number(self, x):
        """A number away from the bounds of what has any, as a share."""
        errors = 8 * min(self.noise, 1e-6) * max(abs(x), 1)
        return x + errors if x < 0.5 else x - errors
