"""Write the calls of all samples as a module for type checkers: what each is given, and of what type its result was."""

from __future__ import annotations

import typing

import numpy as np
from samples import SAMPLES, defined

import lodkit
from lodkit import LoDTensor, RankTable, SelectedRows
from lodkit.registry.kinds import kinds_of

HEAD = """
from typing import Any, TypeVar
import numpy as np
import lodkit
from lodkit import LoDTensor, RankTable, SelectedRows
from lodkit.typing import Array

T = TypeVar("T")

class Tensor:
    @property
    def __cuda_array_interface__(self) -> Any: ...

def a(kind: type[T]) -> T:
    raise NotImplementedError

array: Array = np.ones(3)
tensor = Tensor()
anything: Any = None
"""
KINDS = (LoDTensor, SelectedRows, RankTable)


def input_text(x, array):
    """The expression that stands for an input."""
    kind = next((kind for kind in KINDS if isinstance(x, kind)), None)
    if kind:
        return f"a({kind.__name__})"
    if isinstance(x, np.ndarray):
        return array
    return "[0.0]" if isinstance(x, list | tuple) else attribute_text(x)


def attribute_text(x):
    """The expression that stands for the value of an attribute."""
    if isinstance(x, np.generic | np.ndarray):
        return f"np.{type(x).__name__}(0)" if isinstance(x, np.generic) else "array"
    if isinstance(x, int | float | str | None):
        return "0.5" if isinstance(x, float) else repr(x)  # not inf and nan, which are no expressions
    plain = isinstance(x, list | tuple) and all(isinstance(each, int | str) for each in x)
    return repr(x) if plain else "anything"


def result_text(x, hint, array):
    """The type of a result; Any where the annotation leaves open whether it is an array of another library."""
    if isinstance(x, tuple):
        several = typing.get_args(hint)
        if several[-1:] == (Ellipsis,):
            return f"tuple[{result_text(x[0], several[0], array)}, ...]"
        hints = several if len(several) == len(x) else (None,) * len(x)
        return f"tuple[{', '.join(result_text(*pair, array) for pair in zip(x, hints, strict=True))}]"
    if array == "Tensor" and (hint is None or len(kinds_of(hint)) > 1):
        return "Any"
    return next((kind.__name__ for kind in KINDS if isinstance(x, kind)), array)


def module_text():
    """The module; of calls that are alike to a checker it has one."""
    calls = {}
    for name, samples in SAMPLES.items():
        op = lodkit.OPS[name]
        hint = typing.get_type_hints(op.definition)["return"]
        for inputs, attrs in samples:
            result = defined(op, inputs, attrs)
            given = [f"{k}={attribute_text(v)}" for k, v in attrs.items()]
            for array, kind in (("array", "Array"), ("tensor", "Tensor")):
                texts = [input_text(x, array) for x in inputs]
                if kind == "Array" or array in texts:
                    calls[f"lodkit.{name}({', '.join([*texts, *given])})"] = result_text(result, hint, kind)
    lines = (f"r{i}: {kind} = {call}\n" for i, (call, kind) in enumerate(calls.items()))
    return HEAD + "".join(lines)
