"""LoDTensor and SelectedRows on their way into compiled code and out of it; memory is shared both ways.

Offsets and row numbers that leave it alone are copies: kernels trust those of the objects.
"""

from __future__ import annotations

from contextlib import ExitStack

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import NativeValue, box, unbox

from ...jit.private_numba import TrustedType, TypingError, lower_constant
from . import objects
from .kinds import OFFSETS, LoDTensorType, SelectedRowsType
from .sequences import offset

#: Head of an array object in NumPy's ABI: object, data, ndim, shape, strides, base, dtype, flags.
_POINTER, _INT = ir.IntType(8).as_pointer(), ir.IntType(32)
_ARRAY = ir.LiteralStructType(
    [ir.ArrayType(ir.IntType(8), object.__basicsize__), _POINTER, _INT, *[_POINTER] * 4, _INT]
)
_NDIM, _FLAGS = 2, 7
_C_CONTIGUOUS, _WRITEABLE = 0x1, 0x400


def _fits(c, kind, array):
    """True if an array object still has the rank, the order and the writability of its type.

    NumPy lets them be changed in place. Numba writes as many axes as the array has to a place for those of the type.
    """
    fields = c.builder.bitcast(array, _ARRAY.as_pointer())

    def field(number):
        return c.builder.load(cgutils.gep_inbounds(c.builder, fields, 0, number))

    needed = (_C_CONTIGUOUS if kind.layout == "C" else 0) | (_WRITEABLE if kind.mutable else 0)
    same_rank = c.builder.icmp_signed("==", field(_NDIM), ir.Constant(_INT, kind.ndim))
    flags = c.builder.and_(field(_FLAGS), ir.Constant(_INT, needed))
    return c.builder.and_(same_rank, c.builder.icmp_signed("==", flags, ir.Constant(_INT, needed)))


def _call(c, function, *args):
    """Call a Python function of ``objects``."""
    called = c.pyapi.unserialize(c.pyapi.serialize_object(function))
    result = c.pyapi.call_function_objargs(called, args)
    c.pyapi.decref(called)
    return result


class _Unboxing:
    """Fills a struct from the attributes of an object; at the first failure what was taken is given back."""

    def __init__(self, c, kind, obj, stack):
        self.c, self.obj, self.stack, self.taken = c, obj, stack, []
        self.struct = cgutils.create_struct_proxy(kind)(c.context, c.builder)
        self.failed = cgutils.alloca_once_value(c.builder, cgutils.true_bit)

    def _give_back(self):
        for kind, value in self.taken:
            self.c.context.nrt.decref(self.c.builder, kind, value)

    def fail_if(self, wrong, *to_release, explain=None):
        """Leave with the error that is set, or that ``explain`` raises."""
        with cgutils.early_exit_if(self.c.builder, self.stack, wrong):
            for obj in to_release:
                self.c.pyapi.decref(obj)
            if explain:
                _call(self.c, explain, self.obj)
            self._give_back()

    def take(self, member, kind, obj, check=False):
        """Unbox an object, whose reference is ours, into a member."""
        self.fail_if(cgutils.is_null(self.c.builder, obj))
        if check:
            self.fail_if(self.c.builder.not_(_fits(self.c, kind, obj)), obj, explain=objects.explain_change)
        native = self.c.unbox(kind, obj)
        self.c.pyapi.decref(obj)
        self.fail_if(native.is_error)
        self.taken.append((kind, native.value))
        setattr(self.struct, member, native.value)

    def take_attribute(self, member, kind, name, check=False):
        self.take(member, kind, self.c.pyapi.object_getattr_string(self.obj, name), check)

    def succeed(self):
        self.c.builder.store(cgutils.false_bit, self.failed)

    def value(self):
        return NativeValue(self.struct._getvalue(), is_error=self.c.builder.load(self.failed))


@unbox(LoDTensorType)
def unbox_lod_tensor(kind, obj, c):
    with ExitStack() as stack:
        into = _Unboxing(c, kind, obj, stack)
        tensor = into.struct
        if kind.in_torch:
            into.take("values", kind.values, _call(c, objects.lod_tensor_array, obj), check=True)
        elif kind.has_values:
            into.take_attribute("values", kind.values, "_values", check=True)
        into.take_attribute("base", types.int64, "_base")
        tensor.start = tensor.first_row = c.context.get_constant(types.int64, 0)
        if kind.has_values:
            tensor.stop = c.builder.extract_value(
                c.context.make_array(kind.values)(c.context, c.builder, tensor.values).shape, 0
            )
        if kind.lod_level:
            into.take_attribute("levels", kind.levels, "_lod")
            rows = tensor.stop
            count = _last_index(c, tensor, 0)
            tensor.stop = count
            if kind.has_values:
                last = kind.lod_level - 1
                end = offset(c.context, c.builder, tensor, last, _last_index(c, tensor, last))
                into.fail_if(c.builder.icmp_signed("!=", end, rows), explain=objects.explain_change)
        into.succeed()
    return into.value()


def _last_index(c, tensor, level):
    """Number of sequences of a level."""
    array = c.context.make_array(OFFSETS)(c.context, c.builder, c.builder.extract_value(tensor.levels, level))
    return c.builder.sub(c.builder.extract_value(array.shape, 0), c.context.get_constant(types.int64, 1))


@box(LoDTensorType)
def box_lod_tensor(kind, value, c):
    tensor = cgutils.create_struct_proxy(kind)(c.context, c.builder, value)
    values = c.box(kind.values, tensor.values) if kind.has_values else c.pyapi.make_none()
    levels = c.box(kind.levels, tensor.levels) if kind.lod_level else c.pyapi.tuple_new(0)
    numbers = [c.box(types.int64, x) for x in (tensor.start, tensor.stop, c.builder.add(tensor.first_row, tensor.base))]
    rebuild = objects.lod_tensor_in_torch if kind.in_torch else objects.lod_tensor
    return _release(c, _call(c, rebuild, values, levels, *numbers), values, levels, *numbers)


@unbox(SelectedRowsType)
def unbox_selected_rows(kind, obj, c):
    with ExitStack() as stack:
        into = _Unboxing(c, kind, obj, stack)
        into.take_attribute("rows", OFFSETS, "_rows")
        if kind.in_torch:
            into.take("value", kind.value, _call(c, objects.selected_rows_array, obj), check=True)
        else:
            into.take_attribute("value", kind.value, "_value", check=True)
        into.take_attribute("height", types.int64, "height")
        into.take_attribute("is_merged", types.boolean, "is_merged")
        lengths = [
            c.builder.extract_value(c.context.make_array(of)(c.context, c.builder, array).shape, 0)
            for of, array in ((OFFSETS, into.struct.rows), (kind.value, into.struct.value))
        ]
        into.fail_if(c.builder.icmp_signed("!=", *lengths), explain=objects.explain_change)
        into.succeed()
    return into.value()


@box(SelectedRowsType)
def box_selected_rows(kind, value, c):
    native = cgutils.create_struct_proxy(kind)(c.context, c.builder, value)
    parts = [
        c.box(of, getattr(native, name))
        for name, of in (
            ("rows", OFFSETS),
            ("value", kind.value),
            ("height", types.int64),
            ("is_merged", types.boolean),
        )
    ]
    rebuild = objects.selected_rows_in_torch if kind.in_torch else objects.selected_rows
    return _release(c, _call(c, rebuild, *parts), *parts)


@box(TrustedType)
def box_trusted(kind, value, c):
    shared = c.box(kind.untrusted, value)
    return _release(c, _call(c, objects.copy_to_bytes, shared), shared)


@lower_constant(LoDTensorType)
@lower_constant(SelectedRowsType)
def refuse_constant(context, builder, kind, value):
    raise TypingError(f"a global {type(value).__name__} is no constant: pass it to the function as an argument")


def _release(c, result, *parts):
    for part in parts:
        c.pyapi.decref(part)
    return result
