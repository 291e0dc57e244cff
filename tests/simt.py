"""Emulator of numba.cuda kernels: runs every thread in Python, with barriers and warps, and raises for bugs.

A kernel's function is copied to use a stand-in for ``numba.cuda`` (``simt_cuda``). Kernels without synchronisation are
called thread by thread; in others each thread is a greenlet, which yields where it waits. Between waits a thread runs
alone, so races show only through the order of threads, which a seed shuffles, and through poisoned memory. A loop that
polls another thread's write must call ``nanosleep``. Numba's typing is not emulated: arithmetic is NumPy's on typed
numbers and Python's on literals.
"""

from __future__ import annotations

import collections
import itertools
import random
import weakref
from types import CellType, CodeType, FunctionType, ModuleType, SimpleNamespace

import numpy as np
import simt_cuda
from greenlet import getcurrent, greenlet
from simt_cuda import EXIT, SLEEP, WAITS, cuda
from simt_memory import Dim3, Pointer, SimError, now, poisoned

__all__ = ["Pointer", "SimError", "run"]

ROUNDS = 1000  # of resuming every block; threads that still sleep are deadlocked


def run(kernel, grid, block, args, *, shared=0, seed=None, races=True):
    """Run a kernel with ``grid`` blocks of ``block`` threads.

    Globals and closures are frozen at the first run, as in compilation.

    Parameters
    ----------
    kernel : dispatcher or function
        Result or argument of ``cuda.jit``.
    grid, block : int or tuple of up to three
    args : sequence
        Pointers, C-contiguous arrays (which become pointers), NumPy scalars, ints (which become int64).
    shared : int
        Bytes of dynamic shared memory.
    seed : int, optional
        Shuffles blocks, warps and lanes; None leaves them in order.
    races : bool
        Raise if two blocks store different values to one element of an argument.
    """
    function, synchronises = _copied(getattr(kernel, "py_func", kernel))
    cuda.gridDim, cuda.blockDim = _extents(grid), _extents(block)
    if not all(cuda.gridDim) or not 0 < np.prod(cuda.blockDim) <= 1024:
        raise ValueError(f"{cuda.gridDim} blocks of {cuda.blockDim} threads cannot be launched")
    rng = random.Random(seed)
    order = list if seed is None else lambda items: rng.sample(items, len(items))
    now.function, now.args, now.kernel = function, _arguments(function, args, races), function.__qualname__
    now.hub, indices = getcurrent(), _indices(cuda.blockDim)
    blocks = (_Block(index, indices, shared) for index in order(_indices(cuda.gridDim)))
    try:
        with np.errstate(all="ignore"):
            (_run_greenlets if synchronises else _run_in_turn)(blocks, order)
    except Exception as error:
        if now.thread and not isinstance(error, SimError):
            error.add_note(now.where())
        raise
    finally:
        now.function = now.args = now.block = now.thread = None


def _extents(extents):
    extents = extents if isinstance(extents, tuple) else (extents,)
    return Dim3(*map(np.int64, (*extents, 1, 1)[:3]))


def _indices(extents):
    """Return all indices within extents, x fastest."""
    ranges = [[np.int64(i) for i in range(extent)] for extent in reversed(extents)]
    return [Dim3(x, y, z) for z, y, x in itertools.product(*ranges)]


def _arguments(function, args, races):
    names = function.__code__.co_varnames[: function.__code__.co_argcount]
    if len(args) != len(names):
        raise TypeError(f"{function.__qualname__} takes {len(names)} arguments ({', '.join(names)}), got {len(args)}")
    return [_argument(value, f"argument {name!r}", races) for name, value in zip(names, args, strict=True)]


def _argument(value, name, races):
    if isinstance(value, np.ndarray | Pointer):
        return (Pointer(value) if isinstance(value, np.ndarray) else value).named(name, races)
    if isinstance(value, np.generic | bool):
        return value
    if isinstance(value, int):
        return np.int64(value)
    raise TypeError(f"{name} is of {type(value).__name__}; pass a pointer, an array, an int or a NumPy scalar")


_copies = weakref.WeakKeyDictionary()


def _copied(function):
    """Return a kernel's copy that uses the stand-in, and whether its threads synchronise; cached."""
    if function not in _copies:
        made = {}
        copy = _copy(function, made)
        _copies[function] = copy, any(not WAITS.isdisjoint(_names(f.__code__)) for f in made)
    return _copies[function]


def _copy(function, made):
    """Copy a function and, where needed, its callees; ``made`` maps functions to copies."""
    scope, cells, names = {"__builtins__": function.__builtins__}, function.__closure__ or (), _names(function.__code__)
    empty = tuple(CellType() for _ in cells)
    made[function] = FunctionType(function.__code__, scope, function.__name__, function.__defaults__, empty)
    made[function].__kwdefaults__ = function.__kwdefaults__
    made[function].__qualname__ = function.__qualname__.replace("<locals>.", "")  # names a kernel with its factory
    for name in names & function.__globals__.keys():
        scope[name] = _replaced(function.__globals__[name], names, made)
    for new, old in zip(empty, cells, strict=True):
        new.cell_contents = _replaced(old.cell_contents, names, made)
    return made[function]


def _replaced(value, names, made):
    """Return the replacement of a referenced value; in modules, of the attributes in ``names``."""
    if _is_cuda(value):
        return cuda
    if isinstance(value, ModuleType):
        needed = {name: used for name, used in vars(value).items() if name in names and _needs_copy(used, set())}
        needed = {name: _replaced(used, names, made) for name, used in needed.items()}
        return SimpleNamespace(**{**vars(value), **needed}) if needed else value
    if not _needs_copy(value, set()):
        return value
    function = getattr(value, "py_func", value)
    return made.get(function) or _copy(function, made)


def _needs_copy(value, seen):
    """Return whether this is numba.cuda, a compiled function, or a function that refers to one."""
    if _is_cuda(value) or isinstance(getattr(value, "py_func", None), FunctionType):
        return True
    if not isinstance(value, FunctionType) or value in seen:
        return False
    seen.add(value)
    return any(_needs_copy(used, seen) for used in _referred(value))


def _referred(function):
    """Return the values a function may refer to: closure, globals, and attributes of modules."""
    names, scope = _names(function.__code__), function.__globals__
    direct = [scope[name] for name in names if name in scope] + [c.cell_contents for c in function.__closure__ or ()]
    modules = [vars(value) for value in direct if isinstance(value, ModuleType)]
    return direct + [module[name] for module in modules for name in names if name in module]


def _is_cuda(value):
    return isinstance(value, ModuleType) and value.__name__ in ("numba.cuda", "numba_cuda.numba.cuda")


def _names(code):
    inner = (_names(part) for part in code.co_consts if isinstance(part, CodeType))
    return set(code.co_names).union(*inner)


class _Thread:
    """A thread: ``request`` is the operation it waits for, None if it can run, and ``result`` its result."""

    __slots__ = ("allocated", "index", "lane", "laneid", "request", "result", "worker")

    def __init__(self, index, lane):
        self.index, self.lane, self.laneid, self.allocated = index, lane, np.int64(lane), 0
        self.request = self.result = self.worker = None


class _Block:
    """A block's threads and shared memory: arrays by call site, and sites in order of calls."""

    def __init__(self, index, indices, dynamic):
        self.index, self.dynamic, self.shared, self.sites = index, poisoned(dynamic, np.uint8), {}, []
        self.threads = [_Thread(place, number % 32) for number, place in enumerate(indices)]
        self.warps = [self.threads[first : first + 32] for first in range(0, len(indices), 32)]


def _run_in_turn(blocks, order):
    """Call the function for each thread in turn."""
    function, args = now.function, now.args
    for block in blocks:
        now.block, cuda.blockIdx = block, block.index
        for warp in order(block.warps):
            for thread in order(warp):
                now.thread, cuda.threadIdx, cuda.laneid = thread, thread.index, thread.laneid
                function(*args)


_idle = collections.defaultdict(list)  # unused greenlets per hub: a new one costs ten switches


def _work(_):
    """Run threads, one after another, in a greenlet."""
    with np.errstate(all="ignore"):
        while True:
            now.function(*now.args)
            now.hub.switch(EXIT)


def _run_greenlets(blocks, order):
    """Run blocks in turn; blocks with sleeping threads resume in the next round."""
    busy = set()
    try:
        for _ in range(ROUNDS):
            blocks = [block for block in blocks if not _run_block(block, order, busy)]
            if not blocks:
                return
        _fail("some threads sleep forever")
    finally:
        for worker in busy:
            worker.throw()


def _run_block(block, order, busy):
    """Run a block until it ends (True), or until only sleeping threads are left (False)."""
    now.block, cuda.blockIdx = block, block.index
    for thread in block.threads:
        if thread.request is SLEEP:
            thread.request = None
    while True:
        for warp in order(block.warps):
            ready = [thread for thread in warp if thread.request is None]
            while ready:
                for thread in order(ready):
                    _step(thread, busy)
                ready = _exchange(warp)
        waiting = [thread for thread in block.threads if thread.request is not EXIT]
        if not waiting:
            return True
        if any(thread.request is SLEEP for thread in waiting):
            return False
        if len(waiting) < len(block.threads) or len({thread.request[0] for thread in waiting}) > 1:
            _fail("divergent barrier")
        _meet(waiting)


def _step(thread, busy):
    """Run a thread until it waits or exits."""
    if thread.worker is None:
        thread.worker = _idle[now.hub].pop() if _idle[now.hub] else greenlet(_work)
        busy.add(thread.worker)
    now.thread, cuda.threadIdx, cuda.laneid = thread, thread.index, thread.laneid
    thread.request = thread.worker.switch(thread.result)
    if thread.request is EXIT:
        busy.remove(thread.worker)
        _idle[now.hub].append(thread.worker)


def _exchange(warp):
    """Complete the warp operations that all their lanes have reached; return these lanes."""
    ready, groups = [], collections.defaultdict(list)
    for thread in warp:
        operation, mask, _ = thread.request
        if mask is not None:
            groups[operation, mask].append(thread)
    for (_, mask), threads in groups.items():
        if len(threads) == mask.bit_count():
            _meet(threads)
            ready += threads
    if groups and not ready and not any(thread.request is SLEEP for thread in warp):
        for operation, mask in groups:
            _check_mask(operation, mask, warp)
        _fail("deadlock")
    return ready


def _meet(threads):
    """Pass the results of an operation to the threads that wait for it."""
    results = threads[0].request[0].combine({thread: thread.request[2] for thread in threads})
    for thread in threads:
        thread.request, thread.result = None, results[thread]


def _check_mask(operation, mask, warp):
    for lane in range(32):
        if mask >> lane & 1 and (lane >= len(warp) or warp[lane].request is EXIT):
            _fail(f"{operation.name}: lane {lane}, which the mask {mask:#x} names, has exited")


def _fail(what):
    doing = collections.Counter(map(_doing, now.block.threads))
    counts = ", ".join(f"{count} {text}" for text, count in doing.items())
    raise SimError(f"{what}; of the threads {counts}; kernel {now.kernel!r}, block {now.block.index}")


def _doing(thread):
    if thread.request is None:
        return "can run"
    if thread.request is EXIT:
        return "have exited"
    frame = thread.worker.gr_frame
    while frame.f_globals is vars(simt_cuda):
        frame = frame.f_back
    operation, mask, _ = thread.request
    name = operation.name if mask is None else f"{operation.name}({mask:#x})"
    return f"wait at {name} in line {frame.f_lineno} of {frame.f_code.co_name}"
