"""Examples of calls: what they update is made anew, and batches get what small ones lack."""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np

from ..arrays import one_device
from ..base.errors import DeviceError
from ..lod import LoDTensor, SelectedRows
from .kinds import numbers_of, unwrapped, with_numbers
from .open_tapes import differentiate
from .tensors import arrays_of


class Example(NamedTuple):
    """A call that was not made yet.

    Attributes
    ----------
    op : Op
    inputs : tuple
        As kernels take them: NumPy's arrays, also for lists, tensors of PyTorch and parameters.
    attrs : dict
        Those that were given.
    out : array, LoDTensor or None
    """

    op: Any
    inputs: tuple[Any, ...]
    attrs: dict[str, Any]
    out: Any

    def run(self, gradients: bool = False) -> None:
        """Run the call, and its gradients if it has some; what it would write is made anew, of zeros."""
        op, inputs = self.op, list(self.inputs)
        for i, name in enumerate(op._names(inputs)):
            if name in op.updates:
                inputs[i] = with_numbers(inputs[i], zeros_like(numbers_of(inputs[i])))
        if self.out is None:
            op.shown(op.full(*inputs, **self.attrs), self.attrs)
        else:
            op.full(*inputs, out=with_numbers(self.out, zeros_like(numbers_of(self.out))), **self.attrs)
        if gradients and op.gradient_rule:
            differentiate(functools.partial(op.full, *inputs, **self.attrs))

    @property
    def chunk_rows(self) -> int:
        """The fewest rows of a chunk with which sorting the ids in plain arrays takes little memory."""
        arrays = [x._values if isinstance(x, LoDTensor) and not x.lod_level else x for x in self.inputs]
        ids = [x.size for x in arrays if isinstance(x, np.ndarray) and x.dtype.kind in "iu" and x.itemsize > 2]
        return 1 + max(ids, default=0) // 1024

    def merge_rows(self) -> Example:
        """Return the example with sorted, unique rows in its SelectedRows."""
        inputs = tuple(x.merge() if isinstance(x, SelectedRows) else x for x in self.inputs)
        return self._replace(inputs=inputs)

    def repeat_first_row(self, count: int) -> Example:
        """Return the example with the first row of its LoDTensors and SelectedRows ``count`` times, in one sequence.

        The other sequences are empty. Arrays that count as many rows as one of these follow it.
        """
        made, taken, counts = list(self.inputs), np.zeros(count, np.int64), set()
        for i, x in enumerate(self.inputs):
            if isinstance(x, LoDTensor) and x.lod_level and len(x._values):
                *upper, last = x.recursive_sequence_lengths()
                at = next(s for s, length in enumerate(last) if length)
                made[i] = LoDTensor(x._values[taken], [*upper, [count * (s == at) for s in range(len(last))]])
                counts.add(len(x._values))
            elif isinstance(x, SelectedRows) and len(x):
                made[i] = SelectedRows(x._rows[taken], x._value[taken], x.height)
                counts.add(len(x))
        return self._replace(inputs=self._cut_arrays(made, counts, taken), out=None)

    def drop_sequences(self) -> Example:
        """Return the example without rows and sequences, or, if there are none, without ids and lengths."""
        made, counts = list(self.inputs), set()
        for i, x in enumerate(self.inputs):
            if isinstance(x, LoDTensor) and x.lod_level:
                made[i] = x[:0]
                counts |= {len(x), len(x._values)}
            elif isinstance(x, SelectedRows):
                made[i] = SelectedRows(x._rows[:0], x._value[:0], x.height)
                counts.add(len(x))
        if not counts:
            counts = {len(x) for x in self.inputs if isinstance(x, np.ndarray) and x.ndim == 1 and x.dtype.kind in "iu"}
        return self._replace(inputs=self._cut_arrays(made, counts, np.zeros(0, np.int64)), out=None)

    def _cut_arrays(self, made, counts, taken):
        """Inputs, with some rows of the arrays that have one of these numbers of them."""
        for i, (name, x) in enumerate(zip(self.op._names(made), self.inputs, strict=True)):
            if isinstance(x, np.ndarray) and x.ndim and name not in self.op.updates and len(x) in counts:
                made[i] = x[taken]
        return tuple(made)


def read_example(call: functools.partial[Any]) -> Example:
    """Return the example in ``functools.partial(op, *inputs, **attrs)``."""
    op: Any = call.func
    out = call.keywords.get("out")
    attrs = {name: x for name, x in call.keywords.items() if name != "out"}
    inputs, attrs = op.taken(call.args, attrs)
    inputs = op._accept(arrays_of(op, tuple(map(unwrapped, inputs))))
    if one_device(op.name, inputs) != "cpu":
        raise DeviceError(f"{op.name}: examples for warmup are on the CPU; pass to_device(x, 'cpu')")
    if out is not None:
        (out,) = arrays_of(op, (unwrapped(out),))
    return Example(op, inputs, attrs, out)


def zeros_like(array: Any) -> Any:
    """Return zeros with the shape, type and strides of an array; memory is taken as it is written to."""
    if array is None or not array.size:
        return array
    first, end = np.lib.array_utils.byte_bounds(array)
    # Not zeros of bytes, whose memory may begin between two numbers.
    memory = np.zeros(-(-(end - first) // array.itemsize), array.dtype)
    return np.ndarray(array.shape, array.dtype, memory, array.ctypes.data - first, array.strides)
