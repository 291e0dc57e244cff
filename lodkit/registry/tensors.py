"""Calls with PyTorch's CPU tensors: operators get NumPy arrays over their memory, and results become tensors.

Numbers of bfloat16 are computed in float32, and float32 results rounded back where no input was wider.
"""

from __future__ import annotations

import sys

import numpy as np

from ..arrays import array_of, refuse_overlap, tensor_of
from ..arrays.tensors import write_back
from ..lod import LoDTensor, SelectedRows


def numbers_in(x):
    """Array of a value's numbers; None without."""
    return x._values if isinstance(x, LoDTensor) else x.value if isinstance(x, SelectedRows) else x


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
    names = op._names(inputs)
    swap = Swap(op.name)
    plain = [swap.plain(x, name) for x, name in zip(inputs, names, strict=True)]
    if swap.copied and op.updates:
        swap.refuse_overlap(zip(names, inputs, strict=True), op.updates)
    if out is None:
        result = op(*plain, **attrs)
        for name, x in zip(names, inputs, strict=True) if op.updates else ():
            if name in op.updates:
                swap.wrote(x)
    else:
        target = swap.plain(out, "out")
        result = op(*plain, out=target, **attrs)
        swap.wrote(out)
        if isinstance(out, LoDTensor):
            out._set_levels(target._lod)
    return swap.restored(result)


def arrays_of(op, inputs):
    """The inputs of an operator over NumPy arrays in place of tensors."""
    swap = Swap(op.name)
    return tuple(swap.plain(x, name) for x, name in zip(inputs, op._names(inputs), strict=True))


class Swap:
    """NumPy arrays that stand for tensors in one call."""

    __slots__ = ("arrays", "copied", "given", "halves", "op", "tensor", "wide")

    def __init__(self, op):
        self.op, self.tensor = op, getattr(sys.modules.get("torch"), "Tensor", ())
        self.arrays = {}  # id of a tensor -> its array
        self.given = {}  # id of what stands for it -> what was given
        self.halves = self.wide = False  # whether there is bfloat16; whether there are wider numbers
        self.copied = []  # tensors whose arrays are copies

    def plain(self, x, name):
        """``x`` over a NumPy array, if it is a tensor or holds one."""
        numbers = numbers_in(x)
        if not isinstance(numbers, self.tensor) or numbers.is_cuda:
            self.wide |= isinstance(numbers, np.ndarray) and numbers.dtype.kind == "f" and numbers.itemsize > 2
            return x
        array = self.array(numbers, name)
        if numbers is x:
            return array
        if isinstance(x, LoDTensor):
            made = x._like(array)
            made._base = x._base
        else:
            made = x._with_value(array)
        self.given[id(made)] = x
        return made

    def array(self, tensor, name):
        found = self.arrays.get(id(tensor))
        if found is not None:
            return found
        array = array_of(tensor, f"{self.op}: {name}")
        if array.dtype.kind == "f":
            if tensor.itemsize != array.itemsize:
                self.halves = True
                self.copied.append(tensor)
            else:
                self.wide |= array.itemsize > 2
        self.arrays[id(tensor)] = array
        self.given[id(array)] = tensor
        return array

    def refuse_overlap(self, named, updated):
        """Refuse an update of numbers that were copied and that another input shares."""
        numbers = [(name, numbers_in(x)) for name, x in named]
        bits = [(name, _bits(x) if isinstance(x, self.tensor) else x) for name, x in numbers]
        for i, (name, x) in enumerate(bits):
            if name in updated and isinstance(x, np.ndarray):
                refuse_overlap(f"{self.op}: {name}", x, [y for j, (_, y) in enumerate(bits) if j != i])

    def wrote(self, x):
        """Tell a tensor that its array was written to."""
        numbers = numbers_in(x)
        if isinstance(numbers, self.tensor) and not numbers.is_cuda:
            write_back(numbers, self.arrays[id(numbers)])

    def restored(self, x):
        """A result over tensors."""
        given = self.given.get(id(x))
        if given is not None:
            return given
        if isinstance(x, np.ndarray | np.generic):
            return self.made(np.asarray(x))
        if type(x) is LoDTensor:
            made = x._like(self.restored(x._values))
            made._base = x._base
            return made
        if type(x) is SelectedRows:
            return x._with_value(self.restored(x.value))
        if type(x) in (tuple, list):
            return type(x)(map(self.restored, x))
        return x

    def made(self, array):
        """An array as a tensor, unless PyTorch lacks its type; read-only memory is not shared, but copied."""
        if array.dtype.kind not in "biufc":
            return array
        if not array.flags.writeable:
            array = array.copy()
        made = tensor_of(array)
        return made.bfloat16() if self.halves and not self.wide and array.dtype == np.float32 else made


def _bits(tensor):
    """Memory of a tensor of any type of two bytes, as an array."""
    return array_of(tensor.detach().view(sys.modules["torch"].int16), "") if tensor.itemsize == 2 else tensor
