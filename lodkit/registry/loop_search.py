"""Loops that a launcher may run: those that the code of kernels names, followed from function to function.

Nothing is called. A loop that a template makes for the types of a call is known by its code until it is made.
"""

from __future__ import annotations

import contextlib
import inspect
import types
from collections import deque
from typing import Any

from ..jit.private_numba import list_reads
from .kernel import code_of

#: Packages of lodkit whose functions prepare and launch loops.
_ROOMS = "lodkit.kernels.", "lodkit.lod."
#: Names of what compiles a nested function.
_COMPILERS = "njit", "parallel_kernel", "jit"


def find_loops(function, on):
    """Return the loops that a launcher may run on the device ``on``, nearest first: code -> what is compiled of it.

    That is None for the code of a template's kernel, which is made for the types of a call.
    """
    waiting = deque([inspect.unwrap(function)])
    home = waiting[0].__module__.partition(".")[0]
    seen, found = set(waiting), dict[types.CodeType, Any]()
    while waiting:
        caller = waiting.popleft()
        for value in _list_named(caller, caller.__code__, on):
            value = _loop_within(value, on)
            if isinstance(value, types.CodeType):
                found.setdefault(value, None)
            elif hasattr(value, "py_func") or hasattr(value, "entry"):
                found.setdefault(code_of(value), value)
            elif (value := _unwrap(value)) not in seen and _launches(value, home):
                seen.add(value)
                waiting.append(value)
                # The loop that a template makes is as near as the template.
                made = [x for x in _list_named(value, value.__code__, on) if isinstance(x, types.CodeType)]
                found.update({code: found.get(code) for code in made})
    return found


def _loop_within(value, on):
    """The loop of a body for several devices, or of a function that launches one kernel; other values as they are."""
    if hasattr(value, "loop_on"):
        return value.loop_on(on)
    kernel = vars(value).get("kernel") if isinstance(value, types.FunctionType) else None
    return value if kernel is None else kernel


def _unwrap(value):
    """Take a function out of a cache, a partial function or a wrapper; None for what is no plain function."""
    while isinstance(inner := getattr(value, "__wrapped__", getattr(value, "func", None)), types.FunctionType):
        value = inner
    return value if isinstance(value, types.FunctionType) else None


def _launches(function, home):
    """Whether a function is of the kernels of lodkit, or of another package with a launcher."""
    module = (function and function.__module__) or ""
    return module.startswith(_ROOMS) or (home != "lodkit" and module.partition(".")[0] == home)


def _closure(function):
    """Values of the names that a function takes from the functions around it, as far as they are set."""
    values = {}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        with contextlib.suppress(ValueError):
            values[name] = cell.cell_contents
    return values


def _list_named(function, code, on):
    """Values that code names, in order, as ``name``, ``module.name`` or ``on.name``, and code that it compiles."""
    scopes = {"global": function.__globals__, "closure": _closure(function)}
    last = None
    for kind, name in list_reads(code):
        if kind == "code":
            if getattr(last, "__name__", None) in _COMPILERS:
                yield name
            else:
                yield from _list_named(function, name, on)
        elif kind == "attribute":
            # Of modules alone: to ask other values for a member may run code.
            last = getattr(last, name, None) if isinstance(last, types.ModuleType) else None
            yield last
        elif kind != "global" and name == "on":
            last = on
        elif name in scopes.get(kind, ()):
            last = scopes[kind][name]
            yield last
