"""Vectors in CUDA kernels: loads and stores of W elements at once, of 16 bytes if W allows.

Numba itself emits scalar loads. Arithmetic on vectors is ``lodkit.jit.simd``, on both devices. float16 is passed as
uint16 bits, bfloat16 as int16 bits, and both are computed as float32; int32 is computed as int64. Pointers are not
checked and do not wrap. W elements must be aligned to their size, at most 16 bytes. Every function has a Python body,
which an emulator runs.
"""

from __future__ import annotations

import functools
import operator

import numpy as np
from llvmlite import ir
from numba.extending import models

from ...jit import simd
from ...jit.llvm.halves import round_to_bfloats
from ...jit.llvm.vectors import COMPUTE_DTYPE, Vector, VectorModel, convert, splat
from .private_numba import extending, types

#: Types of pointers to halves: the bits of float16, and of bfloat16.
HALVES = ("uint16", "int16")
# Address space of a GPU's memory in LLVM; generic loads are slower.
GLOBAL = 1


def load(values, at, width):
    """Load ``width`` elements from ``values[at]`` on; nothing may write to them during the launch."""
    return _upcast(values, values.load(at, width))


def number(values, at):
    """Load the element ``values[at]``, upcast; nothing may write to it during the launch."""
    return load(values, at, 1)[0]


class _Constant:
    """What ``constant`` gives to a body that is not compiled."""

    def __init__(self, values):
        self.values = values

    def __getitem__(self, at):
        return number(self.values, at)


def constant(values):
    """An argument of which ``values[at]`` is ``number(values, at)``, if it is an array; else the number itself."""
    return values if isinstance(values, np.generic | int) else _Constant(values)


def load_where(there, values, at, width):
    """Load as ``load`` does if ``there`` is true, else zeros without reading at ``at``."""
    return load(values, at, width) if there else np.zeros(width, _compute_dtype(values.dtype))


def load_written(values, at, width):
    """Load ``width`` elements from ``values[at]`` on, which this launch may write."""
    return _upcast(values, values.load(at, width))


def store(out, at, vector):
    """Write lanes to ``out[at]`` and on, rounded to its type."""
    vector = vector if out.dtype in (np.uint16, np.int16) else vector.astype(out.dtype)
    out.store(at, simd.bits_of_numbers(vector, out.dtype))


def atomic_first(out, at, position):
    """Atomic minimum of ``out[at]``, where -1 means none, and a position."""
    out.update(at, lambda old, new: new if old < 0 or new < old else old, position)


def atomic_add(out, at, number):
    """Atomic addition to the int64 ``out[at]``."""
    out.update(at, lambda old, new: old + new, number)


def _upcast(values, lanes):
    return simd.numbers_of_bits(np.array(lanes, values.dtype)).astype(_compute_dtype(values.dtype))


# dtype.name is slow.
@functools.cache
def _compute_dtype(dtype):
    return np.dtype(COMPUTE_DTYPE[dtype.name])


def element_pointer(builder, pointer, at, pointee):
    pointer = builder.addrspacecast(builder.gep(pointer, [at]), ir.PointerType(pointer.type.pointee, GLOBAL))
    return builder.bitcast(pointer, ir.PointerType(pointee, GLOBAL))


def _memory(context, pointer, width):
    """LLVM vector as stored in memory, and its size in bytes; two halves move as one word."""
    size = width * pointer.dtype.bitwidth // 8
    if str(pointer.dtype) not in HALVES:
        return ir.VectorType(context.get_data_type(pointer.dtype), width), size
    return ir.VectorType(ir.IntType(16) if width == 1 else ir.IntType(32), max(1, width // 2)), size


def _words_to_floats(builder, words, width, kind):
    """Convert loaded halves to float32: those of float16 one by one, as NVVM compiles no vectors of them."""
    if kind == "int16":
        return _bfloats_to_floats(builder, words, width)
    i32, half = ir.IntType(32), ir.HalfType()
    floats = ir.Constant(ir.VectorType(ir.FloatType(), width), ir.Undefined)
    for k in range(width):
        word = builder.extract_element(words, i32(k // 2))
        if width > 1:
            word = builder.trunc(builder.lshr(word, i32(16 * (k % 2))), ir.IntType(16))
        lane = builder.fpext(builder.bitcast(word, half), ir.FloatType())
        floats = builder.insert_element(floats, lane, i32(k))
    return floats


def _bfloats_to_floats(builder, words, width):
    """Convert loaded bfloat16: each is the upper half of a float."""
    i32 = ir.IntType(32)
    floats = ir.Constant(ir.VectorType(ir.FloatType(), width), ir.Undefined)
    for k in range(width):
        word = builder.extract_element(words, i32(k // 2))
        if width == 1:
            word = builder.shl(builder.zext(word, i32), i32(16))
        else:
            word = builder.and_(word, i32(0xFFFF0000)) if k % 2 else builder.shl(word, i32(16))
        floats = builder.insert_element(floats, builder.bitcast(word, ir.FloatType()), i32(k))
    return floats


def _rounded_bits(builder, lane, kind):
    """The bits of the half nearest to a float, as i16."""
    if kind == "uint16":
        return builder.bitcast(builder.fptrunc(lane, ir.HalfType()), ir.IntType(16))
    one = ir.Constant(ir.VectorType(ir.FloatType(), 1), ir.Undefined)
    one = builder.insert_element(one, lane, ir.IntType(32)(0))
    return builder.extract_element(round_to_bfloats(builder, one), ir.IntType(32)(0))


def _floats_to_words(builder, lanes, memory, kind):
    """Round lanes to halves, in the words that are stored."""
    i32 = ir.IntType(32)
    words = ir.Constant(memory, ir.Undefined)
    width = lanes.type.count
    bits = []
    for k in range(width):
        lane = builder.extract_element(lanes, i32(k))
        if isinstance(lane.type, ir.DoubleType):
            lane = builder.fptrunc(lane, ir.FloatType())
        bits.append(_rounded_bits(builder, lane, kind))
    for k in range(memory.count):
        word = bits[0]
        if width > 1:
            high = builder.shl(builder.zext(bits[2 * k + 1], i32), i32(16))
            word = builder.or_(builder.zext(bits[2 * k], i32), high)
        words = builder.insert_element(words, word, i32(k))
    return words


def _bind():
    """Overload the functions above by intrinsics; numba-cuda is needed."""
    intrinsic, overload = extending.intrinsic, extending.overload
    extending.register_model(Vector)(VectorModel)

    class Constant(types.Type):
        """A pointer to elements that nothing may write to during the launch."""

        def __init__(self, dtype):
            self.dtype = dtype
            super().__init__(f"constant {dtype}*")

    extending.register_model(Constant)(models.PointerModel)

    def vector_of(pointer, width):
        return Vector(getattr(types, COMPUTE_DTYPE[str(pointer.dtype)]), width)

    @functools.cache
    def loader(width, constant):
        @intrinsic
        def run(typing, values, at):
            vector = vector_of(values, width)

            def generate(context, builder, signature, args):
                memory, size = _memory(context, values, width)
                lanes = builder.load(element_pointer(builder, args[0], args[1], memory))
                lanes.align = min(size, 16)
                if constant:
                    lanes.set_metadata("invariant.load", builder.module.add_metadata([]))
                if str(values.dtype) in HALVES:
                    return _words_to_floats(builder, lanes, width, str(values.dtype))
                return convert(context, builder, lanes, context.get_value_type(vector))

            return vector(values, types.int64), generate

        return run

    @intrinsic
    def where(typing, there, a):
        def generate(context, builder, signature, args):
            zero = ir.Constant(args[1].type.element, 0)
            return builder.select(args[0], args[1], splat(builder, zero, a.width))

        return a(types.boolean, a), generate

    @intrinsic
    def put(typing, out, at, vector):
        def generate(context, builder, signature, args):
            memory, size = _memory(context, out, vector.width)
            if (kind := str(out.dtype)) in HALVES:
                lanes = _floats_to_words(builder, args[2], memory, kind)
            else:
                lanes = convert(context, builder, args[2], memory)
            builder.store(lanes, element_pointer(builder, args[0], args[1], memory)).align = min(size, 16)
            return context.get_dummy_value()

        return types.void(out, types.int64, vector), generate

    def atomic(operation):
        @intrinsic
        def run(typing, out, at, number):
            def generate(context, builder, signature, args):
                where = element_pointer(builder, args[0], args[1], args[2].type)
                builder.atomic_rmw(operation, where, args[2], "monotonic")
                return context.get_dummy_value()

            return types.void(out, types.int64, types.int64), generate

        return run

    smallest, added = atomic("umin"), atomic("add")

    @overload(load, prefer_literal=True)
    def _load(values, at, width):
        read = loader(width.literal_value, True)
        return lambda values, at, width: read(values, at)

    @overload(number)
    def _number(values, at):
        read = loader(1, True)
        return lambda values, at: simd.lane(read(values, at), 0)

    @intrinsic
    def as_constant(typing, values):
        return Constant(values.dtype)(values), lambda context, builder, signature, args: args[0]

    @overload(constant)
    def _constant(values):
        if isinstance(values, types.CPointer):
            return lambda values: as_constant(values)
        return lambda values: values

    @overload(operator.getitem)
    def _constant_number(values, at):
        if isinstance(values, Constant):
            read = loader(1, True)
            return lambda values, at: simd.lane(read(values, at), 0)
        return None

    @overload(load_written, prefer_literal=True)
    def _load_written(values, at, width):
        read = loader(width.literal_value, False)
        return lambda values, at, width: read(values, at)

    @overload(load_where, prefer_literal=True)
    def _load_where(there, values, at, width):
        read = loader(width.literal_value, True)
        # Read at 0 instead of branching, so that loads of several rows overlap.
        return lambda there, values, at, width: where(there, read(values, at if there else 0))

    @overload(atomic_first)
    def _atomic_first(out, at, position):
        return lambda out, at, position: smallest(out, at, position)

    @overload(atomic_add)
    def _atomic_add(out, at, number):
        return lambda out, at, number: added(out, at, number)

    @overload(store)
    def _store(out, at, vector):
        return lambda out, at, vector: put(out, at, vector)


if extending is not None:
    _bind()
