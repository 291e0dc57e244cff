"""Caffe2's operators under their own names: ``lodkit.caffe2.SparseLengthsSum(data, indices, lengths)``.

Argument order and names, defaults and output order are Caffe2's; so are its conventions: optimizers add
(``w += lr * ...``, so lr is negative), duplicates are updated sequentially, float16 tables give float32.
Nothing is computed here: inputs are renamed, reordered and converted, then operators of ``lodkit.OPS`` run.
docs/differences.md lists Caffe2's bugs, which lodkit does not repeat.
"""

from __future__ import annotations

import difflib
import functools
import importlib
import inspect

from ..arrays.checks import PLAIN, is_scalar
from ..base.errors import LodkitError
from ..base.tracebacks import shorten
from ..lod.large import is_size, memory_error
from ..registry.kinds import call_on_plain, is_parameter
from ..registry.torch_arguments import call_published, contains_tensor


def _publish(name, run):
    """Wrap ``run`` under a Caffe2 name; errors show this name and Caffe2's arguments."""
    signature = inspect.signature(run)
    parameters = signature.parameters.values()
    inputs = [p for p in parameters if p.kind is not p.KEYWORD_ONLY]
    variadic = any(p.kind is p.VAR_POSITIONAL for p in inputs)
    required = [p.name for p in inputs if p.default is p.empty and p.kind is not p.VAR_POSITIONAL]
    most = float("inf") if variadic else len(inputs)
    known = {p.name for p in parameters if p.kind is p.KEYWORD_ONLY}
    needed = {p.name for p in parameters if p.kind is p.KEYWORD_ONLY and p.default is p.empty}
    numbers = {p.name for p in parameters if type(p.default) in (float, int, bool)}

    updates = run.__module__.endswith("._updates")

    @functools.wraps(run)
    def call(*given, **args):
        try:
            if not (len(required) <= len(given) <= most and needed <= args.keys() <= known):
                given, args = bound(given, args)
            for arg, x in args.items():
                if arg in numbers and not (x is None or is_scalar(x) or PLAIN[bool][0](x)):
                    raise TypeError(f"{name}: {arg} must be a number, got {x!r}; it takes {signature}")
            for i, x in enumerate(given):
                if x is None and (i < len(required) or i >= len(inputs) - variadic):
                    what = required[i] if i < len(required) else f"input {i}"
                    raise TypeError(f"{name}: {what} is None but required; it takes {signature}")
            if contains_tensor(given):
                return call_published(name, lambda given, args: run(*given, **args), given, args)
            if updates and any(map(is_parameter, given)):
                return call_on_plain(functools.partial(run, **args), given)
            return run(*given, **args)
        except Exception as error:
            shorten(error)
            if isinstance(error, LodkitError) or not is_size(error):
                raise
            names = [p.name for p in inputs if p.kind is not p.VAR_POSITIONAL]
            names += [f"input {i}" for i in range(len(names), len(given))]
            raise memory_error(name, [*args.items(), *zip(names, given, strict=False)], error) from error

    def bound(given, args):
        try:
            found = signature.bind(*given, **args)
        except TypeError as error:
            raise TypeError(f"{name}: {error}; it takes {signature}") from None
        return found.args, found.kwargs

    call.__name__ = call.__qualname__ = name
    call.__module__ = __name__  # for pickle
    call.__doc__ = run.__doc__ or f"Caffe2's {name}; arguments in Caffe2's order, under Caffe2's names."
    return call


_FAMILIES = (
    *("_conversions", "_features", "_gather_scatter", "_gradients", "_id_lists", "_padding", "_reductions"),
    *("_sparse_dense", "_updates"),
)
OPERATORS: dict = {}
for _family in _FAMILIES:
    _found = importlib.import_module(f"{__name__}.{_family}").OPERATORS
    OPERATORS |= {name: _publish(name, run) for name, run in _found.items()}


def __getattr__(name):
    if name in OPERATORS:
        return OPERATORS[name]
    near = difflib.get_close_matches(name, OPERATORS, n=3)
    hint = f"; did you mean {', '.join(near)}?" if near else ""
    raise AttributeError(f"lodkit.caffe2 has no operator {name!r}{hint}")


def __dir__():
    return sorted({*globals(), *OPERATORS})
