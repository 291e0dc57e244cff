"""The vector type of simd.py: its lanes in LLVM's vectors, where they lie in arrays, and their conversion."""

from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import models, register_model

from ..private_numba import converts_halves
from . import halves
from .bounds import check_lanes

#: Types that lanes are computed in, by those of the array that holds them: uint16 are the bits of float16, int16 those
#: of bfloat16. Bytes only move.
COMPUTE_DTYPE = {
    "float32": "float32",
    "float64": "float64",
    "uint16": "float32",
    "int16": "float32",
    "int32": "int64",
    "int64": "int64",
    "uint8": "int32",
}


class Vector(types.Type):
    """The Numba type of W lanes of one type."""

    def __init__(self, dtype, width):
        self.dtype, self.width = dtype, width
        super().__init__(f"Vector({dtype}, {width})")


# Up to this number of lanes are a single vector of LLVM, whatever their number.
SINGLE_VECTOR_LANES = 16
LINE_BYTES = 64  # of the cache


def pieces(width):
    """The powers of two whose sum is a number of lanes, and where each begins: LLVM cuts other long vectors badly.

    Rows of 96 or 100 floats took 1.3 to 2.5 times as long by ``<96 x float>`` and ``<100 x float>``. Shuffles and
    masked loads take no vectors in pieces.
    """
    if width <= SINGLE_VECTOR_LANES:
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


def parts_of(builder, value):
    """The pieces of a vector."""
    if isinstance(value.type, ir.VectorType):
        return [value]
    return [builder.extract_value(value, k) for k in range(len(value.type.elements))]


def join(builder, parts):
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


def vector_of(array, width):
    """Vector type in which values of an array are computed."""
    return Vector(getattr(types, COMPUTE_DTYPE[str(array.dtype)]), width)


def pointer_to(context, builder, array_type, array, i, j, pointee):
    made = context.make_array(array_type)(context, builder, array)
    where = [builder.sext(x, ir.IntType(64)) if x.type.width < 64 else x for x in (i, j)]
    pointer = cgutils.get_item_pointer(context, builder, array_type, made, where, wraparound=False)
    return builder.bitcast(pointer, pointee.as_pointer())


def lane_in_memory(context, array_type):
    """LLVM type of a lane as stored in memory, float16 as its bits, and its alignment."""
    return context.get_data_type(array_type.dtype), array_type.dtype.bitwidth // 8 if array_type.aligned else 1


def pieces_at(context, builder, array, args, width):
    """For each piece of ``array[i, j : j + width]``: its type in memory, a pointer to it, and its alignment."""
    lane, align = lane_in_memory(context, array)
    check_lanes(context, builder, array, args, width)
    start = pointer_to(context, builder, array, *args[:3], lane)
    for at, size in pieces(width):
        kind = ir.VectorType(lane, size)
        yield kind, builder.bitcast(builder.gep(start, [ir.IntType(64)(at)]), kind.as_pointer()), align


def lines_at(context, builder, array, args, width):
    """The same for each cache line of the pieces, which are whole where they are no multiple of one."""
    lanes = LINE_BYTES * 8 // array.dtype.bitwidth
    for kind, pointer, align in pieces_at(context, builder, array, args, width):
        size = kind.count if kind.count % lanes else lanes
        line = ir.VectorType(kind.element, size)
        start = builder.bitcast(pointer, line.as_pointer())
        for k in range(kind.count // size):
            yield line, builder.gep(start, [ir.IntType(64)(k)]), align


def join_lanes(builder, parts, width):
    """Take as many of the parts, each of a power of two of lanes, as make a vector of ``width``."""
    taken, lanes = [], 0
    while lanes < width:
        taken.append(parts.pop(0))
        lanes += taken[-1].type.count
    while len(taken) > 1:
        both = range(2 * taken[0].type.count)
        taken = [shuffle(builder, *taken[k : k + 2], [*both]) for k in range(0, len(taken), 2)]
    return taken[0]


def bits_of(lane):
    return {ir.FloatType: 32, ir.DoubleType: 64}.get(type(lane)) or lane.width


def convert(context, builder, value, target):
    """Convert lanes to another size, integers to floats, or the bits of float16 from or to floats."""
    source, lane = value.type.element, target.element
    if source == lane:
        return value
    if bits_of(source) == 16:
        value = halves.widen_halves(builder, value, converts_halves(context))
        return convert(context, builder, value, target)
    if bits_of(lane) == 16:
        value = convert(context, builder, value, ir.VectorType(ir.FloatType(), target.count))
        return halves.round_to_halves(builder, value, converts_halves(context))
    if isinstance(source, ir.IntType) and not isinstance(lane, ir.IntType):
        return builder.sitofp(value, target)
    grows = bits_of(lane) > bits_of(source)
    if isinstance(source, ir.IntType):
        return (builder.sext if grows else builder.trunc)(value, target)
    return (builder.fpext if grows else builder.fptrunc)(value, target)


def read_lanes(context, builder, value, dtype, target):
    """Convert lanes that lie in an array of a type to those that they are computed in."""
    if dtype == types.int16:
        value = halves.widen_bfloats(builder, value)
    return convert(context, builder, value, target)


def round_lanes(context, builder, value, dtype, target):
    """Convert lanes to those that lie in an array of a type, rounded."""
    if dtype != types.int16:
        return convert(context, builder, value, target)
    value = convert(context, builder, value, ir.VectorType(ir.FloatType(), target.count))
    return halves.round_to_bfloats(builder, value)


def splat(builder, lane, width):
    vector = ir.VectorType(lane.type, width)
    first = builder.insert_element(ir.Constant(vector, ir.Undefined), lane, ir.IntType(32)(0))
    return shuffle(builder, first, ir.Constant(vector, ir.Undefined), [0] * width)


def shuffle(builder, a, b, lanes):
    """The numbered lanes of two vectors."""
    return builder.shuffle_vector(a, b, ir.Constant(ir.VectorType(ir.IntType(32), len(lanes)), lanes))
