"""With private_lowering.py all that ``lodkit.jit`` uses of Numba's internals and of CPython's bytecode.

Public, and used elsewhere, are ``numba``, ``numba.extending`` and ``numba.core.cgutils``. A release that changes
anything here fails tests/test_private_numba*.py, which name the features at stake.
"""

from __future__ import annotations

import dis
import itertools
import pickle
import threading
from types import CodeType

import numpy.ma  # noqa: F401  Numba imports it as it looks at the first array: not while a fork waits for imports
from llvmlite import ir
from llvmlite.binding import address_of_symbol, ffi
from numba import types
from numba.core import bytecode, sigutils
from numba.core.caching import NullCache as NullCache
from numba.core.callconv import RETCODE_USEREXC
from numba.core.compiler import CompileResult
from numba.core.compiler_lock import global_compiler_lock as compiler_lock
from numba.core.cpu import CPUContext
from numba.core.dispatcher import Dispatcher
from numba.core.errors import TypingError as TypingError
from numba.core.imputils import RefType, iternext_impl
from numba.core.imputils import lower_constant as lower_constant
from numba.core.runtime import rtsys
from numba.core.serialize import dumps
from numba.core.targetconfig import ConfigStack
from numba.core.typing.templates import builtin_registry, infer, infer_global, make_intrinsic_template
from numba.extending import make_attribute_wrapper as wrap_attribute
from numba.extending import register_jitable
from numba.np.ufunc import parallel

from ..base.garbage import uncollected
from .private_lowering import PartCompiler

__all__ = ["NullCache", "TypingError", "compiler_lock", "lower_constant", "next_item", "wrap_attribute"]

#: Decorator of an ``iternext`` that counts a reference to what it yields.
next_item = iternext_impl(RefType.NEW)

#: Options of a function that no C code calls: Numba would compile a wrapper for that, a seventh of a first call.
WITHOUT_C = {"no_cfunc_wrapper": True}
#: The flags that a function takes over from its caller; and "nrt", if it says nothing of its own.
INHERITED = "fastmath", "error_model"


def number_functions(numbers):
    """Number functions, and so their symbols, from an iterator."""
    bytecode.FunctionIdentity._unique_ids = numbers


def inline_jitable(function, inline, nrt):
    """Let compiled code call a plain function; inlined by LLVM, or without Numba's runtime (NRT), if asked."""
    options = {} if nrt else {"_nrt": False}
    register_jitable(forceinline=inline, pipeline_class=PartCompiler, **WITHOUT_C, **options)(function)
    template = builtin_registry.functions[-1]
    template._get_impl = _implementation
    template.taken_over = (*INHERITED, "nrt") if nrt else INHERITED


def _implementation(template, args, kws):
    """What callers compile for these types: one for all callers whose flags it takes over alike.

    Numba compares all of their flags, and would compile a function again for a caller that counts no references.
    """
    flags = ConfigStack.top_or_none()
    taken = [str(getattr(flags, name, None)) for name in template.taken_over]
    key = template.context, tuple(args), tuple(kws.items()), *taken
    return template._impl_cache.get(key) or template._build_impl(key, args, kws)


def wait_for_llvm():
    """Wait until no other thread is in LLVM, which frees what a compilation leaves without the compiler's lock."""
    with ffi.lib._lock._lock:
        pass


def renew_llvm_lock():
    """Take LLVM's lock, in a forked child, from a thread that is not here. (To hold it while a process forks could
    deadlock: a thread may free what LLVM has while it holds a lock for which another library's hook waits.)
    """
    lock = ffi.lib._lock
    # The lock is free, or held by this thread, in which a signal's handler has forked.
    if lock._lock.acquire(blocking=False):
        lock._lock.release()
    else:
        lock._lock = threading.RLock()


def launcher():
    """Address of Numba's ``parallel_for``; the threading layer must have started."""
    return address_of_symbol("numba_parallel_for")


def set_cache(dispatcher, cache):
    """Let a dispatcher load from and save to a cache, an instance of a subclass of ``NullCache``."""
    dispatcher._cache = cache


def load_extensions(dispatcher):
    """Let a dispatcher load Numba's extensions, which it does at the first call of all, while garbage waits."""
    load = dispatcher._compilation_chain_init_hook

    def load_uncollected():
        with uncollected():
            load()

    dispatcher._compilation_chain_init_hook = load_uncollected


def to_writable(kind):
    """Type of writable arrays for one of read-only arrays, in tuples too; other types as they are."""
    if type(kind) in (types.UniTuple, types.Tuple):
        return types.BaseTuple.from_types(tuple(map(to_writable, kind)))
    return kind.copy(readonly=False) if isinstance(kind, types.Array) and not kind.mutable else kind


def read_only(kind):
    """Type of read-only arrays for one of arrays."""
    return kind.copy(readonly=True)


class TrustedType(types.Array):
    """Type of read-only int64 arrays that kernels trust, and of all views of them.

    Their box copies: in memory that Python shares, a flag or PyTorch would write.
    """

    def __init__(self, dtype=types.int64, ndim=1, layout="C", aligned=True):
        super().__init__(dtype, ndim, layout, True, f"trusted array({dtype}, {ndim}d, {layout})", aligned)

    @classmethod
    def _like(cls, kind):
        return cls(kind.dtype, kind.ndim, kind.layout, kind.aligned)

    def copy(self, dtype=None, ndim=None, layout=None, readonly=None):
        made = super().copy(dtype, ndim, layout, readonly)
        new_memory = readonly is False
        return made if new_memory else self._like(made)

    def unify(self, typingctx, other):
        found = super().unify(typingctx, other)
        return found and self._like(found)

    @property
    def untrusted(self):
        """The type of other arrays of this kind."""
        return types.Array(self.dtype, self.ndim, self.layout, readonly=True, aligned=self.aligned)


def raise_with(context, builder, error, numbers, kinds):
    """Raise an error whose arguments are numbers, of these types, of the running code.

    Marked as Numba marks a raise with constant arguments: LLVM then drops a pair of counted references although the
    error leaves between them. Unmarked, the pair costs time in every loop, and an error leaves its object unfreed.
    """
    context.call_conv.set_dynamic_user_exc(builder, error, numbers, kinds)
    mark = builder.module.add_metadata([ir.IntType(1)(1)])
    builder.block.instructions[-1].set_metadata("numba_exception_output", mark)
    context.call_conv.check_try_status(builder)
    enclosing = getattr(builder, "_in_try_block", False)
    if enclosing:
        builder.branch(enclosing["target"])
    else:
        builder.ret(RETCODE_USEREXC)


def copy_pointer(builder, pointer):
    """A pointer as another value, whose references LLVM counts apart from those of the first.

    Of one value it drops the reference that a result gains with the one that an argument loses behind it, although an
    error may leave between the gain of the argument and them: each error would then keep the argument's object.
    """
    of = ir.FunctionType(pointer.type, [pointer.type])
    identity = builder.module.declare_intrinsic("llvm.strip.invariant.group", (pointer.type,), of)
    return builder.call(identity, [pointer])


def splice(function):
    """Let compiled code take a plain function's lines in place of a call, before their types are known.

    For what raises: Numba counts no reference back where an error comes out of a function that was called.
    """
    return register_jitable(inline="always")(function)


def share_entry(dispatcher, kinds, entry):
    """Let compiled code serve arguments of further types.

    A type that nobody refers to is made again with another code, so the dispatcher keeps these. Of two entries for the
    same types it finds neither, and every call would compile: threads whose first calls meet add one.
    """
    with compiler_lock:
        served = vars(dispatcher).setdefault("served_types", set())
        if kinds not in served:
            dispatcher._insert([kind._code for kind in kinds], entry, False)
            served.add(kinds)


def options_of(value):
    """Compile options of a dispatcher, of the CPU or of numba-cuda, whose class is another; None for anything else."""
    if not isinstance(value, Dispatcher):
        options = getattr(value, "targetoptions", None)
        return options if type(options) is dict else None
    return {**value.targetoptions, "pipeline_class": value._compiler.pipeline_class.__name__}


def argument_types(signature):
    """Argument types of a signature in any form."""
    return sigutils.normalize_signature(signature)[0]


def target_of(codegen):
    """Triple, CPU and features that code is generated for."""
    return codegen.magic_tuple()


def converts_halves(context):
    """True if the target converts float16 by instructions; LLVM calls functions that nothing provides otherwise."""
    if not isinstance(context, CPUContext):
        return True
    triple, _, features = target_of(context.codegen())
    return not triple.startswith(("x86_64", "i686")) or "+f16c" in features


def fuses(context):
    """True if the target multiplies and adds with one rounding; LLVM calls a function for each lane otherwise."""
    return not isinstance(context, CPUContext) or "+fma" in target_of(context.codegen())[2].split(",")


def permutes(context):
    """True if the target has the instruction that puts 16 lanes of floats in any order (AVX-512)."""
    return isinstance(context, CPUContext) and "+avx512f" in target_of(context.codegen())[2]


def is_storable(result):
    """True if compiled code holds no address of this process."""
    return not result.library.has_dynamic_globals and all(lifted.can_cache for lifted in result.lifted)


def serialise(result):
    """Compiled code as bytes, with the names that it leaves to the process."""
    module = result.library._final_module
    declared = [x.name for x in itertools.chain(module.functions, module.global_variables) if x.is_declaration]
    return dumps(([name for name in declared if not name.startswith("llvm.")], result._reduce()))


def deserialise(target_context, payload):
    """Compiled code from its bytes.

    Numba would import, before, all that it can compile, and its extensions in other packages: a tenth of a second, and
    more with SciPy, or awkward. Code needs it that calls what these define, such as BLAS; LLVM ends the process where a
    name is missing.
    """
    names, parts = pickle.loads(payload)
    rtsys.initialize(target_context)
    if not all(map(address_of_symbol, names)):
        target_context.refresh()
    return CompileResult._rebuild(target_context, *parts)


def njit_options(compiled):
    """Options of ``numba.njit`` that a dispatcher was made with."""
    options = {**compiled.targetoptions, "pipeline_class": compiled._compiler.pipeline_class}
    return {name: value for name, value in options.items() if name not in ("nopython", "boundscheck")}


def thread_count():
    """Number of threads that the calling thread may use; the threading layer must have started."""
    return parallel._get_num_threads()


def set_thread_count(n):
    """Set it, without the checks of ``numba.set_num_threads``."""
    parallel._set_num_threads(n)


#: Beginning of the names of instructions -> what they read, or that they set a name. Versions of Python have further
#: names that begin so; the last one here counts.
_READS = {
    "LOAD_GLOBAL": "global",
    "LOAD_ATTR": "attribute",
    "LOAD_METHOD": "attribute",
    "LOAD_DEREF": "closure",
    "LOAD_FAST": "local",
    "STORE_": "store",
    "STORE_FAST_LOAD_FAST": "local",
    "LOAD_CONST": "code",
}
_KINDS = {name: kind for begin, kind in _READS.items() for name in dis.opmap if name.startswith(begin)}


def list_reads(code):
    """List what code reads, in order: ``("global", "np")``, ``("attribute", "sum")``, ``("code", nested code)``.

    ``("store", "x")`` is in between where a name is set.
    """
    found = ((_KINDS.get(step.opname), step.argval) for step in dis.get_instructions(code))
    # Python 3.13 reads two local names at once: an attribute is of the second.
    found = ((kind, x[-1] if kind == "local" and type(x) is tuple else x) for kind, x in found)
    return [(kind, x) for kind, x in found if kind and (kind != "code" or isinstance(x, CodeType))]


def names_read(code):
    """Names of the globals and of the attributes that a code object reads."""
    found = list_reads(code)
    return tuple({name: None for kind, name in found if kind == wanted} for wanted in ("global", "attribute"))


def run_instead(function, intrinsic):
    """Make compiled code run an intrinsic where it calls ``function``.

    An overload would compile a function around the intrinsic for each combination of types: 40 % of a first call.
    """
    template = make_intrinsic_template(function, intrinsic._defn, intrinsic._name, prefer_literal=True)
    infer(template)
    infer_global(function, types.Function(template))
