"""Kernels as ``select`` gives them: the launcher that a call runs, and the loops that it launches."""

from __future__ import annotations

import inspect

from ..base.tracebacks import surface


class Loop:
    """A compiled loop over the elements: a function of ``@njit``, ``parallel_kernel`` or ``@cuda.jit``.

    Attributes
    ----------
    function : callable
        What a notebook can call and inspect; ``py_func`` is its Python source.
    facts : dict
        What its template chose for the arrays of a call: ``{"lanes": 16, "prefetch": "none"}``.
    origin : tuple
        Arguments of ``loop_of``, by which it is pickled.
    """

    def __init__(self, function, facts, origin):
        self.function, self.facts, self.origin = function, facts, origin

    def __reduce__(self):
        return loop_of, self.origin

    @property
    def name(self):
        """Name of the function, with that of the template that made it."""
        return self._source.__qualname__.replace(".<locals>", "")

    @property
    def place(self):
        """File and line of the function."""
        return place_of(self._source)

    @property
    def _source(self):
        return getattr(self.function, "py_func", self.function)

    @property
    def signatures(self):
        """Types of the arguments that it was compiled for in this process."""
        return list(getattr(self._dispatcher, "signatures", ()))

    @property
    def entries(self):
        """Files of the cache on disk that keep the code of its signatures; None for one that is not kept."""
        from ..jit.cache import DiskCache

        cache = getattr(self._dispatcher, "_cache", None)
        return [cache.entry_of(kinds) if isinstance(cache, DiskCache) else None for kinds in self.signatures]

    @property
    def _dispatcher(self):
        return getattr(self.function, "compiled", self.function)

    @surface
    def asm(self, signature=None):
        """Return the machine code, as assembly, for a signature that it was compiled for; the last one by default."""
        return self._text("asm", signature)

    @surface
    def llvm(self, signature=None):
        """Return LLVM's optimised code for a signature that it was compiled for; the last one by default."""
        return self._text("llvm", signature)

    def _text(self, form, signature):
        if signature is None:
            if not self.signatures:
                raise ValueError(f"{self.name} is not compiled yet; call the operator once, with inputs of these types")
            signature = self.signatures[-1]
        if hasattr(self.function, "compiled"):
            from ..jit.compiling import text_of

            return text_of(self.function.compiled, signature, form)
        return getattr(self.function, f"inspect_{form}")(signature)

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
        """The first loop that a call with the selected inputs, and no attributes, launches; None if none is known."""
        return next(iter(self.loops(*self.inputs)), None)

    @property
    def chooses_loops(self):
        """Whether the template of the kernel says which loops a call launches."""
        return hasattr(self.function, "choose_loops")

    def loops(self, *inputs, **attrs):
        """Return the loops that a call launches, as its template chooses them; else those that the launcher names."""
        if self.chooses_loops:
            found = self._choose_loops(inputs or self.inputs, attrs)
        else:
            found = [(function, {}) for function in named_loops(self.function, self.device_module)]
        kernel = self.with_inputs(inputs) if inputs else self
        return [Loop(function, facts, (kernel, attrs, i)) for i, (function, facts) in enumerate(found)]

    def _choose_loops(self, inputs, attrs):
        if not inputs:
            raise TypeError(f"loops depend on inputs; pass the inputs of a call, or ask {self.op.name}.select(*inputs)")
        inputs = (*inputs, *[None] * (len(self.op.inputs) - len(inputs)))
        attrs = {**dict.fromkeys(self.op._needed, 1), **self.op.defaults, **attrs}
        on = self.device_module
        return self.function.choose_loops(on, *on.views(inputs), **attrs)

    @surface
    def asm(self, signature=None):
        """Return the machine code of ``loop``, as its ``asm`` does."""
        return self._known_loop().asm(signature)

    @surface
    def llvm(self, signature=None):
        """Return LLVM's optimised code of ``loop``, as its ``llvm`` does."""
        return self._known_loop().llvm(signature)

    def _known_loop(self):
        loop = self.loop
        if loop is None:
            raise ValueError(f"{self.op.name}: no loop of this kernel is known, see {self.place}")
        return loop

    @property
    def device_module(self):
        """The module of the device, which launchers for several devices take."""
        from ..base.loading import load

        return load(f"lodkit.kernels.{self.device}.primitives.device")

    def __repr__(self):
        kinds = ", ".join(f"{name}={kind}" for name, kind in self.kinds.items())
        loop = self.inputs and self.loop
        text = f"{self.op.name} on {self.device} ({kinds or 'any inputs'}): {self.place}"
        return f"{text}, which launches {loop!r}" if loop else text


def kernel_of(op, device, key, inputs, few):
    """The kernel of an operator for a device and the kinds of ``key``, as ``select`` gives it for some inputs.

    The one for few sequences, or the one for all calls of these kinds.
    """
    kernel = op._find(device, key)
    return (op._few[key] if few else kernel).with_inputs(inputs)


def loop_of(kernel, attrs, number):
    """The loop of this number that a kernel launches for its inputs and some attributes."""
    return kernel.loops(*kernel.inputs, **attrs)[number]


def place_of(function):
    """Return the file of a function, with two folders above it, and its first line."""
    code = inspect.unwrap(function).__code__
    where = "/".join(code.co_filename.replace("\\", "/").split("/")[-3:])
    return f"{where}:{code.co_firstlineno}"


def named_loops(function, on):
    """The loops that the code of a launcher names itself; of a body for several devices, the loop of this one."""
    names = inspect.getclosurevars(inspect.unwrap(function))
    values = {**names.globals, **names.nonlocals}.values()
    values = [value.loop_on(on) if hasattr(value, "loop_on") else value for value in values]
    return [value for value in values if hasattr(value, "py_func")]
