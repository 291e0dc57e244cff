"""LLVM side of simd.py: the vector type, loads and stores, arithmetic, shuffles of lanes."""

from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, models, register_model

WIDE = {"float32": "float32", "float64": "float64", "uint16": "float32", "int32": "int64", "int64": "int64"}


class Vector(types.Type):
    """The Numba type of W lanes of one type."""

    def __init__(self, dtype, width):
        self.dtype, self.width = dtype, width
        super().__init__(f"Vector({dtype}, {width})")


@register_model(Vector)
class VectorModel(models.PrimitiveModel):
    def __init__(self, manager, vector):
        lane = manager.lookup(vector.dtype).get_data_type()
        super().__init__(manager, vector, ir.VectorType(lane, vector.width))


def _of(array, width):
    """Vector type in which values of an array are computed."""
    return Vector(getattr(types, WIDE[str(array.dtype)]), width.literal_value)


def _pointer(context, builder, array_type, array, i, j, pointee):
    made = context.make_array(array_type)(context, builder, array)
    where = [builder.sext(x, ir.IntType(64)) if x.type.width < 64 else x for x in (i, j)]
    pointer = cgutils.get_item_pointer(context, builder, array_type, made, where, wraparound=False)
    return builder.bitcast(pointer, pointee.as_pointer())


def _lanes(context, builder, array_type, width):
    """LLVM vector as stored in memory, and the alignment of its lanes."""
    name = str(array_type.dtype)
    lane = ir.HalfType() if name == "uint16" else context.get_data_type(array_type.dtype)
    return ir.VectorType(lane, width), array_type.dtype.bitwidth // 8 if array_type.aligned else 1


@intrinsic(prefer_literal=True)
def load(typing, array, i, j, width):
    vector = _of(array, width)

    def generate(context, builder, signature, args):
        memory, align = _lanes(context, builder, array, vector.width)
        value = builder.load(_pointer(context, builder, array, *args[:3], memory))
        value.align = align
        return _convert(builder, value, context.get_value_type(vector))

    return vector(array, i, j, width), generate


@intrinsic
def store(typing, array, i, j, vector):
    def generate(context, builder, signature, args):
        memory, align = _lanes(context, builder, array, vector.width)
        value = _convert(builder, args[3], memory)
        builder.store(value, _pointer(context, builder, array, *args[:3], memory)).align = align
        return context.get_dummy_value()

    return types.void(array, i, j, vector), generate


def _bits(lane):
    return {ir.HalfType: 16, ir.FloatType: 32, ir.DoubleType: 64}.get(type(lane)) or lane.width


def _convert(builder, value, target):
    """Convert lanes to another size, or integers to floats."""
    source, lane = value.type.element, target.element
    if source == lane:
        return value
    if isinstance(source, ir.IntType) and not isinstance(lane, ir.IntType):
        return builder.sitofp(value, target)
    if isinstance(source, ir.DoubleType) and isinstance(lane, ir.HalfType):
        value = builder.fptrunc(value, ir.VectorType(ir.FloatType(), target.count))  # double to half is a libcall
        source = value.type.element
    grows = _bits(lane) > _bits(source)
    if isinstance(source, ir.IntType):
        return (builder.sext if grows else builder.trunc)(value, target)
    return (builder.fpext if grows else builder.fptrunc)(value, target)


@intrinsic(prefer_literal=True)
def full(typing, array, width, number):
    vector = _of(array, width)

    def generate(context, builder, signature, args):
        lane = context.cast(builder, args[2], signature.args[2], vector.dtype)
        return _splat(builder, lane, vector.width)

    return vector(array, width, number), generate


def _splat(builder, lane, width):
    vector = ir.VectorType(lane.type, width)
    first = builder.insert_element(ir.Constant(vector, ir.Undefined), lane, ir.IntType(32)(0))
    zeros = ir.Constant(ir.VectorType(ir.IntType(32), width), [0] * width)
    return builder.shuffle_vector(first, ir.Constant(vector, ir.Undefined), zeros)


def _same(builder_name_float, builder_name_int):
    """Intrinsic of two vectors of one type: one LLVM instruction."""

    @intrinsic
    def run(typing, a, b):
        def generate(context, builder, signature, args):
            name = builder_name_float if isinstance(a.dtype, types.Float) else builder_name_int
            return getattr(builder, name)(*args)

        return a(a, b), generate

    return run


@intrinsic
def rolled(typing):
    """Empty convergent instruction, which keeps LLVM from unrolling the loop around it with a remainder."""

    def generate(context, builder, signature, args):
        nothing = ir.InlineAsm(ir.FunctionType(ir.VoidType(), []), "", "", side_effect=True)
        builder.call(nothing, [], attrs=("convergent",))
        return context.get_dummy_value()

    return types.void(), generate


@intrinsic
def like(typing, vector, number):
    def generate(context, builder, signature, args):
        lane = context.cast(builder, args[1], signature.args[1], vector.dtype)
        return _splat(builder, lane, vector.width)

    return vector(vector, number), generate


add, sub, mul = _same("fadd", "add"), _same("fsub", "sub"), _same("fmul", "mul")
div = _same("fdiv", "sdiv")


@intrinsic
def fma(typing, a, b, c):
    def generate(context, builder, signature, args):
        if not isinstance(a.dtype, types.Float):
            return builder.add(builder.mul(args[0], args[1]), args[2])
        product = builder.fmul(args[0], args[1], flags=("contract",))
        return builder.fadd(product, args[2], flags=("contract",))

    return a(a, b, c), generate


def _extreme(order, nan_stays):
    """Larger (``>``) or smaller (``<``) lanes: one instruction per register, three if NaN propagates."""

    @intrinsic
    def run(typing, a, b):
        def generate(context, builder, signature, args):
            x, y = args
            if not isinstance(a.dtype, types.Float):
                return builder.select(builder.icmp_signed(order, y, x), y, x)
            chosen = builder.select(builder.fcmp_ordered(order, y, x), y, x)
            return builder.select(builder.fcmp_unordered("uno", y, y), y, chosen) if nan_stays else chosen

        return a(a, b), generate

    return run


maximum, minimum, larger = _extreme(">", True), _extreme("<", True), _extreme(">", False)


@intrinsic
def widen(typing, a):
    wide = Vector(types.float64 if isinstance(a.dtype, types.Float) else types.int64, a.width)

    def generate(context, builder, signature, args):
        return _convert(builder, args[0], context.get_value_type(wide))

    return wide(a), generate


def _half(first):
    """Lower (0) or upper (1) half of the lanes."""

    @intrinsic
    def run(typing, a):
        width = a.width // 2

        def generate(context, builder, signature, args):
            chosen = ir.Constant(ir.VectorType(ir.IntType(32), width), [first * width + k for k in range(width)])
            return builder.shuffle_vector(args[0], args[0], chosen)

        return Vector(a.dtype, width)(a), generate

    return run


low, high = _half(0), _half(1)


def _every_second(first):
    """Even (0) or odd (1) lanes."""

    @intrinsic
    def run(typing, a):
        width = a.width // 2

        def generate(context, builder, signature, args):
            chosen = ir.Constant(ir.VectorType(ir.IntType(32), width), [2 * k + first for k in range(width)])
            return builder.shuffle_vector(args[0], args[0], chosen)

        return Vector(a.dtype, width)(a), generate

    return run


evens, odds = _every_second(0), _every_second(1)


@intrinsic
def paired(typing, a, b):
    def generate(context, builder, signature, args):
        width = 2 * a.width
        lanes = [k // 2 + k % 2 * a.width for k in range(width)]
        return builder.shuffle_vector(*args, ir.Constant(ir.VectorType(ir.IntType(32), width), lanes))

    return Vector(a.dtype, 2 * a.width)(a, b), generate


@intrinsic
def lane(typing, a, k):
    def generate(context, builder, signature, args):
        return builder.extract_element(args[0], builder.trunc(args[1], ir.IntType(32)))

    return a.dtype(a, k), generate


@intrinsic
def narrow(typing, array, a):
    vector = Vector(getattr(types, WIDE[str(array.dtype)]), a.width)

    def generate(context, builder, signature, args):
        return _convert(builder, args[1], context.get_value_type(vector))

    return vector(array, a), generate
