"""Environment of kernels under ``simt.run``: a stand-in for ``numba.cuda``.

A thread that waits switches to the hub, the scheduler in ``simt``, with a request ``(operation, mask, value)``, and
gets its result back; for a block barrier the mask is None.
"""

from __future__ import annotations

import collections
import operator
import sys
from collections.abc import Callable
from fractions import Fraction
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
from simt_memory import Memory, SimError, fail, now, poisoned

FULL = 0xFFFFFFFF


def _dtype(kind):
    """Return the NumPy dtype of a Numba type."""
    return np.dtype(kind if isinstance(kind, type | np.dtype) else str(kind).replace("boolean", "bool"))


def _shared_array(shape, dtype, alignment=None):
    """Return shared memory: dynamic for shape 0, else one array per call site."""
    block, thread, dtype = now.block, now.thread, _dtype(dtype)
    if shape == 0:
        whole = block.dynamic.size // dtype.itemsize * dtype.itemsize
        return Memory(block.dynamic[:whole].view(dtype), "dynamic shared memory")
    # Functions of a factory share code, but their copies have their own globals, and so their own memory.
    frame = sys._getframe(1)
    site = id(frame.f_globals), id(frame.f_code), frame.f_lasti
    thread.allocated += 1
    if thread.allocated > len(block.sites):
        block.sites.append((site, shape, dtype))
    elif block.sites[thread.allocated - 1] != (site, shape, dtype):
        fail("threads of a block allocate shared arrays in differing order")
    if site not in block.shared:
        block.shared[site] = Memory(poisoned(shape, dtype), f"shared array {shape} of {dtype}")
    return block.shared[site]


def _local_array(shape, dtype, alignment=None):
    return Memory(poisoned(shape, dtype := _dtype(dtype)), f"local array {shape} of {dtype}")


def _atomic(operation):
    return lambda self, memory, index, *values: memory.update(index, operation, *values)


class _Atomic:
    add = _atomic(operator.add)
    sub = _atomic(operator.sub)
    and_ = _atomic(operator.and_)
    or_ = _atomic(operator.or_)
    xor = _atomic(operator.xor)
    # A NaN on either side keeps the old value, as in compiled code.
    max = _atomic(lambda old, new: new if new > old else old)
    min = _atomic(lambda old, new: new if new < old else old)
    exch = _atomic(lambda old, new: new)
    inc = _atomic(lambda old, top: old + 1 if old < top else 0)
    dec = _atomic(lambda old, top: old - 1 if 0 < old <= top else top)
    cas = _atomic(lambda old, expected, new: new if old == expected else old)


def _bits(number):
    """Return a number's bits as an int, their count, and its type; Python ints are int64."""
    kind = type(number) if isinstance(number, np.integer) else np.int64
    width = 8 * kind().itemsize
    return int(number) & ((1 << width) - 1), width, kind


class Operation(NamedTuple):
    """A collective operation: ``combine`` maps values to results, both dicts by thread."""

    name: str
    combine: Callable


SLEEP = Operation("nanosleep", None), None, None
EXIT = Operation("exit", None), None, None
WAITS = {"nanosleep"}  # names of functions that yield to other threads


def _operation(name, combine):
    WAITS.add(name)
    return Operation(name, combine)


def _to_all(function):
    return lambda posted: dict.fromkeys(posted, function(posted.values()))


def _barrier(name, combine):
    operation = _operation(name, _to_all(combine))
    return lambda self, vote=True: now.hub.switch((operation, None, bool(vote)))


def _meet(operation, mask, value, source=None):
    """Wait for the lanes in a mask; ``source`` is the lane to read."""
    mask, lane = int(mask) & FULL, now.thread.lane
    for required in (lane, lane if source is None else source):
        if not mask >> required & 1:
            fail(f"{operation.name}: lane {lane} needs lane {required}, which is not in its mask {mask:#x}")
    return now.hub.switch((operation, mask, value if source is None else (value, source)))


def _vote(name, combine):
    operation = _operation(name, combine)
    return lambda self, mask=FULL, value=None: _meet(operation, mask, value)


def _shuffle(name, lane_to_read):
    """Make a shuffle; the hardware uses five bits of the number, and keeps a value without such a lane."""
    operation = _operation(name, _read)

    def shuffle(self, mask, value, number):
        source = lane_to_read(now.thread.lane, int(number) & 31)
        return _meet(operation, mask, value, source if 0 <= source < 32 else now.thread.lane)

    return shuffle


def _read(posted):
    values = {thread.lane: value for thread, (value, _) in posted.items()}
    return {thread: values[source] for thread, (_, source) in posted.items()}


def _lanes(threads):
    """Return lanes as bits of an int32."""
    return np.uint32(sum(1 << thread.lane for thread in threads)).astype(np.int32)


def _ballot(posted):
    return dict.fromkeys(posted, _lanes(thread for thread, vote in posted.items() if vote))


def _match(posted):
    alike = collections.defaultdict(list)
    for thread, value in posted.items():
        alike[value].append(thread)
    masks = {value: _lanes(threads) for value, threads in alike.items()}
    return {thread: masks[value] for thread, value in posted.items()}


class Cuda:
    """The part of ``numba.cuda`` that kernels use; result types are Numba's."""

    shared, local, atomic = SimpleNamespace(array=_shared_array), SimpleNamespace(array=_local_array), _Atomic()
    warpsize = 32
    threadIdx = blockIdx = blockDim = gridDim = laneid = None

    def __getattr__(self, name):
        raise SimError(f"cuda.{name} is not emulated")

    def activemask(self):
        fail("activemask: active lanes are undefined")

    def grid(self, ndim):
        block, extent, thread = self.blockIdx, self.blockDim, self.threadIdx
        x = block.x * extent.x + thread.x
        return x if ndim == 1 else (x, block.y * extent.y + thread.y, block.z * extent.z + thread.z)[:ndim]

    def gridsize(self, ndim):
        size = tuple(map(operator.mul, self.blockDim, self.gridDim))
        return size[0] if ndim == 1 else size[:ndim]

    def threadfence(self):
        """Do nothing: writes are visible at once."""

    threadfence_block = threadfence_system = threadfence

    def nanosleep(self, nanoseconds):
        now.hub.switch(SLEEP)

    syncthreads = _barrier("syncthreads", lambda votes: None)
    syncthreads_count = _barrier("syncthreads_count", lambda votes: np.int32(sum(votes)))
    syncthreads_and = _barrier("syncthreads_and", lambda votes: np.int32(all(votes)))
    syncthreads_or = _barrier("syncthreads_or", lambda votes: np.int32(any(votes)))

    shfl_sync = _shuffle("shfl_sync", lambda lane, number: number)
    shfl_up_sync = _shuffle("shfl_up_sync", operator.sub)
    shfl_down_sync = _shuffle("shfl_down_sync", operator.add)
    shfl_xor_sync = _shuffle("shfl_xor_sync", operator.xor)
    ballot_sync = _vote("ballot_sync", _ballot)
    any_sync = _vote("any_sync", _to_all(any))
    all_sync = _vote("all_sync", _to_all(all))
    match_any_sync = _vote("match_any_sync", _match)
    syncwarp = _vote("syncwarp", _to_all(lambda votes: None))

    def lanemask_lt(self):
        return np.uint32((1 << now.thread.lane) - 1)

    def popc(self, number):
        bits, _, kind = _bits(number)
        return kind(bits.bit_count())

    def ffs(self, number):
        bits, _, _ = _bits(number)
        return np.uint32((bits & -bits).bit_length())

    def clz(self, number):
        bits, width, kind = _bits(number)
        return kind(width - bits.bit_length())

    def brev(self, number):
        bits, width, _ = _bits(number)
        width = max(width, 32)
        return (np.uint64 if width == 64 else np.uint32)(int(f"{bits:0{width}b}"[::-1], 2))

    def fma(self, a, b, c):
        """Return ``a * b + c``, rounded once."""
        rounded = a * b + c
        exact = Fraction(float(a)) * Fraction(float(b)) + Fraction(float(c)) if np.isfinite(rounded) else 0
        return type(rounded)(float(exact)) if exact else rounded

    def selp(self, condition, a, b):
        return a if condition else b


cuda = Cuda()
