"""GrowingTable: rows appear as their keys do."""

from __future__ import annotations

import operator
from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from typing import Any

import numpy as np

from .. import ops
from ..arrays import check_values, from_lists, integers, is_array, is_integer, is_number, to_device
from ..arrays.checks import as_dtype
from ..arrays.recorded import hooks, plain_view
from ..arrays.sizes import memory_for
from ..arrays.types import Array, DenseLike, DTypeLike
from ..base.errors import LodkitError, RowIndexError, ShapeMismatchError
from ..base.loading import public
from ..base.signals import uninterrupted
from ..base.tracebacks import surface
from ..lod import LoDTensor, SelectedRows
from ..lod.large import needs_memory
from ..lod.repr_text import amount, numbers
from ..registry import Op
from ..tape.recording import parameter
from .table_contents import Contents, Turn, lock


def _zeros(count, shape, dtype):
    with memory_for(f"{count} rows of shape {shape}"):
        return np.zeros((count, *shape), dtype)


@public
class GrowingTable:
    """A table for keys that are not known in advance: a key gets a row at its first lookup, and capacity doubles.

    ``values`` is an ordinary table; its slots have the keys in the order of their first lookup. Lookups, gradients and
    optimizers work on slots. Keys stay on the CPU; values are NumPy's.

    Parameters
    ----------
    item : int or tuple of int
        Shape of a row.
    dtype : data-type, default float32
    capacity : int
        Rows at first, at least 2: the last one belongs to no key and reads as zeros.
    initializer : callable, optional
        ``initializer(count, item, dtype)`` gives the rows of new slots, which are copied; zeros by default. No lock is
        held meanwhile: where another thread makes the table grow first, its rows are dropped and others are asked for.

    Attributes
    ----------
    values : array, one row of shape ``item`` a slot
        A parameter, as ``lodkit.parameter`` returns one; another array after each growth: ask a tape for gradients by
        it before the table grows again.

    Examples
    --------
    >>> table = GrowingTable(2, capacity=2)
    >>> table.lookup([10**12, -7, 10**12])
    array([[0., 0.],
           [0., 0.],
           [0., 0.]], dtype=float32)
    >>> grad = SelectedRows(table.slots([-7]), np.ones((1, 2), np.float32), len(table.values))
    >>> table.update(ops.sgd, grad, lr=0.5)
    >>> table.lookup([-7, 3], training=False)
    array([[-0.5, -0.5],
           [ 0. ,  0. ]], dtype=float32)
    >>> len(table)
    2
    """

    def __init__(
        self,
        item: int | tuple[int, ...],
        dtype: DTypeLike = np.float32,
        *,
        capacity: int = 1024,
        initializer: Callable[[int, tuple[int, ...], np.dtype[Any]], Any] | None = None,
    ) -> None:
        from .table_keys import Keys

        if not (initializer is None or callable(initializer)):
            rule = "initializer must be a function of the count, the item and the type of new rows"
            raise TypeError(f"{rule}, got {initializer!r:.80}")
        try:
            self.item = tuple(map(operator.index, item if isinstance(item, tuple) else (item,)))
        except TypeError:
            raise TypeError(f"item is the shape of a row, an integer or a tuple of integers, got {item!r}") from None
        self.dtype = check_values(as_dtype(dtype), "GrowingTable", floating=True)
        if min(self.item, default=0) < 0:
            raise ValueError(f"item is the shape of a row, of sizes from 0 on, got {item}")
        if not is_integer(capacity) or capacity < 2:
            raise ValueError(f"capacity must be an integer of at least 2, got {capacity!r:.200}")
        self._initializer, self._turn = initializer or _zeros, Turn()
        keys, rows = Keys(capacity), self._rows(0, capacity)
        # An initializer may keep its array.
        values = rows if initializer is None else np.array(rows, order="C")
        self._contents = Contents(keys, values, {})

    def __len__(self) -> int:
        """Number of keys."""
        return self._contents.keys.count

    @property
    def values(self) -> Array:
        """The rows by slot, one of shape ``item`` each: a parameter."""
        self._contents.check_rows()
        return parameter(self._contents.values)

    @values.setter
    def values(self, values: Array) -> None:
        given = values if isinstance(values, np.ndarray) else from_lists(values, "values")
        with self._turn, lock:
            old = self._contents.values
            if given.shape != old.shape or given.dtype != old.dtype:
                raise ShapeMismatchError(
                    f"values have shape {given.shape} and dtype {given.dtype}, the table {old.shape} and {old.dtype}: "
                    "a row for each slot; keys get more of them by table.slots(keys)"
                )
            self._contents = self._contents._replace(values=plain_view(given))
            hooks.moved(old, self._contents.values)

    def __repr__(self):
        return f"<GrowingTable: {len(self)} keys, capacity {len(self.values)}, rows of {self.item} {self.dtype}>"

    def _repr_html_(self) -> str:
        from ..base.markup import STROKE, box, details, svg, title

        used = f"{len(self)} of {len(self.values) - 1} rows have keys"
        rows, size = f"rows of {self.item} {self.dtype}", amount(self.values.nbytes)
        states = ", ".join(self.states) or "none"
        filled = round(300 * len(self) / (len(self.values) - 1))
        bar = f'<path d="M1 1h{filled}v14h-{filled}z" fill="currentColor"/><path d="M.5 .5h301v15h-301z" {STROKE}/>'
        pairs = zip(self.keys[:8].tolist(), self.values, strict=False)
        first = "\n".join(f"{key}: {numbers(row)}" for key, row in pairs)
        facts = title("GrowingTable", used, rows, size, f"states: {states}")
        return box(facts, svg(used, 302, 16, bar), details("first keys", first) if first else "")

    @property
    def keys(self) -> Array:
        """The keys, by slot."""
        keys = self._contents.keys
        return keys.slots[: keys.count].copy()

    @property
    def states(self) -> dict[str, Array]:
        """Name -> array with a row, or a number, per slot; see ``state``."""
        return dict(self._contents.states)

    def _rows(self, start, stop):
        """Rows of the slots from ``start`` to ``stop``, of which the last is no key's."""
        rows = np.asarray(self._initializer(stop - start, self.item, self.dtype), self.dtype)
        if rows.shape != (stop - start, *self.item):
            raise ShapeMismatchError(f"initializer gave shape {rows.shape}, not {(stop - start, *self.item)}")
        return rows

    @surface
    @needs_memory
    def slots(self, keys: DenseLike | LoDTensor, *, grow: bool = True) -> Array | Any:
        """Return the slot of each key, int64, in the shape or the structure of the keys.

        Parameters
        ----------
        keys : array of int32 or int64, LoDTensor, or list
            Any numbers; on a GPU they are copied to the CPU.
        grow : bool
            Give unknown keys a slot; without, theirs is -1.
        """
        if isinstance(keys, LoDTensor):
            return keys.with_values(self.slots(keys.values, grow=grow))
        keys = integers(to_device(keys, "cpu") if is_array(keys) else keys, "keys")
        # Private copy: another thread may write to the array meanwhile.
        flat = keys.flatten()
        while True:
            with lock:
                contents = self._contents
                found, count = contents.keys.find(flat), contents.keys.count
                new = flat[found < 0] if grow and len(found) and found.min() < 0 else ()
                if len(new):
                    contents.check_rows()
                    count += len(np.unique(new))
                    # One row, the spare one, has no key.
                    if count < len(contents.keys.slots):
                        with uninterrupted():
                            contents.keys.insert(new)
                        found, new = contents.keys.find(flat), ()
            if not len(new):
                return found.reshape(keys.shape)
            self._grow(contents, count)

    def _grow(self, contents, count):
        """Make room for as many keys and the row of none: twice the capacity, and again. An error changes nothing.

        Nor does it where another thread, or the initializer, has replaced the contents meanwhile.
        """
        old = capacity = len(contents.keys.slots)
        while capacity <= count:
            capacity *= 2
        _check_growth(hooks.knows(contents.values), old, capacity)
        more = self._rows(old - 1, capacity)
        with self._turn, lock, uninterrupted():
            if self._contents is contents:
                _check_growth(hooks.knows(contents.values), old, capacity, self._turn.updating)
                contents.check_rows()
                self._contents = contents.grow(capacity, more)
                hooks.moved(contents.values, self._contents.values)

    @surface
    def lookup(self, keys: DenseLike | LoDTensor, *, training: bool = True, is_sparse: bool = True) -> Array | Any:
        """Return the row of each key; a Tape's gradient by ``values`` is SelectedRows of slots.

        Parameters
        ----------
        keys : array of int32 or int64, LoDTensor, or list
        training : bool
            Give unknown keys a row; without, they read as zeros.
        is_sparse : bool
            As in ``lookup_table``.
        """
        # Another thread may replace the values by more rows.
        slots, values = self.slots(keys, grow=training), self.values
        if training:
            return ops.lookup_table(values, slots, is_sparse=is_sparse)
        none = len(values) - 1
        flat = slots.values if isinstance(slots, LoDTensor) else slots
        flat = np.where(flat < 0, none, flat)
        slots = slots.with_values(flat) if isinstance(slots, LoDTensor) else flat
        return ops.lookup_table(values, slots, padding_idx=none, is_sparse=is_sparse)

    def state(self, name: str, fill: float = 0.0, *, rowwise: bool = False, dtype: DTypeLike | None = None) -> Array:
        """Return a state of an optimizer, which grows with the table; it is made when it is first asked for.

        Parameters
        ----------
        name : str
        fill : float
            Number of new slots.
        rowwise : bool
            One number per slot.
        dtype : data-type, optional
            The type of the values by default.
        """
        if not isinstance(name, str):
            raise TypeError(f"name of a state must be a string, got {name!r}")
        with lock:
            states, shape = self._contents.states, self.values.shape
            if name not in states:
                dtype = np.dtype(self.dtype if dtype is None else dtype)
                if dtype.kind not in "fiu" or not is_number(fill):
                    raise TypeError(f"a state has numbers: fill = {fill!r}, dtype = {dtype}")
                states[name] = np.full(shape[:1] if rowwise else shape, fill, dtype)
            return states[name]

    @surface
    def update(self, op: Op[..., Any], grad: SelectedRows, *states: str | Array, **attrs: Any) -> None:
        """Step the rows that a gradient lists: ``table.update(lodkit.adagrad, grad, "moment", lr=0.1)``.

        Parameters
        ----------
        op : operator
            Takes a parameter, its gradient and states.
        grad : SelectedRows
            Rows are slots, as in the gradient of ``lookup``; the table may have grown since.
        *states : str or array
            Names of states, as in ``state``, or arrays like ``values``; new ones are as the operator takes them.
        **attrs
            Attributes of the operator. ``lazy`` is True by default: slots to come are left alone.
        """
        if not isinstance(op, Op):
            raise TypeError(f"update takes an operator, as lodkit.sgd, got {op!r:.80}")
        # A table that grew meanwhile would not have the step.
        with self._turn:
            with lock:
                step = self._step_by(op, grad, states, attrs)
            updating, self._turn.updating = self._turn.updating, True
            try:
                with lock if op.definition.__module__.startswith("lodkit.") else nullcontext():  # whole in a fork
                    step()
            finally:
                self._turn.updating = updating

    def _step_by(self, op, grad, states, attrs):
        """The step by a gradient, checked: a function without arguments."""
        if not isinstance(grad, SelectedRows) or grad.height > len(self.values):
            what = f"SelectedRows of height {grad.height}" if isinstance(grad, SelectedRows) else type(grad).__name__
            raise TypeError(f"update takes SelectedRows of slots below {len(self.values)}, got {what}")
        if isinstance(grad._rows, np.ndarray) and len(grad._rows) and grad._rows.max() >= len(self):
            i = int(np.argmax(grad._rows >= len(self)))
            raise RowIndexError(
                f"rows[{i}] = {grad._rows[i]} is the slot of no key, there are {len(self)}; take table.slots(keys)"
            )
        grad = SelectedRows._wrap(grad._rows, grad._value, len(self.values), grad.is_merged, grad._runs)
        if "lazy" in op.defaults:
            attrs = {"lazy": True, **attrs}
        record: Any = getattr(op.definition, "optimizer", None)
        arrays: list[Any] = []
        for i, state in enumerate(states):
            vector = record is not None and record.rowwise and i == len(states) - 1
            kind = np.int64 if vector and record.counter else None
            if isinstance(state, str) and record is not None and record.single and i == len(states) - 1:
                start = np.full(1, record.start, np.promote_types(self.dtype, np.float32))
                arrays.append(self._contents.states.setdefault(state, start))
                continue
            arrays.append(self.state(state, rowwise=vector, dtype=kind) if isinstance(state, str) else state)
        return partial(op, self.values, grad, *arrays, **attrs)


def _check_growth(recorded, old, capacity, updating=False):
    """Refuse to grow where rows that were read, or that a step writes, would be lost."""
    if recorded or updating:
        what = (
            "an update runs, which would lose its step"
            if updating
            else "a tape is open, which would lose what it has recorded"
        )
        raise LodkitError(
            f"the table would grow from {old} to {capacity} rows while {what}; call table.slots(keys) for all keys "
            "before the first lookup"
        )
