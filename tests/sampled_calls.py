"""Write the calls of all samples as a module for type checkers: what each is given, and of what type its result was."""

from __future__ import annotations

import typing

import numpy as np
from samples import SAMPLES, defined

import lodkit
from lodkit import LoDTensor, PackedRows, RankTable, SelectedRows
from lodkit.registry.kinds import kinds_of

STAND_IN = """
class Tensor:
    @property
    def __cuda_array_interface__(self) -> Any: ...
"""
HEAD = f"""
from typing import Any, TypeVar
import numpy as np
import lodkit
from lodkit import LoDTensor, PackedRows, RankTable, SelectedRows
from lodkit.typing import Array

T = TypeVar("T")
{STAND_IN}
def a(kind: type[T]) -> T:
    raise NotImplementedError

array: Array = np.ones(3)
tensor = Tensor()
anything: Any = None
"""
KINDS = (LoDTensor, SelectedRows, RankTable, PackedRows)


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


def result_text(x, hint, array, exact=False):
    """The type of a result; Any where the annotation leaves open whether it is an array of another library.

    Nothing is left open of those that are ``exact``.
    """
    if isinstance(x, tuple):
        several = typing.get_args(hint)
        if several[-1:] == (Ellipsis,):
            return f"tuple[{result_text(x[0], several[0], array, exact)}, ...]"
        hints = several if len(several) == len(x) else (None,) * len(x)
        return f"tuple[{', '.join(result_text(*pair, array, exact) for pair in zip(x, hints, strict=True))}]"
    if array == "Tensor" and not exact and (hint is None or len(kinds_of(hint)) > 1):
        return "Any"
    return next((kind.__name__ for kind in KINDS if isinstance(x, kind)), array)


def module_text():
    """The module; of calls that are alike to a checker it has one."""
    return written(HEAD, SAMPLES, "lodkit", {"array": "Array", "tensor": "Tensor"})


def torch_text():
    """The same of ``lodkit.interop.torch``, for tensors of PyTorch."""
    head = HEAD.replace(STAND_IN, "from torch import Tensor\nimport lodkit.interop.torch as functions\n")
    names = [name for name in SAMPLES if lodkit.OPS[name].gradient_rule]
    return written(head.replace("Tensor()", "a(Tensor)"), names, "functions", {"tensor": "Tensor"})


def written(head, names, module, arrays):
    """The calls of operators in a module, with each kind of arrays."""
    calls = {}
    for name in names:
        op = lodkit.OPS[name]
        hint = getattr(op, "result_hint", typing.get_type_hints(op.definition)["return"])
        for inputs, attrs in SAMPLES[name]:
            result = op.shown(defined(op, inputs, attrs), attrs)
            given = [f"{k}={attribute_text(v)}" for k, v in attrs.items()]
            for array, kind in arrays.items():
                texts = [input_text(x, array) for x in inputs]
                if len(arrays) == 1 or kind == "Array" or array in texts:
                    made = result_text(result, hint, kind, exact=module == "functions")
                    calls[f"{module}.{name}({', '.join([*texts, *given])})"] = made
    lines = (f"r{i}: {kind} = {call}\n" for i, (call, kind) in enumerate(calls.items()))
    return head + "".join(lines)
