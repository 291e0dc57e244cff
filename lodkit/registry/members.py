"""Base of the classes that Op is made of: for type checkers, the members that each uses of the others."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..arrays import TypeSet
from .declaring import Parts
from .desc import VarDesc
from .kernel import Kernel


class Members:
    """Base of the classes that an operator is made of.

    Attributes
    ----------
    name, family : str
        Of the operator, and of the file that defines it.
    definition : callable
        What the operator means.
    signature : inspect.Signature
        Of a call.
    inputs : dict
        Kinds of values that each input may be.
    defaults : dict
        Attributes that have a default.
    types : dict
        Types of numbers that inputs take, by name.
    rowwise, updates : frozenset of str
        Inputs whose rows are independent, and those that are updated in place.
    variadic : bool
        Whether the last input may be several.
    required : int
        Number of inputs that a call needs.
    kernels : dict
        By device and kinds of inputs.
    takes_bfloat16 : bool
        Whether kernels read and write bfloat16: others get copies in float32.
    """

    name: str
    family: str
    definition: Any
    signature: inspect.Signature
    inputs: dict[str, frozenset[type]]
    defaults: dict[str, Any]
    types: dict[str, TypeSet]
    _parts: Parts
    rowwise: frozenset[str]
    updates: frozenset[str]
    variadic: bool
    required: int
    kernels: dict[tuple[str, tuple[str, ...]], Kernel]
    infer_function: Any
    gradient_rule: Any
    reads_outputs: bool
    takes_bfloat16: bool
    keeps_bfloat16: bool
    example_function: Any

    if TYPE_CHECKING:
        _plans: dict[Any, Any]
        _loaded: set[str]
        _few: dict[tuple[str, ...], Kernel]
        _own: set[tuple[str, tuple[str, ...]]]
        _shared: list[tuple[tuple[str, ...], Callable[..., Any]]]
        _varying: list[int]

        def __init__(self, definition: Any, *args: Any, **kinds: Any) -> None: ...
        def _call(self, *inputs: Any, **attrs: Any) -> Any: ...
        def select(self, *inputs: Any) -> Kernel: ...
        def infer(self, *descs: VarDesc | None, **attrs: Any) -> VarDesc | Any: ...
