from collections.abc import Callable, Iterator
from inspect import Signature
from typing import Any, Concatenate, Generic, Literal, ParamSpec, TypeVar, overload

from .catalogue import OPS as OPS
from .catalogue import Registry as Registry
from .desc import VarDesc
from .open_tapes import Call

P = ParamSpec("P")
R = TypeVar("R", covariant=True)
_P = ParamSpec("_P")
_R = TypeVar("_R")
_Function = TypeVar("_Function", bound=Callable[..., Any])
_Rule = TypeVar("_Rule", bound=Callable[Concatenate[Call, ...], Any])
_Infer = TypeVar("_Infer", bound=Callable[..., VarDesc | tuple[VarDesc, ...]])
_Example = TypeVar("_Example", bound=Callable[[Any], Any])

class Op(Generic[P, R]):
    """One operator: callable, with ``infer``, ``select``, kernels by device and kind, and a gradient.

    Generic over the signature of its definition, ``Op[P, R]``. Use the ``op`` decorator to make one.
    """

    name: str
    family: str
    definition: Any
    signature: Signature
    inputs: dict[str, frozenset[type]]
    defaults: dict[str, Any]
    rowwise: frozenset[str]
    updates: frozenset[str]
    variadic: bool
    required: int
    kernels: dict[tuple[str, tuple[str, ...]], Callable[..., Any]]
    infer_function: Any
    gradient_rule: Any
    example_function: Any
    full: Any

    def __init__(
        self,
        definition: Callable[P, R],
        rowwise: bool | tuple[str, ...] = False,
        updates: bool | tuple[str, ...] = False,
        like: str | None = None,
    ) -> None: ...
    @overload
    def __call__(self, *inputs: P.args, **attrs: P.kwargs) -> R:
        """Run the kernel for the device and the kinds of the inputs."""

    @overload
    def __call__(self, *inputs: Any, out: Any, **attrs: Any) -> R:
        """The same, into ``out``, where the result is an array or a LoDTensor."""

    def select(self, *inputs: Any) -> Callable[..., Any]:
        """Return the kernel for these inputs."""

    def infer(self, *descs: VarDesc | None, **attrs: Any) -> VarDesc | Any:
        """Return the VarDesc (or a tuple of them) of the result, from those of the inputs."""

    def devices(self) -> list[str]:
        """Return the devices that have kernels, ``"cpu"`` and ``"cuda"``; no kernel is loaded to tell."""

    def kernel(self, *devices: Literal["cpu", "cuda"]) -> Callable[[_Function], _Function]:
        """Register the decorated function as the kernel for a device and its annotated kinds."""

    def infer_rule(self, function: _Infer) -> _Infer:
        """Register the rule of ``infer``."""

    def gradient(self, function: _Rule) -> _Rule:
        """Register ``rule(call, *output_gradients) -> gradients of the inputs`` (see ``lodkit.tape.tape.Call``)."""

    def example(self, function: _Example) -> _Example:
        """Register ``example(dtype) -> [(inputs, attrs), ...]``: tiny calls, for ``warmup``. Gradients need none."""

    def warmup_calls(self, dtype: Any) -> Iterator[Callable[[], Any]]:
        """Yield calls without arguments that compile this operator's kernels for ``dtype``."""

    def taken(self, inputs: tuple[Any, ...], attrs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return the inputs and attributes that the operator gets for those of a call."""

    def shown(self, results: Any, attrs: dict[str, Any]) -> Any:
        """Return what a call with these attributes returns of all results."""

class UpdatingOp(Op[P, R]):
    """Operator that updates inputs in place."""

class AdaptedOp(Op[P, R]):
    """Operator that users call in another way than tapes do."""

    result_hint: Any
    takes: Callable[..., Any] | None
    returns: tuple[Any, ...] | Callable[..., Any] | None

@overload
def op(
    definition: Callable[_P, _R],
    /,
    *,
    rowwise: bool | tuple[str, ...] = False,
    updates: bool | tuple[str, ...] = False,
    like: str | None = None,
    takes: Callable[..., Any] | None = None,
    returns: tuple[Any, ...] | Callable[..., Any] | None = None,
) -> Op[_P, _R]:
    """Make an operator from a definition, and register it in ``lodkit.OPS``."""

@overload
def op(
    definition: None = None,
    /,
    *,
    rowwise: bool | tuple[str, ...] = False,
    updates: bool | tuple[str, ...] = False,
    like: str | None = None,
    takes: Callable[..., Any] | None = None,
    returns: tuple[Any, ...] | Callable[..., Any] | None = None,
) -> Callable[[Callable[_P, _R]], Op[_P, _R]]: ...
def run(name: str, *inputs: Any, **attrs: Any) -> Any:
    """Run an operator by name: ``run("sequence_pool", x, pool="max")``."""
