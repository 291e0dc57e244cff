"""``prange``, whose iterations the threads share that run a kernel together.

Numba compiles a loop over its own ``prange`` a second time for threads, which takes a second. A kernel of lodkit is
compiled once: its loop runs between bounds that a thread looks up, and threads call the code that one thread calls.
"""

from __future__ import annotations

import ctypes
import functools

import llvmlite.binding
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, lower_builtin, models, register_model

from . import private_numba
from .llvm import shares
from .llvm.shares import Iterations


def _python(name, result, *args):
    """A function of CPython's thread-local storage."""
    return ctypes.PYFUNCTYPE(result, *args)((f"PyThread_tss_{name}", ctypes.pythonapi))


_key = _python("alloc", ctypes.c_void_p)()
if not _key or _python("create", ctypes.c_int, ctypes.c_void_p)(_key):
    raise MemoryError("no thread-local storage is left in this process")
_set = _python("set", ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
llvmlite.binding.add_symbol(shares.KEY, _key)


class _Share(ctypes.Structure):
    """``shares.SHARE``."""

    _fields_ = [("part", ctypes.c_int64), ("parts", ctypes.c_int64)]
    _fields_ += [("threads", ctypes.c_int64), ("launcher", ctypes.c_void_p)]


# By the number of threads. They stay, because threads hold their addresses.
_shares: dict[int, _Share] = {}

#: Let no threads share calls of kernels in this thread; in C, where no signal comes in between.
share_no_call = functools.partial(_set, _key, None)


def share_next_call(threads):
    """Let threads share the next call of a kernel in this thread; the threading layer must have started."""
    share = _shares.get(threads) or _shares.setdefault(threads, _Share(0, 1, threads, private_numba.launcher()))
    _set(_key, ctypes.addressof(share))


def prange(stop):
    """Iterations of a parallel kernel, ``range(stop)``; if threads share the call, each gets a piece of that."""
    return range(stop)


@register_model(Iterations)
class _IterationsModel(models.StructModel):
    def __init__(self, manager, kind):
        super().__init__(manager, kind, [("at", types.EphemeralPointer(types.int64)), ("last", types.int64)])


@intrinsic
def _iterations(typing, stop):
    if not isinstance(stop, types.Integer):
        raise private_numba.TypingError(f"prange takes an integer, not {stop}")
    kind = Iterations()

    def generate(context, builder, signature, args):
        iterations = context.make_helper(builder, kind)
        first, iterations.last = shares.bounds(builder, args[0])
        iterations.at = cgutils.alloca_once_value(builder, first)
        return iterations._getvalue()

    return kind(types.int64), generate


@lower_builtin("iternext", Iterations)
@private_numba.next_item
def _advance(context, builder, signature, args, result):
    iterations = context.make_helper(builder, signature.args[0], args[0])
    at = builder.load(iterations.at)
    builder.store(builder.add(at, at.type(1), flags=["nsw", "nuw"]), iterations.at)
    result.set_valid(builder.icmp_signed("<", at, iterations.last))
    result.yield_(at)


private_numba.run_instead(prange, _iterations)
