"""LLVM side of simd.py: the vector type, loads and stores, arithmetic, shuffles of lanes."""

from __future__ import annotations

import functools

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, models, register_model

from ..private_numba import converts_halves
from . import halves

COMPUTE_DTYPE = {"float32": "float32", "float64": "float64", "uint16": "float32", "int32": "int64", "int64": "int64"}


class Vector(types.Type):
    """The Numba type of W lanes of one type."""

    def __init__(self, dtype, width):
        self.dtype, self.width = dtype, width
        super().__init__(f"Vector({dtype}, {width})")


SMALL = 16  # lanes that are one vector of LLVM's, whatever their number


def pieces(width):
    """The powers of two whose sum is a number of lanes, and where each begins: LLVM cuts other long vectors badly.

    Rows of 96 or 100 floats took 1.3 to 2.5 times as long by ``<96 x float>`` and ``<100 x float>``. Shuffles and
    masked loads take no vectors in pieces.
    """
    if width <= SMALL:
        yield 0, width
        return
    at = 0
    for bit in reversed(range(width.bit_length())):
        if width >> bit & 1:
            yield at, 1 << bit
            at += 1 << bit


def _vector_type(lane, width):
    """LLVM's vector, or a structure of its pieces."""
    parts = [ir.VectorType(lane, size) for _, size in pieces(width)]
    return parts[0] if len(parts) == 1 else ir.LiteralStructType(parts)


def _parts(builder, value):
    """The pieces of a vector."""
    if isinstance(value.type, ir.VectorType):
        return [value]
    return [builder.extract_value(value, k) for k in range(len(value.type.elements))]


def _joined(builder, parts):
    """A vector of pieces."""
    if len(parts) == 1:
        return parts[0]
    whole = ir.Constant(ir.LiteralStructType([part.type for part in parts]), ir.Undefined)
    for k, part in enumerate(parts):
        whole = builder.insert_value(whole, part, k)
    return whole


@register_model(Vector)
class VectorModel(models.PrimitiveModel):
    def __init__(self, manager, vector):
        lane = manager.lookup(vector.dtype).get_data_type()
        super().__init__(manager, vector, _vector_type(lane, vector.width))


def _of(array, width):
    """Vector type in which values of an array are computed."""
    return Vector(getattr(types, COMPUTE_DTYPE[str(array.dtype)]), width)


def _pointer(context, builder, array_type, array, i, j, pointee):
    made = context.make_array(array_type)(context, builder, array)
    where = [builder.sext(x, ir.IntType(64)) if x.type.width < 64 else x for x in (i, j)]
    pointer = cgutils.get_item_pointer(context, builder, array_type, made, where, wraparound=False)
    return builder.bitcast(pointer, pointee.as_pointer())


def _lane_in_memory(context, array_type):
    """LLVM type of a lane as stored in memory, float16 as its bits, and its alignment."""
    return context.get_data_type(array_type.dtype), array_type.dtype.bitwidth // 8 if array_type.aligned else 1


def _pieces_at(context, builder, array, args, width):
    """For each piece of ``array[i, j : j + width]``: its type in memory, a pointer to it, and its alignment."""
    lane, align = _lane_in_memory(context, array)
    start = _pointer(context, builder, array, *args[:3], lane)
    for at, size in pieces(width):
        kind = ir.VectorType(lane, size)
        yield kind, builder.bitcast(builder.gep(start, [ir.IntType(64)(at)]), kind.as_pointer()), align


@intrinsic(prefer_literal=True)
def load(typing, array, i, j, width):
    vector = _of(array, width.literal_value)

    def generate(context, builder, signature, args):
        lane, parts = context.get_data_type(vector.dtype), []
        for kind, pointer, align in _pieces_at(context, builder, array, args, vector.width):
            value = builder.load(pointer)
            value.align = align
            parts.append(convert(context, builder, value, ir.VectorType(lane, kind.count)))
        return _joined(builder, parts)

    return vector(array, i, j, width), generate


@intrinsic
def store(typing, array, i, j, vector):
    def generate(context, builder, signature, args):
        places = _pieces_at(context, builder, array, args, vector.width)
        for part, (kind, pointer, align) in zip(_parts(builder, args[3]), places, strict=True):
            builder.store(convert(context, builder, part, kind), pointer).align = align
        return context.get_dummy_value()

    return types.void(array, i, j, vector), generate


def _bits(lane):
    return {ir.FloatType: 32, ir.DoubleType: 64}.get(type(lane)) or lane.width


def convert(context, builder, value, target):
    """Convert lanes to another size, integers to floats, or the bits of float16 from or to floats."""
    source, lane = value.type.element, target.element
    if source == lane:
        return value
    if _bits(source) == 16:
        value = halves.widened(builder, value, converts_halves(context))
        return convert(context, builder, value, target)
    if _bits(lane) == 16:
        value = convert(context, builder, value, ir.VectorType(ir.FloatType(), target.count))
        return halves.rounded(builder, value, converts_halves(context))
    if isinstance(source, ir.IntType) and not isinstance(lane, ir.IntType):
        return builder.sitofp(value, target)
    grows = _bits(lane) > _bits(source)
    if isinstance(source, ir.IntType):
        return (builder.sext if grows else builder.trunc)(value, target)
    return (builder.fpext if grows else builder.fptrunc)(value, target)


def _first(context, builder, array, args, width, count):
    """Arguments of a masked load or store of the first ``count`` lanes."""
    lane, align = _lane_in_memory(context, array)
    memory = ir.VectorType(lane, width)
    count = builder.select(builder.icmp_signed("<", count, count.type(width)), count, count.type(width))
    small = ir.IntType(32)  # half as many registers as counts take
    lanes = ir.Constant(ir.VectorType(small, width), list(range(width)))
    there = builder.icmp_signed("<", lanes, splat(builder, builder.trunc(count, small), width))
    name = f"v{width}{'i' if isinstance(lane, ir.IntType) else 'f'}{_bits(lane)}.p0"
    return memory, _pointer(context, builder, array, *args[:3], memory), ir.IntType(32)(align), there, name


@intrinsic(prefer_literal=True)
def load_first(typing, array, i, j, width, count, rest):
    vector = _of(array, width.literal_value)

    def generate(context, builder, signature, args):
        memory, *where, name = _first(context, builder, array, args, vector.width, args[4])
        nothing = ir.Constant(memory, None)
        kind = ir.FunctionType(memory, [x.type for x in (*where, nothing)])
        call = cgutils.get_or_insert_function(builder.module, kind, f"llvm.masked.load.{name}")
        value = convert(context, builder, builder.call(call, [*where, nothing]), context.get_value_type(vector))
        other = context.cast(builder, args[5], signature.args[5], vector.dtype)
        return builder.select(where[2], value, splat(builder, other, vector.width))

    return vector(array, i, j, width, types.int64, rest), generate


@intrinsic
def store_first(typing, array, i, j, vector, count):
    def generate(context, builder, signature, args):
        memory, *where, name = _first(context, builder, array, args, vector.width, args[4])
        value = convert(context, builder, args[3], memory)
        kind = ir.FunctionType(ir.VoidType(), [x.type for x in (value, *where)])
        call = cgutils.get_or_insert_function(builder.module, kind, f"llvm.masked.store.{name}")
        builder.call(call, [value, *where])
        return context.get_dummy_value()

    return types.void(array, i, j, vector, types.int64), generate


def _equal(vector, *given):
    """Signature and code of lanes that all are the last argument."""

    def generate(context, builder, signature, args):
        lane = context.cast(builder, args[-1], signature.args[-1], vector.dtype)
        return _joined(builder, [splat(builder, lane, size) for _, size in pieces(vector.width)])

    return vector(*given), generate


@intrinsic(prefer_literal=True)
def full(typing, array, width, number):
    return _equal(_of(array, width.literal_value), array, width, number)


@intrinsic
def like(typing, vector, number):
    return _equal(vector, vector, number)


def splat(builder, lane, width):
    vector = ir.VectorType(lane.type, width)
    first = builder.insert_element(ir.Constant(vector, ir.Undefined), lane, ir.IntType(32)(0))
    return _shuffled(builder, first, ir.Constant(vector, ir.Undefined), [0] * width)


def _shuffled(builder, a, b, lanes):
    """The numbered lanes of two vectors."""
    return builder.shuffle_vector(a, b, ir.Constant(ir.VectorType(ir.IntType(32), len(lanes)), lanes))


def lanewise(rule, resized=lambda width: width):
    """Make an intrinsic of ``rule(builder, *vectors)``: vectors of one type to one of its lanes."""

    @intrinsic
    @functools.wraps(rule)  # whose parameters Numba reads
    def run(typing, *vectors):
        def generate(context, builder, signature, args):
            by_piece = zip(*(_parts(builder, arg) for arg in args), strict=True)
            return _joined(builder, [rule(builder, *parts) for parts in by_piece])

        return Vector(vectors[0].dtype, resized(vectors[0].width))(*vectors), generate

    return run


def _is_integer(x):
    return isinstance(x.type.element, ir.IntType)


def _same(of_floats, of_integers):
    """Intrinsic of two vectors of one type: one LLVM instruction."""
    return lanewise(lambda builder, x, y: getattr(builder, of_integers if _is_integer(x) else of_floats)(x, y))


@intrinsic
def rolled(typing):
    """Empty convergent instruction, which keeps LLVM from unrolling the loop around it with a remainder."""

    def generate(context, builder, signature, args):
        nothing = ir.InlineAsm(ir.FunctionType(ir.VoidType(), []), "", "", side_effect=True)
        builder.call(nothing, [], attrs=("convergent",))
        return context.get_dummy_value()

    return types.void(), generate


add, sub, mul = _same("fadd", "add"), _same("fsub", "sub"), _same("fmul", "mul")
div = _same("fdiv", "sdiv")


@lanewise
def fma(builder, a, b, c):
    if _is_integer(a):
        return builder.add(builder.mul(a, b), c)
    return builder.fadd(builder.fmul(a, b, flags=("contract",)), c, flags=("contract",))


def _extreme(order, nan_stays):
    """Larger (``>``) or smaller (``<``) lanes: one instruction per register, three if NaN propagates."""

    @lanewise
    def run(builder, x, y):
        if _is_integer(x):
            return builder.select(builder.icmp_signed(order, y, x), y, x)
        chosen = builder.select(builder.fcmp_ordered(order, y, x), y, x)
        return builder.select(builder.fcmp_unordered("uno", y, y), y, chosen) if nan_stays else chosen

    return run


maximum, minimum, larger = _extreme(">", True), _extreme("<", True), _extreme(">", False)


def _converted(vector, *given):
    """Signature and code of the last argument in a type of vectors."""

    def generate(context, builder, signature, args):
        lane = context.get_data_type(vector.dtype)
        parts = _parts(builder, args[-1])
        return _joined(
            builder, [convert(context, builder, part, ir.VectorType(lane, part.type.count)) for part in parts]
        )

    return vector(*given), generate


@intrinsic
def widen(typing, a):
    return _converted(Vector(types.float64 if isinstance(a.dtype, types.Float) else types.int64, a.width), a)


@intrinsic
def narrow(typing, array, a):
    return _converted(_of(array, a.width), array, a)


def _half(choose):
    """Intrinsic of half of the lanes: those that ``choose(width)`` numbers; a power of two, as in all shuffles."""
    return lanewise(lambda builder, x: _shuffled(builder, x, x, choose(x.type.count)), lambda width: width // 2)


low, high = _half(lambda n: [*range(n // 2)]), _half(lambda n: [*range(n // 2, n)])
evens, odds = _half(lambda n: [*range(0, n, 2)]), _half(lambda n: [*range(1, n, 2)])


def _in_turn(builder, x, y):
    width = x.type.count
    return _shuffled(builder, x, y, [k // 2 + k % 2 * width for k in range(2 * width)])


paired = lanewise(_in_turn, lambda width: 2 * width)


@intrinsic
def lane(typing, a, k):
    def generate(context, builder, signature, args):
        first = _parts(builder, args[0])[0]
        return builder.extract_element(first, builder.trunc(args[1], ir.IntType(32)))

    return a.dtype(a, k), generate
