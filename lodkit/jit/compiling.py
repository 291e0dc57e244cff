"""Compile CPU kernels: Numba's flags, and kernels whose iterations threads share."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import operator
import weakref

import numba
from numba import config

from ..base.garbage import uncollected
from ..base.signals import uninterrupted
from . import private_numba
from .cache import DiskCache
from .fingerprint import jitables
from .private_lowering import NumberCompiler, SharedCompiler
from .threading_layer import run
from .tuning import FIRST_LEVEL, tuning


@dataclasses.dataclass
class Settings:
    """Sizes, read at every call: a SimpleNamespace takes 20 ns to read a name, and this 5.

    Attributes
    ----------
    parallel_from : int
        Number of elements from which kernels run in parallel.
    chunk_rows : int
        Rows per step of a ``prange``.
    block_rows : int
        Rows summed in the type of the values before they are added to a float64 total.
    few_rows : int
        Number of rows up to which insertion sort is used.
    first_bytes, near_bytes, mid_bytes, far_bytes : int
        What each level of the cache holds, and from where on writes pass by the caches; all but the first are those of
        the tuning.
    fetch_from : int
        Number of elements from which reductions prefetch, as with fewer it comes too late.
    """

    parallel_from: int = 1 << 16
    chunk_rows: int = 4096
    block_rows: int = 64
    few_rows: int = 64
    first_bytes: int = FIRST_LEVEL
    near_bytes: int = tuning.near_bytes
    mid_bytes: int = tuning.mid_bytes
    far_bytes: int = tuning.far_bytes
    fetch_from: int = 1 << 13


settings = Settings()

#: Dispatchers that are in use, for ``inspecting``.
dispatchers: weakref.WeakValueDictionary = weakref.WeakValueDictionary()


def njit(function=None, /, **options):
    """Compile a function at its first call, releasing the GIL, dividing as NumPy does, and cached on disk.

    Parameters
    ----------
    function : callable
        A function in Numba's subset of Python. It may be a closure over numbers and jitable functions.
    **options
        More options for ``numba.njit``.

    Returns
    -------
    callable
        The dispatcher, with ``entry(*args)``: the code for arguments of these types. It does not look at the types that
        it is called with, which takes 0.2 us for ten arguments, unless Numba checks indices (NUMBA_BOUNDSCHECK=1).
    """
    if function is None:
        return functools.partial(njit, **options)
    usual = {"nogil": True, "error_model": "numpy", "pipeline_class": NumberCompiler, **private_numba.WITHOUT_C}
    compiled = numba.njit(**{**usual, **options})(function)
    if compiled is not function:
        private_numba.set_cache(compiled, DiskCache(compiled))
        private_numba.load_extensions(compiled)
        compiled.compile = functools.partial(_compile, compiled, compiled.compile)
        dispatchers[id(compiled)] = compiled
    compiled.entry = functools.partial(_entry, compiled)
    return compiled


def _entry(compiled, *args):
    return code_for(compiled, tuple(map(numba.typeof, args)))


def code_for(compiled, kinds):
    """The code of a dispatcher for arguments of these types; the function itself where nothing is compiled."""
    if not hasattr(compiled, "compile"):
        return compiled
    code = compiled.compile(kinds)
    return functools.partial(_call_checked, code, _layouts(kinds)) if config.BOUNDSCHECK else code


def _compile(compiled, compile_types, given):
    """Compile once for writable and read-only arrays: the code is the same, and launchers check outputs.

    Ctrl-C waits: it would leave Numba's lock taken, for which other threads would wait for ever. Garbage waits: to
    look for it among what Numba makes takes a tenth of the time.
    """
    with uninterrupted(), uncollected():
        if type(given) is not tuple:
            return compile_types(given)
        kinds = tuple(map(private_numba.to_writable, given))
        entry = compile_types(kinds)
        if kinds != given:
            private_numba.share_entry(compiled, given, entry)
        return entry


def jitable(function=None, /, *, inline=False, nrt=True):
    """Let compiled code call a plain function, which stays one. Unlike a jitted function it keeps callers cacheable.

    Parameters
    ----------
    function : callable
    inline : bool
        LLVM inlines it into every caller; it might call it otherwise, and pass vectors through memory.
    nrt : bool
        False: count no references to arrays, 40 ns per call in a kernel's loop. For a function that neither makes nor
        returns an array, and calls none that does: one that is returned would be freed while it is used.
    """
    if function is None:
        return functools.partial(jitable, inline=inline, nrt=nrt)
    if not config.DISABLE_JIT and function not in jitables:
        private_numba.inline_jitable(function, inline, nrt)
        jitables[function] = f"inline={inline}, nrt={nrt}"
    return function


def parallel_kernel(function):
    """Compile a function over ``prange``, whose iterations threads share from ``settings.parallel_from`` elements on.

    Parameters
    ----------
    function : callable
        A function with one loop over ``prange``, neither within another loop nor left by ``break`` or ``return``. Each
        thread runs all of the function, with its part of the iterations: what is outside the loop takes little time,
        sets local names alone, and reads nothing that the loop writes. Any number of threads must give the same bits,
        so no sum may cross iterations. It returns nothing, a boolean or a signed integer: with threads, the largest of
        theirs.

    Returns
    -------
    callable
        ``kernel(num_elements, *args)``, with attributes ``compiled``, ``py_func``, and ``entry(*args)`` as of ``njit``.
        ``entries`` is a dictionary of such code, and ``keep_entry(key, *args)`` adds to it. The key fixes the types of
        all arguments and holds none of their numbers. A call of few elements is then::

            code = kernel.entries.get(key) or kernel.keep_entry(key, *args)
            code(*args)

        ``then(writes, num_elements, *args)`` also makes ``target[where] = value`` of each of some writes, and no
        interrupt comes between them and what the kernel writes.

    Raises
    ------
    numba.TypingError
        At the first call: the function has no loop over ``prange``, or several, or returns something else.
    """
    compiled = njit(function, pipeline_class=SharedCompiler)

    @functools.wraps(function)
    def kernel(num_elements, *args):
        return compiled(*args) if num_elements < settings.parallel_from else run(compiled, args)

    def run_if_large(writes, num_elements, *args):
        call = functools.partial(_call_and_write, compiled, writes)
        return call(*args) if num_elements < settings.parallel_from else run(call, args)

    kernel.compiled, kernel.py_func, kernel.entry, kernel.then = compiled, function, compiled.entry, run_if_large
    kernel.entries = {}
    kernel.keep_entry = functools.partial(_keep_entry, kernel)
    return kernel


def _keep_entry(kernel, key, *args):
    code = kernel.entries[key] = kernel.entry(*args)
    return code


def _layouts(kinds):
    """What compiled code takes for granted of types."""
    return [*map(_layout, kinds)]


def _layout(kind):
    if isinstance(kind, numba.types.BaseTuple):
        return _layouts(kind)
    return (kind.dtype, kind.ndim, kind.layout) if isinstance(kind, numba.types.Array) else str(kind)


def _call_checked(code, layouts, *args):
    found = _layouts(map(numba.typeof, args))
    if found != layouts:
        raise TypeError(f"code for {layouts} was called with {found}")
    return code(*args)


def _call_and_write(function, writes, *args):
    """Call compiled code, then write: in C all along, since Python lets signals in between bytecodes."""
    calls = (function, *args), *((operator.setitem, *write) for write in writes)
    result, *_ = itertools.starmap(operator.call, calls)
    return result
