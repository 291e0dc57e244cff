"""Calls with PyTorch's CPU tensors: operators get NumPy arrays over their memory, and results become tensors.

Numbers of bfloat16 are computed in float32, and float32 results rounded back where no input was wider.
"""

from __future__ import annotations

import sys

import numpy as np

from ..arrays import refuse_overlap, tensor_of
from ..arrays.tensors import array_of, changed, plain_array_of, refuse_duals, rounded_like, shares
from ..base.errors import OutputError
from ..lod import LoDTensor, SelectedRows


def numbers_in(x):
    """Array of a value's numbers; None for structure alone."""
    return x._values if isinstance(x, LoDTensor) else x._value if isinstance(x, SelectedRows) else x


def holds_tensors(inputs):
    """Whether an input is a tensor of PyTorch that is not on a GPU, or a LoDTensor or SelectedRows over one."""
    kind = getattr(sys.modules.get("torch"), "Tensor", ())
    for x in inputs:
        numbers = numbers_in(x)
        if isinstance(numbers, kind) and not numbers.is_cuda:
            return True
    return False


def call_on_arrays(op, inputs, attrs, out=None):
    """Call an operator on NumPy arrays in place of tensors, and return tensors in place of arrays.

    What it returns of its inputs is the object that was given.
    """
    swap = Swap(op.name, op._label)
    plain = [swap.plain(x, i) for i, x in enumerate(inputs)]
    refuse_duals(op.name, map(numbers_in, inputs))
    if swap.copies:
        swap.settle()
        swap.refuse_overlap(inputs, op._updated)
    if out is not None:
        swap.check_out(out)
        target = swap.plain(out, -1)
        result = op.full(*plain, out=target, **attrs)
        swap.wrote(out)
        if isinstance(out, LoDTensor):
            out._set_levels(target._lod)
        return swap.restored(result)
    result = op.full(*plain, **attrs)
    for i in op._updated:
        if i < len(inputs):
            swap.wrote(inputs[i])
    return swap.restored(result)


def arrays_of(op, inputs):
    """The inputs of an operator over NumPy arrays in place of tensors."""
    swap = Swap(op.name, op._label)
    return tuple(swap.plain(x, i) for i, x in enumerate(inputs))


class Swap:
    """NumPy arrays that stand for tensors in one call of an operator."""

    __slots__ = ("arrays", "copies", "given", "halves", "label", "name", "tensor")

    def __init__(self, name, label):
        self.name, self.label = name, label  # of the operator; a function that names an input
        self.tensor = getattr(sys.modules.get("torch"), "Tensor", ())
        self.arrays = {}  # id of a tensor -> its array
        self.given = {}  # id of what stands for it -> what was given
        self.copies = {}  # id of a tensor whose memory no array can share -> the tensor
        self.halves = False  # whether float32 results are rounded to bfloat16

    def plain(self, x, i):
        """``x``, input ``i``, over a NumPy array if it is a tensor or holds one."""
        numbers = numbers_in(x)
        if not isinstance(numbers, self.tensor) or numbers.is_cuda:
            self.given[id(x)] = x
            return x
        array = self.arrays.get(id(numbers))
        if array is None:
            array = plain_array_of(numbers)
            if array is None:
                array = self.unusual(numbers, i)
            self.arrays[id(numbers)] = array
            self.given[id(array)] = numbers
        if numbers is x:
            return array
        if isinstance(x, LoDTensor):
            made = x._like(array)
            made._base = x._base
        else:
            made = x._with_value(array)
        self.given[id(made)] = x
        return made

    def unusual(self, tensor, i):
        array = array_of(tensor, f"{self.name}: {self.label(i)}")
        if not shares(tensor, array):
            self.copies[id(tensor)] = tensor
        return array

    def settle(self):
        """Find whether results are bfloat16."""
        self.halves = rounded_like(map(numbers_in, self.given.values())) is not None

    def refuse_overlap(self, inputs, updated):
        """Refuse an update of bfloat16 numbers, which are copied, that another input shares."""
        numbers = [numbers_in(x) for x in inputs]
        bits = [_bits(x) if id(x) in self.copies and x.itemsize == 2 else None for x in numbers]
        for i in updated:
            if i < len(bits) and bits[i] is not None:
                others = [x for j, x in enumerate(bits) if j != i and x is not None]
                refuse_overlap(f"{self.name}: {self.label(i)}", bits[i], others)

    def check_out(self, out):
        """Refuse an ``out=`` of bfloat16 for results of float32, and the other way round."""
        torch, dtype = sys.modules["torch"], getattr(numbers_in(out), "dtype", None)
        expected = torch.bfloat16 if self.halves else torch.float32
        if dtype in (torch.bfloat16, torch.float32) and dtype is not expected:
            raise OutputError(f"out has dtype {dtype}; the result is {expected}")

    def wrote(self, x):
        """Tell the tensor in ``x`` that its array was written to."""
        numbers = numbers_in(x)
        if id(numbers) in self.copies:
            numbers.detach().copy_(tensor_of(self.arrays[id(numbers)]))
        elif isinstance(numbers, self.tensor) and not numbers.is_cuda:
            changed(numbers)

    def restored(self, x):
        """A result over tensors."""
        return restore(x, self.given, self.halves)


def restore(x, given, halves=False):
    """A result over tensors: what stands for an input, which ``given`` has by the id of it, is that input again."""
    found = given.get(id(x))
    if found is not None:
        return found
    kind = type(x)
    if kind is np.ndarray:
        return tensor_over(x, halves)
    if kind is LoDTensor:
        made = x._like(_restore_numbers(x._values, given, halves))
        made._base = x._base
        return made
    if kind is SelectedRows:
        return x._with_value(_restore_numbers(x.value, given, halves))
    if kind is tuple or kind is list:
        return kind([restore(part, given, halves) for part in x])
    return tensor_over(np.asarray(x), halves) if isinstance(x, np.generic) else x


def _restore_numbers(values, given, halves):
    """Values of a result: the tensor that was given, or another one."""
    found = given.get(id(values))
    if found is not None and not isinstance(found, np.ndarray):
        return found
    return tensor_over(values, halves) if type(values) is np.ndarray else values


def tensor_over(array, halves=False):
    """An array as a tensor, unless PyTorch lacks its type; read-only memory is not shared, but copied."""
    if not array.flags.writeable:
        array = array.copy()
    elif not halves:
        try:
            return sys.modules["torch"].from_numpy(array)
        except (TypeError, ValueError):
            # In another order of bytes or axes: copied below, if PyTorch has the type.
            pass
    try:
        made = tensor_of(array)
    except TypeError:
        return array
    return made.bfloat16() if halves and array.dtype == np.float32 else made


def _bits(tensor):
    """Memory of a tensor of a type of two bytes, as an array."""
    return array_of(tensor.detach().view(sys.modules["torch"].int16), "a view")
