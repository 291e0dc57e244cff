"""LLVM side of prange.py: threads share a kernel's iterations, each by a call of the kernel's own code.

A thread that finds no share runs all iterations. Before a call that threads are to share, Python gives the calling
thread a share that says how many: the code that Python calls then calls ``launch`` in place of the kernel. That has
Numba's pool call ``part`` for each part, which gives its thread a share and calls the kernel.
"""

from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.core import cgutils

I8, I32, I64 = ir.IntType(8), ir.IntType(32), ir.IntType(64)
POINTER = I8.as_pointer()
KEY = "lodkit_share_key"  # symbol of the Py_tss_t by which a thread finds its share

#: A share: which part, of how many; how many threads are to share the next call, and Numba's ``parallel_for``.
SHARE = ir.LiteralStructType([I64, I64, I64, POINTER])
PART, PARTS, THREADS, LAUNCHER = range(4)
OF_PART, STATUS, ERROR, RESULT = range(4)  # fields of what a thread's call gets and gives


class Iterations(types.SimpleIteratorType):
    """Type of iterations. LLVM sees that none is negative, and omits what Numba does for negative indices.

    It does not see that of a ``range`` whose start it loads: a loop over erfc takes 1.1 times as long.
    """

    def __init__(self):
        super().__init__("iterations", types.int64)


def _field(builder, pointer, *numbers):
    return builder.gep(pointer, [I32(0), *map(I32, numbers)], inbounds=True)


def _load(builder, pointer, *numbers):
    return [builder.load(_field(builder, pointer, number)) for number in numbers]


def _key(module):
    return module.globals.get(KEY) or ir.GlobalVariable(module, I8, KEY)


def _share(builder):
    """Pointer to the share of the running thread; null if it has none."""
    kind = ir.FunctionType(POINTER, [POINTER])
    function = cgutils.get_or_insert_function(builder.module, kind, "PyThread_tss_get")
    return builder.bitcast(builder.call(function, [_key(builder.module)]), SHARE.as_pointer())


def _set_share(builder, share):
    kind = ir.FunctionType(I32, [POINTER, POINTER])
    function = cgutils.get_or_insert_function(builder.module, kind, "PyThread_tss_set")
    builder.call(function, [_key(builder.module), builder.bitcast(share, POINTER)])


def bounds(builder, count):
    """First iteration of the running thread, and the one behind its last: none is negative, which LLVM sees."""
    share = _share(builder)
    first, last = cgutils.alloca_once_value(builder, I64(0)), cgutils.alloca_once_value(builder, count)
    with builder.if_then(cgutils.is_not_null(builder, share), likely=False):
        part, parts = _load(builder, share, PART, PARTS)
        # Calls from inside the loop have no part in it.
        _set_share(builder, cgutils.get_null_value(POINTER))
        size = builder.udiv(builder.add(count, builder.sub(parts, I64(1))), parts)
        start = builder.and_(builder.mul(part, size), I64((1 << 63) - 1))
        stop = builder.add(start, size)
        builder.store(start, first)
        builder.store(builder.select(builder.icmp_signed("<", stop, count), stop, count), last)
    return builder.load(first), builder.load(last)


def callee(builder, kernel):
    """What to call for a kernel: ``launch`` if threads are to share the call, else the kernel."""
    share, chosen = _share(builder), cgutils.alloca_once_value(builder, kernel)
    with builder.if_then(cgutils.is_not_null(builder, share), likely=False):
        (threads,) = _load(builder, share, THREADS)
        with builder.if_then(builder.icmp_signed(">", threads, I64(1))):
            builder.store(_launch(builder.module, kernel), chosen)
    return builder.load(chosen)


def _launch(module, kernel):
    """Function of a kernel's type by which threads call it: it returns the first error, or the largest result."""
    function, builder = _cold_function(module, kernel.function_type, f"{kernel.name}.launch")
    result, error, *args = function.args
    threads, launcher = _load(builder, _share(builder), THREADS, LAUNCHER)
    _set_share(builder, cgutils.get_null_value(POINTER))
    frame = builder.alloca(ir.LiteralStructType([value.type for value in args]))
    for k, value in enumerate(args):
        builder.store(value, _field(builder, frame, k))
    each = ir.LiteralStructType([SHARE, I32, error.type.pointee, result.type.pointee])
    parts = builder.alloca(each, threads)
    with cgutils.for_range(builder, threads) as loop:
        part = builder.gep(parts, [loop.index])
        for k, value in ((PART, loop.index), (PARTS, threads), (THREADS, I64(1))):
            builder.store(value, _field(builder, part, OF_PART, k))
    address = cgutils.alloca_once_value(builder, builder.bitcast(parts, POINTER))
    count, step = (cgutils.alloca_once_value(builder, number) for number in (threads, _size_of(each)))
    pointers = [_part(module, kernel, each, frame.type), address, count, step, frame]
    pointers = [builder.bitcast(pointer, POINTER) for pointer in pointers]
    kind = ir.FunctionType(ir.VoidType(), [POINTER] * 5 + [I64] * 3)
    builder.call(builder.bitcast(launcher, kind.as_pointer()), [*pointers, I64(0), I64(1), threads])
    with cgutils.for_range(builder, threads) as loop:
        status, wrong, found = _load(builder, builder.gep(parts, [loop.index]), STATUS, ERROR, RESULT)
        with builder.if_then(cgutils.is_not_null(builder, status)):
            # Errors of other threads are not freed: half a kilobyte each.
            builder.store(wrong, error)
            builder.ret(status)
        if isinstance(found.type, ir.IntType):
            before, first = builder.load(result), builder.icmp_signed("==", loop.index, I64(0))
            larger = builder.or_(first, builder.icmp_signed(">", found, before))
            builder.store(builder.select(larger, found, before), result)
    builder.ret(I32(0))
    return function


def _part(module, kernel, each, frame):
    """Function that Numba's threads call, ``run(addresses, counts, steps, frame)``: calls the kernel for parts.

    They are ``counts[0]``, one as a rule, from ``addresses[0]`` on.
    """
    kind = ir.FunctionType(ir.VoidType(), [POINTER.as_pointer(), I64.as_pointer(), I64.as_pointer(), POINTER])
    function, builder = _cold_function(module, kind, f"{kernel.name}.part")
    first = builder.bitcast(builder.load(function.args[0]), each.as_pointer())
    args = _load(builder, builder.bitcast(function.args[3], frame), *range(len(kernel.args) - 2))
    before = _share(builder)
    with cgutils.for_range(builder, builder.load(function.args[1])) as loop:
        part = builder.gep(first, [loop.index])
        _set_share(builder, part)
        result, error, status = (_field(builder, part, k) for k in (RESULT, ERROR, STATUS))
        builder.store(builder.call(kernel, [result, error, *args], attrs=("noinline",)), status)
    _set_share(builder, before)
    builder.ret_void()
    return function


def _cold_function(module, kind, name):
    """A function that LLVM does not optimise, which would take longer than all of its calls."""
    function = ir.Function(module, kind, name)
    function.linkage = "internal"
    function.attributes.add("noinline")
    function.attributes.add("optnone")
    return function, ir.IRBuilder(function.append_basic_block("entry"))


def _size_of(kind):
    return ir.Constant(kind.as_pointer(), None).gep([I32(1)]).ptrtoint(I64)
