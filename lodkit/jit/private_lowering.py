"""How Numba turns three kinds of functions into LLVM IR: those that compiled code alone calls, those that Python calls,
and parallel kernels, which Python calls and threads share.
"""

from __future__ import annotations

import functools

import numba
from llvmlite import ir
from numba import types
from numba._dynfunc import make_function
from numba.core.analysis import compute_cfg_from_blocks
from numba.core.callwrapper import PyCallWrapper
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.compiler_machinery import register_pass
from numba.core.errors import TypingError
from numba.core.lowering import Lower
from numba.core.typed_passes import NativeLowering

from .llvm.shares import Iterations, callee


def _pranges(described, blocks):
    """Labels of the blocks that call prange."""
    calls = [(label, call) for label, block in blocks.items() for call in block.find_exprs("call")]
    made = [(label, getattr(described.calltypes.get(call), "return_type", None)) for label, call in calls]
    return [label for label, kind in made if isinstance(kind, Iterations)]


def _check_loop(described, blocks):
    """Refuse a parallel kernel without a loop over prange, with several, with one in another loop, or with Numba's."""
    loops = _pranges(described, blocks)
    of_numba = any(getattr(kind, "typing_key", None) is numba.prange for kind in described.typemap.values())
    if of_numba or len(loops) != 1:
        found = "Numba's" if of_numba else len(loops)
        raise TypingError(f"a parallel kernel has one loop over lodkit.jit.prange, not {found}: make each a kernel")
    if any(loops[0] in loop.body for loop in compute_cfg_from_blocks(blocks).loops().values()):
        raise TypingError("a parallel kernel has its loop over prange in no other loop: call it in a loop")


def _replace_lowering(compiler, lowering):
    """Numba's steps of compilation, with another lowering."""
    pipelines = Compiler.define_pipelines(compiler)
    for pipeline in pipelines:
        pipeline.passes = [(lowering if p is NativeLowering else p, name) for p, name in pipeline.passes]
    return pipelines


class PartLibrary(JITCodeLibrary):
    """Code that is linked into other functions and never run by itself: optimised, but no machine code is made of it.

    Fewer passes as well are not worth it. Unoptimised, and without Numba's passes over single functions in kernels too,
    first calls took 0.86 of the time, but sequence_unpad 2.1 times as long, sparse sgd 1.7, topk 1.2 (znver5).
    """

    runs = False

    def _finalize_final_module(self):
        if self.runs:
            super()._finalize_final_module()
            return
        self._finalize_dynamic_globals()
        self._verify_declare_only_symbols()
        self._finalized = True


@register_pass(mutates_CFG=True, analysis_only=False)
class PartLowering(NativeLowering):
    """Numba's lowering, into a PartLibrary.

    A function that makes Python objects, to print them or of an error's numbers, does so by its environment, which is
    set with machine code of its own: such a function gets some.
    """

    _name = "part_lowering"

    def run_pass(self, state):
        state.flags.no_compile = True
        state.library = PartLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        super().run_pass(state)
        made, context = state["cr"], state.targetctx
        if _pranges(made.fndesc, state.func_ir.blocks):
            raise TypingError("only a parallel kernel loops over prange: what it calls would do a part of its work")
        # Every module declares its environment; who uses it names it again.
        state.library.runs = str(state.library._final_module).count(context.get_env_name(made.fndesc)) > 1
        if state.library.runs:
            key = context.get_executable(state.library, made.fndesc, made.env)
        else:
            key = make_function(made.fndesc.lookup_module(), state.func_id.func_name, "", 0, made.env, (state.library,))
        context.insert_user_function(key, made.fndesc, [state.library])
        # The key names the function; nobody calls it.
        state["cr"] = made._replace(cfunc=key)
        return True


class PartCompiler(Compiler):
    """Compiler of functions that only compiled code calls."""

    define_pipelines = functools.partialmethod(_replace_lowering, PartLowering)


_PLAIN = types.Number | types.Boolean | types.NoneType


def _is_plain(kind, others=()):
    """True of numbers, None and tuples of them, in which nothing of a call can be kept; and of ``others``."""
    if isinstance(kind, types.BaseTuple):
        return all(_is_plain(part, others) for part in kind)
    return isinstance(kind, _PLAIN) or isinstance(kind, others)


class NumberLower(Lower):
    """Numba's lowering of a function that Python calls; one of arrays and numbers to numbers unboxes arrays without the
    runtime.

    The caller holds the arrays, and the function can keep none: no references to them are counted. That saves 0.1 us of
    0.2 with five arrays.
    """

    def wrapper_context(self):
        taken, returned = self.fndesc.argtypes, self.fndesc.restype
        plain = _is_plain(returned) and all(_is_plain(kind, types.Array) for kind in taken)
        return self.context.subtarget(enable_nrt=False) if plain else self.context

    def create_cpython_wrapper(self, release_gil=False):
        self.wrapper_context().create_cpython_wrapper(
            self.library, self.fndesc, self.env, self.call_helper, release_gil=release_gil
        )


@register_pass(mutates_CFG=True, analysis_only=False)
class NumberLowering(NativeLowering):
    _name = "number_lowering"
    lowering_class = NumberLower


class NumberCompiler(Compiler):
    """Compiler of functions that Python calls."""

    define_pipelines = functools.partialmethod(_replace_lowering, NumberLowering)


class SharedWrapper(PyCallWrapper):
    """What Python calls: Numba's code, which unboxes the arguments, then calls what ``shares.callee`` chooses."""

    def build_wrapper(self, api, builder, *objects):
        self.builder = builder
        super().build_wrapper(api, builder, *objects)

    @property
    def func(self):
        return callee(self.builder, self.kernel)

    @func.setter
    def func(self, kernel):
        self.kernel = kernel


class SharedLower(NumberLower):
    """Numba's lowering of a kernel that threads share."""

    def create_cpython_wrapper(self, release_gil=False):
        context, described = self.context, self.fndesc
        returned = described.restype
        _check_loop(described, self.blocks)
        if not isinstance(returned, types.NoneType | types.Boolean) and not getattr(returned, "signed", False):
            raise TypingError(f"a parallel kernel returns nothing, a boolean or a signed integer, not {returned}")
        module = context.create_module("wrapper")
        kind = context.call_conv.get_function_type(returned, described.argtypes)
        kernel = ir.Function(module, kind, described.llvm_func_name)
        made = self.wrapper_context(), module, kernel, described, self.env, self.call_helper, release_gil
        SharedWrapper(*made).build()
        self.library.add_ir_module(module)


@register_pass(mutates_CFG=True, analysis_only=False)
class SharedLowering(NativeLowering):
    _name = "shared_lowering"
    lowering_class = SharedLower


class SharedCompiler(Compiler):
    """Compiler of kernels that threads share."""

    define_pipelines = functools.partialmethod(_replace_lowering, SharedLowering)
