"""LLVM side of simd.py: loads and stores, arithmetic, shuffles of lanes."""

from __future__ import annotations

import functools

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from .bounds import check_lanes
from .vectors import (
    Vector,
    bits_of,
    convert,
    join,
    join_lanes,
    lane_in_memory,
    lines_at,
    parts_of,
    pieces,
    pieces_at,
    pointer_to,
    read_lanes,
    round_lanes,
    shuffle,
    splat,
    vector_of,
)


@intrinsic(prefer_literal=True)
def load(typing, array, i, j, width):
    vector = vector_of(array, width.literal_value)

    def generate(context, builder, signature, args):
        lane, parts = context.get_data_type(vector.dtype), []
        for kind, pointer, align in pieces_at(context, builder, array, args, vector.width):
            value = builder.load(pointer)
            value.align = align
            parts.append(read_lanes(context, builder, value, array.dtype, ir.VectorType(lane, kind.count)))
        return join(builder, parts)

    return vector(array, i, j, width), generate


@intrinsic(prefer_literal=True)
def load_last_line_first(typing, array, i, j, width):
    vector = vector_of(array, width.literal_value)

    def generate(context, builder, signature, args):
        lane, found = context.get_data_type(vector.dtype), {}
        lines = [*lines_at(context, builder, array, args, vector.width)]
        for k in (len(lines) - 1, *range(len(lines) - 1)):
            if found:
                # LLVM moves no load across an instruction that may write memory.
                barrier = ir.InlineAsm(ir.FunctionType(ir.VoidType(), []), "", "~{memory}", side_effect=True)
                builder.call(barrier, [])
            kind, pointer, align = lines[k]
            value = builder.load(pointer)
            value.align = align
            found[k] = read_lanes(context, builder, value, array.dtype, ir.VectorType(lane, kind.count))
        parts = [found[k] for k in range(len(lines))]
        return join(builder, [join_lanes(builder, parts, size) for _, size in pieces(vector.width)])

    return vector(array, i, j, width), generate


@intrinsic
def store(typing, array, i, j, vector):
    def generate(context, builder, signature, args):
        places = pieces_at(context, builder, array, args, vector.width)
        for part, (kind, pointer, align) in zip(parts_of(builder, args[3]), places, strict=True):
            builder.store(round_lanes(context, builder, part, array.dtype, kind), pointer).align = align
        return context.get_dummy_value()

    return types.void(array, i, j, vector), generate


def _masked_arguments(context, builder, array, args, width, count):
    """Arguments of a masked load or store of the first ``count`` lanes."""
    lane, align = lane_in_memory(context, array)
    memory = ir.VectorType(lane, width)
    count = builder.select(builder.icmp_signed("<", count, count.type(width)), count, count.type(width))
    check_lanes(context, builder, array, args, count)
    # 32-bit lane numbers take half as many registers as counts.
    small = ir.IntType(32)
    lanes = ir.Constant(ir.VectorType(small, width), list(range(width)))
    there = builder.icmp_signed("<", lanes, splat(builder, builder.trunc(count, small), width))
    name = f"v{width}{'i' if isinstance(lane, ir.IntType) else 'f'}{bits_of(lane)}.p0"
    return memory, pointer_to(context, builder, array, *args[:3], memory), ir.IntType(32)(align), there, name


@intrinsic(prefer_literal=True)
def load_first(typing, array, i, j, width, count, rest):
    vector = vector_of(array, width.literal_value)

    def generate(context, builder, signature, args):
        memory, *where, name = _masked_arguments(context, builder, array, args, vector.width, args[4])
        nothing = ir.Constant(memory, None)
        kind = ir.FunctionType(memory, [x.type for x in (*where, nothing)])
        call = cgutils.get_or_insert_function(builder.module, kind, f"llvm.masked.load.{name}")
        value = builder.call(call, [*where, nothing])
        value = read_lanes(context, builder, value, array.dtype, context.get_value_type(vector))
        other = context.cast(builder, args[5], signature.args[5], vector.dtype)
        return builder.select(where[2], value, splat(builder, other, vector.width))

    return vector(array, i, j, width, types.int64, rest), generate


@intrinsic
def store_first(typing, array, i, j, vector, count):
    def generate(context, builder, signature, args):
        memory, *where, name = _masked_arguments(context, builder, array, args, vector.width, args[4])
        value = round_lanes(context, builder, args[3], array.dtype, memory)
        kind = ir.FunctionType(ir.VoidType(), [x.type for x in (value, *where)])
        call = cgutils.get_or_insert_function(builder.module, kind, f"llvm.masked.store.{name}")
        builder.call(call, [value, *where])
        return context.get_dummy_value()

    return types.void(array, i, j, vector, types.int64), generate


def _splat(vector, *given):
    """Signature and code of lanes that all are the last argument."""

    def generate(context, builder, signature, args):
        lane = context.cast(builder, args[-1], signature.args[-1], vector.dtype)
        return join(builder, [splat(builder, lane, size) for _, size in pieces(vector.width)])

    return vector(*given), generate


@intrinsic(prefer_literal=True)
def full(typing, array, width, number):
    return _splat(vector_of(array, width.literal_value), array, width, number)


@intrinsic
def like(typing, vector, number):
    return _splat(vector, vector, number)


def lanewise(rule, resized=lambda width: width):
    """Make an intrinsic of ``rule(builder, *vectors)``: vectors of one type to one of its lanes."""

    @intrinsic
    # Numba reads the parameters of the rule.
    @functools.wraps(rule)
    def run(typing, *vectors):
        def generate(context, builder, signature, args):
            by_piece = zip(*(parts_of(builder, arg) for arg in args), strict=True)
            return join(builder, [rule(builder, *parts) for parts in by_piece])

        return Vector(vectors[0].dtype, resized(vectors[0].width))(*vectors), generate

    return run


def _is_integer(x):
    return isinstance(x.type.element, ir.IntType)


def _instruction(of_floats, of_integers):
    """Intrinsic of two vectors of one type: one LLVM instruction."""
    return lanewise(lambda builder, x, y: getattr(builder, of_integers if _is_integer(x) else of_floats)(x, y))


@intrinsic
def keep_loop_rolled(typing):
    """Empty convergent instruction, which keeps LLVM from unrolling the loop around it with a remainder."""

    def generate(context, builder, signature, args):
        nothing = ir.InlineAsm(ir.FunctionType(ir.VoidType(), []), "", "", side_effect=True)
        builder.call(nothing, [], attrs=("convergent",))
        return context.get_dummy_value()

    return types.void(), generate


add, sub, mul = (_instruction("fadd", "add"), _instruction("fsub", "sub"), _instruction("fmul", "mul"))
div = _instruction("fdiv", "sdiv")


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


def _convert(vector, *given):
    """Signature and code of the last argument in a type of vectors."""

    def generate(context, builder, signature, args):
        lane = context.get_data_type(vector.dtype)
        parts = parts_of(builder, args[-1])
        return join(builder, [convert(context, builder, part, ir.VectorType(lane, part.type.count)) for part in parts])

    return vector(*given), generate


@intrinsic
def widen(typing, a):
    return _convert(Vector(types.float64 if isinstance(a.dtype, types.Float) else types.int64, a.width), a)


@intrinsic
def narrow(typing, array, a):
    return _convert(vector_of(array, a.width), array, a)


def _half(choose):
    """Intrinsic of half of the lanes: those that ``choose(width)`` numbers; a power of two, as in all shuffles."""
    return lanewise(lambda builder, x: shuffle(builder, x, x, choose(x.type.count)), lambda width: width // 2)


low, high = _half(lambda n: [*range(n // 2)]), _half(lambda n: [*range(n // 2, n)])
evens, odds = _half(lambda n: [*range(0, n, 2)]), _half(lambda n: [*range(1, n, 2)])


def _interleave(builder, x, y):
    width = x.type.count
    return shuffle(builder, x, y, [k // 2 + k % 2 * width for k in range(2 * width)])


paired = lanewise(_interleave, lambda width: 2 * width)


@intrinsic
def lane(typing, a, k):
    def generate(context, builder, signature, args):
        first = parts_of(builder, args[0])[0]
        return builder.extract_element(first, builder.trunc(args[1], ir.IntType(32)))

    return a.dtype(a, k), generate
