"""Packed rows in CUDA kernels: float8, or codes of few bits with scale and bias behind them, which start anywhere.

Like ``vector``: pointers are not checked, and every function has a Python body, which an emulator runs.
"""

from __future__ import annotations

import functools

import numpy as np
from llvmlite import ir

from ....arrays.cuda import extending
from ....arrays.cuda import numba_types as types
from ....arrays.cuda.vector import element_pointer
from ....base.float8 import FLOAT8, round_to_bytes, widen_bytes
from ....jit.llvm.float8 import round_floats, widen_by_words
from ....jit.llvm.vectors import Vector


def load_codes(rows, at, size, bits):
    """The codes in ``size`` bytes, in order, as float32 lanes; ``at`` is a multiple of ``size``, a power of 2."""
    packed = rows.load(at, size)
    return np.array([int(byte) >> k & 2**bits - 1 for byte in packed for k in range(0, 8, bits)], np.float32)


def load_param(rows, at, bits, align):
    """The scale or bias at a byte, which is a multiple of ``align``: of float32 with 8 bits, else of float16."""
    kind = np.dtype(np.float32 if bits == 8 else np.float16)
    packed = [byte for k in range(0, kind.itemsize, align) for byte in rows.load(at + k, align)]
    return np.float32(np.array(packed, np.uint8).view(kind)[0])


def store_param(rows, at, param, bits):
    """Write a scale or bias of one lane, at any byte."""
    for k, byte in enumerate(param.astype(np.float32 if bits == 8 else np.float16).view(np.uint8)):
        rows[at + k] = byte


def load_float8(rows, at, size, name):
    """The numbers of ``size`` bytes that are float8 of a format; ``at`` is a multiple of ``size``, a power of 2."""
    return widen_bytes(np.array(rows.load(at, size), np.uint8), name)


def store_float8(rows, at, x, name):
    """Write one lane to a byte, rounded to the nearest float8 of a format."""
    rows[at] = round_to_bytes(x, name)[0]


def _bind():
    """Compile the functions above if numba-cuda is installed."""
    intrinsic, overload = extending.intrinsic, extending.overload
    i16, i32 = ir.IntType(16), ir.IntType(32)

    def read(builder, rows, at, pointee, align):
        loaded = builder.load(element_pointer(builder, rows, at, pointee))
        loaded.align = align
        loaded.set_metadata("invariant.load", builder.module.add_metadata([]))
        return loaded

    @functools.cache
    def codes_loader(size, bits):
        lanes = Vector(types.float32, size * 8 // bits)
        word = ir.IntType(8 * min(size, 4))
        each = word.width // bits

        @intrinsic
        def run(typing, rows, at):
            def generate(context, builder, signature, args):
                words = read(builder, *args, ir.VectorType(word, max(1, size // 4)), size)
                codes = ir.Constant(ir.VectorType(ir.FloatType(), lanes.width), ir.Undefined)
                for k in range(lanes.width):
                    code = builder.extract_element(words, i32(k // each))
                    code = builder.zext(code, i32) if word.width < 32 else code
                    code = builder.and_(builder.lshr(code, i32(k % each * bits)), i32(2**bits - 1))
                    codes = builder.insert_element(codes, builder.sitofp(code, ir.FloatType()), i32(k))
                return codes

            return lanes(rows, types.int64), generate

        return run

    @functools.cache
    def param_loader(bits, align):
        word = i32 if bits == 8 else i16

        @intrinsic
        def run(typing, rows, at):
            def generate(context, builder, signature, args):
                loaded = read(builder, *args, word, align)
                if word is i16:
                    return builder.fpext(builder.bitcast(loaded, ir.HalfType()), ir.FloatType())
                return builder.bitcast(loaded, ir.FloatType())

            return types.float32(rows, types.int64), generate

        return run

    @functools.cache
    def param_storer(bits):
        @intrinsic
        def run(typing, rows, at, param):
            def generate(context, builder, signature, args):
                lane = builder.extract_element(args[2], i32(0))
                lane = lane if bits == 8 else builder.fptrunc(lane, ir.HalfType())
                word = builder.bitcast(lane, i32 if bits == 8 else i16)
                builder.store(word, element_pointer(builder, *args[:2], word.type)).align = 1
                return context.get_dummy_value()

            return types.void(rows, types.int64, param), generate

        return run

    @functools.cache
    def float8_loader(size, name):
        lanes, packed = Vector(types.float32, size), ir.VectorType(ir.IntType(8), size)

        @intrinsic
        def run(typing, rows, at):
            def generate(context, builder, signature, args):
                return widen_by_words(builder, read(builder, *args, packed, size), FLOAT8[name])

            return lanes(rows, types.int64), generate

        return run

    @functools.cache
    def float8_storer(name):
        @intrinsic
        def run(typing, rows, at, x):
            def generate(context, builder, signature, args):
                packed = builder.extract_element(round_floats(builder, args[2], FLOAT8[name]), i32(0))
                builder.store(packed, element_pointer(builder, *args[:2], packed.type)).align = 1
                return context.get_dummy_value()

            return types.void(rows, types.int64, x), generate

        return run

    @overload(load_float8, prefer_literal=True)
    def _load_float8(rows, at, size, name):
        load = float8_loader(size.literal_value, name.literal_value)
        return lambda rows, at, size, name: load(rows, at)

    @overload(store_float8, prefer_literal=True)
    def _store_float8(rows, at, x, name):
        store = float8_storer(name.literal_value)
        return lambda rows, at, x, name: store(rows, at, x)

    @overload(load_codes, prefer_literal=True)
    def _load_codes(rows, at, size, bits):
        load = codes_loader(size.literal_value, bits.literal_value)
        return lambda rows, at, size, bits: load(rows, at)

    @overload(load_param, prefer_literal=True)
    def _load_param(rows, at, bits, align):
        load = param_loader(bits.literal_value, align.literal_value)
        return lambda rows, at, bits, align: load(rows, at)

    @overload(store_param, prefer_literal=True)
    def _store_param(rows, at, param, bits):
        store = param_storer(bits.literal_value)
        return lambda rows, at, param, bits: store(rows, at, param)


if extending is not None:
    _bind()
