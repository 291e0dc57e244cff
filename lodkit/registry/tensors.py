"""Calls with PyTorch's CPU tensors, or with bfloat16: operators get NumPy arrays, and results become what was given.

Arrays are over the memory of tensors. Operators that take bfloat16 (``takes_bfloat16``) get its bits; others get copies
in float32, and float32 results are rounded back where no input was wider.
"""

from __future__ import annotations

import sys

import numpy as np

from ..arrays import BFLOAT16, is_bfloat16, is_tensor, refuse_overlap, tensor_of, to_dtype, upcast, writable
from ..arrays.number_types import TAKES_BFLOAT16
from ..arrays.tensors import array_of, bfloat16_array_of, changed, plain_array_of, refuse_duals, rounded_like, shares
from ..base.errors import DTypeError, OutputError
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


def takes_bfloat16(*operators):
    """Declare that kernels of operators read and write bfloat16, and need no copies in float32."""
    for op in operators:
        op.takes_bfloat16 = True
        TAKES_BFLOAT16.add(op.name)


def keeps_bfloat16(*operators):
    """Declare that results keep the type of an input of bfloat16, beside others of wider numbers."""
    for op in operators:
        op.keeps_bfloat16 = True


def holds_bfloat16(inputs):
    """Whether an input is an array or a tensor of bfloat16, or holds one."""
    return any(is_of_bfloat16(numbers_in(x)) for x in inputs)


def is_of_bfloat16(numbers):
    """Whether an array, or a tensor of PyTorch, is of bfloat16."""
    if isinstance(numbers, np.ndarray):
        return is_bfloat16(numbers.dtype)
    return is_tensor(numbers) and numbers.dtype is sys.modules["torch"].bfloat16


def call_on_arrays(op, inputs, attrs, out=None):
    """Call an operator on NumPy arrays in place of tensors, and return tensors in place of arrays.

    What it returns of its inputs is the object that was given.
    """
    if out is not None:
        result = call_on_bits(op, inputs, attrs, out)
        if result is not NotImplemented:
            return result
    return call_on_copies(op, inputs, attrs, out)


def call_on_copies(op, inputs, attrs, out=None):
    """Call an operator on arrays over the memory of tensors, and on copies in float32 of what is of bfloat16."""
    return _call_swapped(Swap(op.name, op._label), op, inputs, attrs, out)


def call_on_bits(op, inputs, attrs, out=None):
    """Call an operator on arrays over the memory of tensors of bfloat16.

    NotImplemented where it does not take them, or not beside the types of other inputs, which it refuses before it
    writes.
    """
    if not op.takes_bfloat16 or not any(is_tensor(numbers_in(x)) and is_of_bfloat16(numbers_in(x)) for x in inputs):
        return NotImplemented
    try:
        return _call_swapped(Swap(op.name, op._label, takes_bits=True), op, inputs, attrs, out)
    except DTypeError:
        return NotImplemented


def _call_swapped(swap, op, inputs, attrs, out):
    plain = [swap.plain(x, i) for i, x in enumerate(inputs)]
    if swap.tensor:
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
    swap = Swap(op.name, op._label, takes_bits=op.takes_bfloat16)
    return tuple(swap.plain(x, i) for i, x in enumerate(inputs))


class Swap:
    """NumPy arrays that stand for tensors in one call of an operator."""

    __slots__ = ("arrays", "copies", "given", "halves", "label", "name", "takes_bits", "tensor", "tensors")

    def __init__(self, name, label, takes_bits=False):
        self.name, self.label = name, label  # of the operator; a function that names an input
        self.tensor = getattr(sys.modules.get("torch"), "Tensor", ())
        self.arrays = {}  # id of a tensor -> its array
        self.given = {}  # id of what stands for it -> what was given
        self.copies = {}  # id of a tensor whose memory no array can share -> the tensor
        self.halves = None  # the type of bfloat16 that float32 results are rounded to
        self.takes_bits = takes_bits  # whether the operator takes arrays of bfloat16
        self.tensors = False  # whether a tensor was given, so that results are tensors

    def plain(self, x, i):
        """``x``, input ``i``, over a NumPy array if it is a tensor or holds one."""
        numbers = numbers_in(x)
        is_tensor = isinstance(numbers, self.tensor) and not numbers.is_cuda
        if not is_tensor and (self.takes_bits or not is_of_bfloat16(numbers)):
            self.given[id(x)] = x
            return x
        array = self.arrays.get(id(numbers))
        if array is None:
            self.tensors |= is_tensor
            if is_tensor:
                array = bfloat16_array_of(numbers) if self.takes_bits else None
                array = plain_array_of(numbers) if array is None else array
                array = self.unusual(numbers, i) if array is None else array
            else:
                array = upcast(numbers) if isinstance(numbers, np.ndarray) else numbers.float()
                self.copies[id(numbers)] = numbers
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
        like = rounded_like(map(numbers_in, self.given.values()))
        if like is not None:
            self.halves = like.dtype if isinstance(like, np.ndarray) else BFLOAT16

    def refuse_overlap(self, inputs, updated):
        """Refuse an update of bfloat16 numbers, which are copied, that another input shares, or that is read-only."""
        for i in updated:
            if i < len(inputs) and isinstance(numbers_in(inputs[i]), np.ndarray):
                writable(numbers_in(inputs[i]), self.label(i))
        numbers = [numbers_in(x) for x in inputs]
        bits = [_bits(x) if id(x) in self.copies and x.itemsize == 2 else None for x in numbers]
        for i in updated:
            if i < len(bits) and bits[i] is not None:
                others = [x for j, x in enumerate(bits) if j != i and x is not None]
                refuse_overlap(f"{self.name}: {self.label(i)}", bits[i], others)

    def check_out(self, out):
        """Refuse an ``out=`` of bfloat16 for results of float32, and the other way round."""
        if self.takes_bits:  # the operator looks at it
            return
        numbers = numbers_in(out)
        if isinstance(numbers, np.ndarray) and not self.tensors:
            expected = np.dtype(np.float32) if self.halves is None else self.halves
            if (is_bfloat16(numbers.dtype) or numbers.dtype == np.float32) and numbers.dtype != expected:
                raise OutputError(f"out has dtype {numbers.dtype}; the result is {expected}")
            return
        torch, dtype = sys.modules.get("torch"), getattr(numbers, "dtype", None)
        if torch is None:
            return
        expected = torch.float32 if self.halves is None else torch.bfloat16
        if dtype in (torch.bfloat16, torch.float32) and dtype is not expected:
            raise OutputError(f"out has dtype {dtype}; the result is {expected}")

    def wrote(self, x):
        """Tell the tensor in ``x`` that its array was written to."""
        numbers = numbers_in(x)
        if id(numbers) in self.copies and isinstance(numbers, np.ndarray):
            numbers[...] = to_dtype(self.arrays[id(numbers)], numbers.dtype)
        elif id(numbers) in self.copies:
            array = self.arrays[id(numbers)]
            numbers.detach().copy_(array if is_tensor(array) else tensor_of(array))
        elif isinstance(numbers, self.tensor) and not numbers.is_cuda:
            changed(numbers)

    def restored(self, x):
        """A result over tensors, or of arrays where none was given."""
        return restore(x, self.given, self.halves, self.tensors or not self.copies)


def restore(x, given, halves=None, tensors=True):
    """A result over tensors: what stands for an input, which ``given`` has by the id of it, is that input again.

    Without ``tensors`` over arrays.
    """
    found = given.get(id(x))
    if found is not None:
        return found
    kind = type(x)
    if kind is np.ndarray:
        return tensor_over(x, halves) if tensors else rounded_array(x, halves)
    if kind is LoDTensor:
        made = x._like(_restore_numbers(x._values, given, halves, tensors))
        made._base = x._base
        return made
    if kind is SelectedRows:
        return x._with_value(_restore_numbers(x.value, given, halves, tensors))
    if kind is tuple or kind is list:
        return kind([restore(part, given, halves, tensors) for part in x])
    if is_tensor(x):
        return rounded_tensor(x, halves)
    return tensor_over(np.asarray(x), halves) if isinstance(x, np.generic) and tensors else x


def rounded_tensor(x, halves):
    """A tensor on a GPU of float32 as bfloat16, if results are to be of that; others as they are."""
    return x.bfloat16() if halves is not None and x.is_cuda and x.dtype is sys.modules["torch"].float32 else x


def rounded_array(array, halves):
    """An array of float32 as bfloat16, if results are to be of that; others as they are."""
    return array if halves is None or array.dtype != np.float32 else to_dtype(array, halves)


def _restore_numbers(values, given, halves, tensors):
    """Values of a result: the tensor that was given, or another one."""
    found = given.get(id(values))
    if found is not None and (not tensors or not isinstance(found, np.ndarray)):
        return found
    if type(values) is not np.ndarray:
        return rounded_tensor(values, halves) if is_tensor(values) else values
    return tensor_over(values, halves) if tensors else rounded_array(values, halves)


def tensor_over(array, halves=None):
    """An array as a tensor, unless PyTorch lacks its type; read-only memory is not shared, but copied."""
    if not array.flags.writeable:
        array = array.copy()
    elif halves is None and array.dtype.kind != "V":
        try:
            return sys.modules["torch"].from_numpy(array)
        except (TypeError, ValueError):
            # In another order of bytes or axes: copied below, if PyTorch has the type.
            pass
    try:
        made = tensor_of(array)
    except TypeError:
        return array
    return made.bfloat16() if halves is not None and array.dtype == np.float32 else made


def _bits(tensor):
    """Memory of a tensor of a type of two bytes, as an array; of one on a GPU itself."""
    if isinstance(tensor, np.ndarray) or tensor.is_cuda:
        return tensor
    return array_of(tensor.detach().view(sys.modules["torch"].int16), "a view")
