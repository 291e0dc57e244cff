"""Operators and the choice of a kernel per call (OpWithKernel::Run of the SelectedRows design).

An operator is its definition: a function whose positional-only parameters are inputs, annotated with their kinds, and
whose keyword-only parameters are attributes. A kernel is registered under (device, kinds of the inputs that may be of
several kinds), read from its annotations.
"""

from __future__ import annotations

import functools
import inspect
import operator
from collections.abc import Callable, Iterator
from typing import Any, Concatenate, Generic, ParamSpec, Self, TypeVar, overload

import numpy as np

from ..arrays import checker, one_device
from ..arrays.recorded import RecordedArray
from ..arrays.tensors import is_tensor
from ..base.errors import DTypeError, LodkitError, ShapeMismatchError
from ..base.tracebacks import surface
from ..lod import LoDTensor
from . import representation
from .calls import MISSING, make_call
from .catalogue import OPS
from .catalogue import Registry as Registry
from .declaring import Parts, Types, check_definition, declare_types
from .derivatives import write_rule
from .desc import VarDesc, inferred_level, is_mixture, rounded_descs, wide_descs
from .explaining import check_keywords
from .inputs import accept_inputs, check_count, check_types, label_of, names_of
from .kernel import Kernel
from .kernel_table import KernelTable
from .kinds import Dense, check_whole, hints_of, kind_of, kinds_of, name_of, numbers_of, run_rows, unwrapped
from .open_tapes import Call, differentiate
from .public_call import AdaptedCall, PlainCall
from .tensors import arrays_of
from .usage import need_error, unknown_error

P = ParamSpec("P")
R = TypeVar("R", covariant=True)
T = TypeVar("T")
_Rule = TypeVar("_Rule", bound=Callable[Concatenate[Call, ...], Any])
_Infer = TypeVar("_Infer", bound=Callable[..., VarDesc | tuple[VarDesc, ...]])
_Example = TypeVar("_Example", bound=Callable[[Any], Any])


class Op(KernelTable, PlainCall, Generic[P, R]):
    """One operator: callable, with ``infer``, ``select``, kernels by device and kind, and a gradient.

    Use the ``op`` decorator to make one. Each operator has a class of its own, whose ``__call__`` has the signature of
    the definition.
    """

    def __new__(cls, *args, **kinds):
        """Make an object of a class of its own."""
        return super().__new__(type(cls.__name__, (cls,), {"__doc__": cls.__doc__, "__module__": cls.__module__}))

    def __init__(
        self,
        definition: Callable[P, R],
        rowwise: bool | tuple[str, ...] = False,
        updates: bool | tuple[str, ...] = False,
        like: str | tuple[str, ...] | None = None,
        types: Types = None,
        parts: Parts = None,
    ) -> None:
        functools.update_wrapper(self, definition)
        self.definition, self.name, self.family = definition, definition.__name__, definition.__module__.split(".")[-1]
        self.signature = self.__signature__ = representation.unquoted(inspect.signature(definition))
        hints = hints_of(definition)
        parameters = self.signature.parameters.values()
        positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.VAR_POSITIONAL)]
        self.inputs = {p.name: kinds_of(hints.get(p.name, Dense)) for p in positional}
        self.rowwise = frozenset(self.inputs if rowwise is True else rowwise or ())
        self.updates = frozenset([*self.inputs][:1] if updates is True else updates or ())
        self.types, self._parts = declare_types(self.name, [*self.inputs], types, parts), parts
        self._updated = tuple(i for i, name in enumerate(self.inputs) if name in self.updates)
        self.variadic = any(p.kind is p.VAR_POSITIONAL for p in positional)
        self.required = sum(p.default is p.empty and p.kind is p.POSITIONAL_ONLY for p in positional)
        keywords = [p for p in parameters if p.kind is p.KEYWORD_ONLY]
        self.defaults = {p.name: p.default for p in keywords if p.default is not p.empty}
        self._needed = [p.name for p in keywords if p.default is p.empty]
        self._checks = {p.name: checker(hints.get(p.name), p.name, self.name) for p in keywords}
        self._attributes = tuple((name, self.defaults.get(name, MISSING)) for name in self._checks)
        self._tests = {name: check.test for name, check in self._checks.items()}
        self._varying = [i for i, kinds in enumerate(self.inputs.values()) if len(kinds - {type(None)}) > 1]
        self.kernels, self._few, self._own, self._plans, self._shared, self._loaded = {}, {}, set(), {}, [], set()
        self.gradient_rule, self.reads_outputs, self.example_function = None, False, None
        self.takes_bfloat16 = self.keeps_bfloat16 = False
        names = like if isinstance(like, tuple) else (like,) if like else self.updates
        if unknown := [name for name in names if name not in self.inputs]:
            raise TypeError(f"{self.name}: like= or updates= names {unknown[0]!r}, inputs are {', '.join(self.inputs)}")
        several = isinstance(like, tuple)
        self.infer_function = self._like(names, several, several or hints.get("return") is Dense)

    @overload
    def __call__(self, *inputs: P.args, **attrs: P.kwargs) -> R: ...
    @overload
    def __call__(self, *inputs: Any, out: Any, **attrs: Any) -> R: ...
    @surface
    def __call__(self, *inputs, **attrs):
        """Run the kernel for the device and the kinds of the inputs: the first call makes the function that does."""
        type(self).__call__ = self._call  # type: ignore[method-assign]
        return self(*inputs, **attrs)

    @functools.cached_property
    def _call(self):
        return make_call(self)

    @surface
    def select(self, *inputs: Any) -> Kernel:
        """Return the kernel for these inputs: its device, kinds, and the file and line of its launcher and loops."""
        return self._select(inputs, {})[0]

    def _select(self, inputs, attrs):
        """Return the kernel of a call without ``out``, and that for few sequences of these kinds, or None.

        Plans of calls with tensors or parameters do not ask for the latter.
        """
        plain = not any(isinstance(x, RecordedArray) or is_tensor(numbers_of(x)) for x in inputs)
        inputs = self._accept(arrays_of(self, tuple(map(unwrapped, inputs))))
        self._check_kinds(inputs)
        kernel, few = self._choose(inputs, attrs)
        if kernel.contract and not plain:
            kernel = self._find(kernel.device, kernel.key)
        return kernel.with_inputs(inputs), few

    @surface
    def explain(self, *inputs: Any, out: Any = None, **attrs: Any) -> Any:
        """Say what a call would do: its kernel, why it was chosen, its loops, what is converted. Nothing runs.

        Parameters
        ----------
        *inputs, out, **attrs
            As of a call; nothing is written to ``out``.

        Returns
        -------
        Explanation
            Text in a shell, a table in Jupyter; ``kernel`` and ``loops``, with ``asm()`` and ``llvm()`` of each.
        """
        from .explanation import explain_plan

        attrs = check_keywords(self, attrs)
        taken, attrs = self.taken(inputs, attrs)
        self._check_attrs(attrs)
        self._check_needed(attrs)
        kernel, few = self._select(taken, attrs)
        if out is not None and kernel.contract:
            kernel = self._find(kernel.device, kernel.key).with_inputs(kernel.inputs)
        return explain_plan(self, taken, kernel.inputs, kernel, attrs, few)

    @surface
    def infer(self, *descs: VarDesc | None, **attrs: Any) -> VarDesc | Any:
        """Return the VarDesc (or a tuple of them) of the result, from those of the inputs."""
        if self.infer_function is None:
            raise LodkitError(f"{self.name} has no rule for infer; give it one by @{self.name}.infer_rule, or like=")
        attrs = check_keywords(self, attrs)
        check_count(self, descs)
        self._check_attrs(attrs)
        for name, d in zip(self._names(descs), descs, strict=True):
            if not (isinstance(d, VarDesc) or (d is None and type(None) in self.inputs[name])):
                raise TypeError(f"{self.name}.infer: {name} must be a VarDesc, got {type(d).__name__}; VarDesc.of(...)")
        self._check_needed(attrs)
        check_types(self, descs, attrs)
        result = self._inferred(descs, attrs)
        rows = (d for name, d in zip(self.inputs, descs, strict=False) if name in self.rowwise and d is not None)
        like = max(rows, key=operator.attrgetter("lod_level"), default=None)
        if like is not None and like.lod_level:
            many = isinstance(result, tuple)
            kept = {"lod_level": like.lod_level, "sequences": like.sequences}
            result = tuple(r.but(**kept) for r in (result if many else (result,)))
            result = result if many else result[0]
        return result

    def _inferred(self, descs, attrs):
        try:
            # A call with bfloat16 beside wider numbers is one on copies in float32; an update steps in its own type.
            if is_mixture(descs) and not (self.updates or self.keeps_bfloat16):
                descs = wide_descs(descs)
            return self.infer_function(*descs, **attrs)
        except DTypeError:
            wide = wide_descs(descs)
            if wide is None:
                raise
            return rounded_descs(self.infer_function(*wide, **attrs), descs)
        except LodkitError:
            raise
        except IndexError as error:  # of dims[1], and the like
            pairs = zip(self._names(descs), descs, strict=True)
            given = ", ".join(f"{name} {d.dims}" for name, d in pairs if d is not None)
            raise ShapeMismatchError(f"{self.name}.infer: a description has too few dimensions: {given}") from error

    def _like(self, names, several, dense):
        """Make the rule of ``infer`` of an operator whose results are like some inputs, or one that is no LoDTensor."""

        def infer(*descs, **attrs):
            bound = self.signature.bind(*descs, **attrs)
            bound.apply_defaults()
            given = self._names(descs) if several else self.inputs
            found = [d for name, d in zip(given, descs, strict=False) if name in names and d is not None]
            if "level" in attrs or "level" in self.defaults:
                level = bound.arguments["level"]
                inferred_level((found if several else descs)[0], -1 if level is None else level)
            found = tuple(d.but(lod_level=0) if dense else d for d in found)
            return found[0] if len(found) == 1 and not several else found

        return infer if names else None

    def infer_rule(self, function: _Infer) -> _Infer:
        """Register the rule of ``infer``."""
        self.infer_function = function
        return function

    @overload
    def gradient(self, function: _Rule, /) -> _Rule: ...
    @overload
    def gradient(self, /, *, reads_outputs: bool) -> Callable[[_Rule], _Rule]: ...
    def gradient(self, function: Any = None, /, *, reads_outputs: bool = False) -> Any:
        """Register ``rule(call, *output_gradients) -> gradients of the inputs`` (see ``lodkit.registry.Call``).

        Results are kept for ``call.outputs`` in PyTorch, too, where the rule ``reads_outputs``.
        """
        if function is None:
            return functools.partial(self.gradient, reads_outputs=reads_outputs)
        self.gradient_rule, self.reads_outputs = function, reads_outputs
        return function

    def example(self, function: _Example) -> _Example:
        """Register ``example(dtype) -> [(inputs, attrs), ...]``: tiny calls, for ``warmup``. Gradients need none."""
        self.example_function = function
        return function

    def warmup_calls(self, dtype: Any) -> Iterator[Callable[[], Any]]:
        """Yield calls without arguments that compile this operator's kernels for ``dtype``.

        A gradient operator, X_grad or X_weights_grad, runs when the examples of X are differentiated.
        """
        if self.example_function:
            for inputs, attrs in self.example_function(np.dtype(dtype)):
                yield functools.partial(self, *inputs, **attrs)
        elif self.name.endswith("_grad"):
            forward = max((name for name in OPS if self.name.startswith(f"{name}_")), key=len)
            for call in OPS[forward].warmup_calls(dtype):
                yield functools.partial(differentiate, call)

    _accept, _names, _label = accept_inputs, names_of, label_of

    def _launcher(self, inputs):
        self._check_kinds(inputs)
        for name, x in zip(self._names(inputs), inputs, strict=True):
            check_whole(self.name, name, x)
        return self._wrap_rowwise(self._find(one_device(self.name, inputs), self._kinds_of(inputs)).launch, inputs)

    def _wrap_rowwise(self, launch, inputs):
        """Return a launcher for these inputs: a rowwise one unwraps LoDTensors."""
        if self.rowwise and any(isinstance(x, LoDTensor) for x in inputs):
            return functools.partial(run_rows, self.name, launch)
        return launch

    def _check_kinds(self, inputs):
        for name, x in zip(self._names(inputs), inputs, strict=True):
            allowed = self.inputs[name]
            rows = name in self.rowwise and isinstance(x, LoDTensor)
            if kind_of(x) not in allowed and not rows:
                even = kind_of(x) is Dense and getattr(x, "ndim", 1) == 2 and "int" in str(x.dtype)  # a row per bag
                made = f"LoDTensor.from_uniform({name})" if even else f"LoDTensor({name}, [lengths])"
                if kind_of(x) is Dense and len(getattr(x, "shape", ())) > 2:  # (sequences, rows, *item)
                    made = f"LoDTensor.from_padded({name}, lengths)"
                wrap = f" (wrap it: {made})" if LoDTensor in allowed else ""
                self._miss(one_device(self.name, inputs), f"{name}={name_of(x)}{wrap}")

    def _check_attrs(self, attrs):
        for name, value in attrs.items():
            test = self._tests.get(name)
            if test is None or not test(value):
                attrs[name] = self._settled(name, value)

    def _check_needed(self, attrs):
        if error := need_error(self, attrs):
            raise error

    def _settled(self, name, value):
        if value is MISSING:
            return value  # the slow way names all that is missing
        if name not in self._checks:
            raise unknown_error(self, name, value)
        return self._checks[name].settled(value)

    def __get__(self, instance: Any, owner: Any = None) -> Self:
        """Return the operator, which binds to no object; ``inspect`` and ``help`` take it for a function by this."""
        return self

    def __repr__(self):
        self._load_all()
        return representation.text(self)

    def _repr_html_(self):
        from .listing import operator_html

        self._load_all()
        return operator_html(self)

    def __reduce__(self):
        return operator.getitem, (OPS, self.name)


class UpdatingOp(Op[P, R]):
    """Operator that updates inputs in place, and returns them."""


class AdaptedOp(AdaptedCall, Op[P, R]):
    """Operator that users call in another way than tapes do."""


@overload
def op(
    definition: Callable[P, T],
    /,
    *,
    rowwise: bool | tuple[str, ...] = False,
    updates: bool | tuple[str, ...] = False,
    like: str | tuple[str, ...] | None = None,
    gradient_of: Op | None = None,
    types: Types = None,
    parts: Parts = None,
    takes: Callable[..., Any] | None = None,
    returns: tuple[Any, ...] | Callable[..., Any] | None = None,
) -> Op[P, T]: ...
@overload
def op(
    definition: None = None,
    /,
    *,
    rowwise: bool | tuple[str, ...] = False,
    updates: bool | tuple[str, ...] = False,
    like: str | tuple[str, ...] | None = None,
    gradient_of: Op | None = None,
    types: Types = None,
    parts: Parts = None,
    takes: Callable[..., Any] | None = None,
    returns: tuple[Any, ...] | Callable[..., Any] | None = None,
) -> Callable[[Callable[P, T]], Op[P, T]]: ...
def op(definition=None, /, *, gradient_of=None, takes=None, returns=None, **kinds):
    """Make an operator from a definition, and register it in ``lodkit.OPS``.

    Parameters
    ----------
    definition : callable
        ``def name(input: Dense | SelectedRows, /, *, attribute=...)``; its body is the meaning.
    rowwise : bool or tuple of str
        Rows are independent: a LoDTensor is unwrapped, and its structure put on the result. True for all inputs, or
        the names of some.
    updates : bool or tuple of str
        Inputs are updated in place and returned: the first one for True, or the names of some.
    like : str or tuple of str, optional
        Input whose description ``infer`` gives to the result, or one input per result. Operators that update give the
        descriptions of the inputs that they update. Arrays have no levels, whatever the input has.
    gradient_of : Op, optional
        Operator whose gradient this operator computes, by the first input. Inputs and attributes have the same names;
        ``out`` is the first result, and ``grad`` the gradient by it.
    types : TypeSet or dict of str to TypeSet, optional
        Types of numbers of the first input, or of inputs by name. ``lodkit.arrays`` has ``MOVED`` for operators that
        only move rows, ``COMPUTED``, ``FLOATING`` and ``INTEGERS``. ``check_values(dtype, name)`` goes by them.
    parts : callable, optional
        ``parts(inputs, attrs)`` names each input of an operator that takes any number of inputs, of several sorts:
        ``types`` goes by these names.
    takes : callable, optional
        ``takes(inputs, attrs)`` converts the arguments of a call to inputs and attributes of the operator.
    returns : tuple or callable, optional
        Positions of the results that a call returns, nested as it returns them, as ``(0, (1, 2))``: the others are for
        the gradient, and ``op.full`` returns all. Or ``returns(result, attrs)`` makes of the result what is returned.
    """
    if definition is None:
        return functools.partial(op, **kinds, gradient_of=gradient_of, takes=takes, returns=returns)
    check_definition(definition, OPS)
    adapted = functools.partial(AdaptedOp, takes=takes, returns=returns)  # type: ignore[arg-type]
    make = adapted if takes or returns else UpdatingOp if kinds.get("updates") else Op
    OPS[definition.__name__] = made = make(definition, **kinds)
    if gradient_of:
        gradient_of.gradient(reads_outputs="out" in made.inputs)(write_rule(gradient_of, made))
    return made


@surface
def run(name: str, *inputs: Any, **attrs: Any) -> Any:
    """Run an operator by name: ``run("sequence_pool", x, pool="max")``."""
    if not isinstance(name, str):
        what = f"the operator {name.name}; call it" if isinstance(name, Op) else f"{name!r:.80}"
        raise TypeError(f"run takes the name of an operator, got {what}")
    return OPS[name](*inputs, **attrs)
