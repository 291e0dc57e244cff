"""Kernels as ``select`` gives them: the launcher that a call runs, and the loops that it launches."""

from __future__ import annotations

import inspect
import types

from ..base.loading import load
from ..base.tracebacks import surface


class Loop:
    """A compiled loop over the elements: a function of ``@njit``, ``parallel_kernel`` or ``@cuda.jit``.

    Attributes
    ----------
    facts : dict
        What its template chose for the arrays of a call: ``{"lanes": 16, "prefetch": "none"}``.
    origin : tuple
        Arguments of ``loop_of``, by which it is pickled: the kernel is the first.
    """

    def __init__(self, source, function, facts, origin):
        self._source, self._function, self.facts, self.origin = source, function, facts, origin

    def __reduce__(self):
        return loop_of, self.origin

    @property
    def functions(self):
        """The compiled functions; those that a template has made so far for several types, the last one last."""
        return [self._function] if self._function is not None else self._compiler.functions_of(self._source)

    @property
    def function(self):
        """What a notebook can call and inspect; ``py_func`` is its Python source. None before its template made it."""
        return next(reversed(self.functions), None)

    @property
    def name(self):
        """Name of the function, with that of the template that made it."""
        return self._source.co_qualname.replace(".<locals>", "")

    @property
    def template(self):
        """Name of the function that makes the loop for the types of a call; None for a loop that is written out."""
        return self.name.rpartition(".")[0] or None

    @property
    def place(self):
        """File and line of the function."""
        return place_of(self._source)

    @property
    def signatures(self):
        """Types of the arguments that it was compiled for in this process."""
        return [signature for _, signature in self._signed_functions]

    @property
    def entries(self):
        """Files of the cache on disk that keep the code of its signatures; None for one that is not kept."""
        return [self._compiler.entry_of(*each) for each in self._signed_functions]

    @property
    def reports(self):
        """What the compiler reported of each signature: registers, stack and spills on a GPU, nothing on the CPU."""
        return [self._compiler.report_of(*each) for each in self._signed_functions]

    @property
    def _signed_functions(self):
        return [(function, kinds) for function in self.functions for kinds in self._compiler.signatures_of(function)]

    @property
    def _compiler(self):
        """The module that knows what the device of the kernel has compiled."""
        kernel, *_ = self.origin
        return load({"cpu": "lodkit.jit.inspecting", "cuda": "lodkit.arrays.cuda.inspecting"}[kernel.device])

    @surface
    def asm(self, signature=None):
        """Return the machine code, as assembly, for a signature that it was compiled for; the last one by default.

        The assembly of a GPU is PTX.
        """
        return self._text("asm", signature)

    @surface
    def llvm(self, signature=None):
        """Return LLVM's optimised code for a signature that it was compiled for; the last one by default."""
        return self._text("llvm", signature)

    def _text(self, form, signature):
        known = self._signed_functions
        if not known:
            raise ValueError(f"{self.name}: {self._compiler.explain_absence()}")
        function, last = next((each for each in known if each[1] == signature), known[-1])
        return self._compiler.text_of(function, signature or last, form)

    def __repr__(self):
        return f"{self.name} {self.place}"


class Kernel:
    """The kernel of an operator for a device and kinds of inputs. A call of it runs it, unchecked.

    Attributes
    ----------
    device : {"cpu", "cuda"}
    kinds : dict
        Input that may be of several kinds -> the kind that this kernel is for.
    function : callable
        The launcher: it prepares arrays and launches loops.
    inputs : tuple
        Those that ``select`` was asked about.
    contract : Contract or None
        What it takes, if it is a kernel for few sequences.
    """

    def __init__(self, op, device, key, function, launch, inputs=(), contract=None):
        self.op, self.device, self.key, self.function, self.launch = op, device, key, function, launch
        self.__name__, self.__wrapped__, self.contract, self.inputs = function.__name__, function, contract, inputs

    def __reduce__(self):
        return kernel_of, (self.op, self.device, self.key, self.inputs, self.contract is not None)

    def with_inputs(self, inputs):
        """Return this kernel as the one of a call with some inputs."""
        return Kernel(self.op, self.device, self.key, self.function, self.launch, inputs, self.contract)

    def __eq__(self, other):
        return isinstance(other, Kernel) and self._facts == other._facts

    def __hash__(self):
        return hash(self._facts)

    @property
    def _facts(self):
        return self.op.name, self.device, self.key, self.function

    def __call__(self, *inputs, **attrs):
        if self.contract is None:
            return self.launch(*inputs, **attrs)
        if self.contract.find_misfit(self.op, inputs, {**self.op.defaults, **attrs}) is None:
            result = self.launch(*self.contract.unpack(inputs), **{**self.op.defaults, **attrs})
            if result is not NotImplemented:
                return result
        return self.op._find(self.device, self.op._kinds_of(inputs))(*inputs, **attrs)

    @property
    def kinds(self):
        """Kind of each input that may be of several."""
        names = [*self.op.inputs]
        return {names[i]: kind for i, kind in zip(self.op._varying, self.key, strict=False)}

    @property
    def place(self):
        """File and line of the launcher."""
        return place_of(self.function)

    @property
    def loop(self):
        """The first of ``loops`` for the selected inputs, and no attributes; None of functions of NumPy, or moves."""
        return next(iter(self.loops(*self.inputs)), None)

    @property
    def template(self):
        """Name of the template that makes ``loop`` for the types of a call; None where the loop is written out."""
        return self.loop and self.loop.template

    @property
    def chooses_loops(self):
        """Whether the template of the kernel says which loops a call launches."""
        return hasattr(self.function, "choose_loops")

    def loops(self, *inputs, **attrs):
        """Return the loops that a call launches, as its template chooses them.

        Where no template says so, those that the launcher may launch, as its code names them, the nearest first.
        """
        if self.chooses_loops:
            chosen = self._choose_loops(inputs or self.inputs, attrs)
            found = [(code_of(function), function, facts) for function, facts in chosen]
        else:
            from .loop_search import find_loops

            named = find_loops(self.function, self.device_module)
            found = [(code, function, {}) for code, function in named.items()]
        kernel = self.with_inputs(inputs) if inputs else self
        return [Loop(*each, (kernel, attrs, i)) for i, each in enumerate(found)]

    def _choose_loops(self, inputs, attrs):
        if not inputs:
            raise TypeError(f"loops depend on inputs; pass the inputs of a call, or ask {self.op.name}.select(*inputs)")
        inputs = (*inputs, *[None] * (len(self.op.inputs) - len(inputs)))
        attrs = {**dict.fromkeys(self.op._needed, 1), **self.op.defaults, **attrs}
        on = self.device_module
        return self.function.choose_loops(on, *on.views(inputs), **attrs)

    @surface
    def asm(self, signature=None):
        """Return the machine code of the first loop that is compiled, as its ``asm`` does."""
        return self._known_loop().asm(signature)

    @surface
    def llvm(self, signature=None):
        """Return LLVM's optimised code of the first loop that is compiled, as its ``llvm`` does."""
        return self._known_loop().llvm(signature)

    def _known_loop(self):
        loops = self.loops(*self.inputs)
        if not loops:
            raise ValueError(f"{self.op.name}: no loop of this kernel is known, see {self.place}")
        return next((loop for loop in loops if loop.signatures), loops[0])

    @property
    def device_module(self):
        """The module of the device, which launchers for several devices take."""
        return load(f"lodkit.kernels.{self.device}.primitives.device")

    def __repr__(self):
        kinds = ", ".join(f"{name}={kind}" for name, kind in self.kinds.items())
        loop = self.inputs and self.loop
        text = f"{self.op.name} on {self.device} ({kinds or 'any inputs'}): {self.place}"
        launches = "launches" if self.chooses_loops else "may launch"
        return f"{text}, which {launches} {loop!r}" if loop else text


def kernel_of(op, device, key, inputs, few):
    """The kernel of an operator for a device and the kinds of ``key``, as ``select`` gives it for some inputs.

    The one for few sequences, or the one for all calls of these kinds.
    """
    kernel = op._find(device, key)
    return (op._few[key] if few else kernel).with_inputs(inputs)


def loop_of(kernel, attrs, number):
    """The loop of this number that a kernel launches for its inputs and some attributes."""
    return kernel.loops(*kernel.inputs, **attrs)[number]


def code_of(function):
    """Return the code of a compiled function, of one that wraps it, or of one that ``njit`` left as it is."""
    return getattr(function, "py_func", function).__code__


def place_of(function):
    """Return the file of a function, or of code, with two folders above it, and its first line."""
    code = function if isinstance(function, types.CodeType) else inspect.unwrap(function).__code__
    where = "/".join(code.co_filename.replace("\\", "/").split("/")[-3:])
    return f"{where}:{code.co_firstlineno}"
