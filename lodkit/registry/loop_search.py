"""Loops that a launcher may run: those that the code of kernels names, followed from function to function.

Nothing is called. A loop that a template makes for the types of a call is known by its code until it is made.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import types
from collections import deque
from typing import Any

from ..jit.private_numba import list_reads, options_of
from .kernel import code_of

#: Packages of lodkit whose functions prepare and launch loops.
_ROOMS = "lodkit.kernels.", "lodkit.lod."
#: Modules whose loops look for ids that are outside.
_CHECKS = "lodkit.arrays.ids", "lodkit.arrays.cuda.ids"
#: Names of what compiles a nested function.
_COMPILERS = "njit", "parallel_kernel", "jit"


@functools.lru_cache(512)
def find_loops(function, on):
    """Find the loops that a launcher may run on the device ``on``, nearest first: code -> what is compiled of it.

    The code of a kernel that a template makes for the types of a call has None.
    """
    launcher = inspect.unwrap(function)
    home = (launcher.__module__ or "").partition(".")[0]
    waiting, seen, found = deque([launcher]), {launcher}, dict[types.CodeType, Any]()
    while waiting:
        caller = waiting.popleft()
        for value in _list_all(caller, on):
            if isinstance(value, types.CodeType):
                found.setdefault(value, None)
            elif (loop := _loop_of(value, on)) is not None and _module_of(loop) not in _CHECKS:
                found.setdefault(code_of(loop), loop)
            for step in _functions_of(value):
                if step not in seen and _launches(step, home):
                    seen.add(step)
                    waiting.append(step)
                    # The loop that a template makes is as near as the template.
                    made = [x for x in _list_all(step, on) if isinstance(x, types.CodeType)]
                    found.update({code: found.get(code) for code in made})
    return found


def _loop_of(value, on):
    """The loop that a value is, that of a body for several devices, or of a function that launches one; None of others.

    Other values are not asked for members: that may run code of theirs.
    """
    if type(value).__module__.startswith("numba") and options_of(value) is not None:
        return value
    if isinstance(value, type(find_loops)):
        loop_on = vars(value).get("loop_on")
        return None if loop_on is None else loop_on(on)
    if isinstance(value, types.FunctionType):
        return value if "entry" in vars(value) else _loop_of(vars(value).get("kernel"), on)
    return None


def _module_of(loop):
    """Name of the module of a loop."""
    return getattr(loop, "py_func", loop).__module__


def _functions_of(value):
    """The functions that a value runs: itself, that within a cache or a partial function, the methods of a class."""
    if isinstance(value, type):
        return [x for each in vars(value).values() for x in _functions_of(getattr(each, "fget", None) or each)]
    if isinstance(value, functools.partial):
        return _functions_of(value.func)
    if isinstance(value, type(find_loops)):
        return _functions_of(value.__wrapped__)
    return [inspect.unwrap(value)] if isinstance(value, types.FunctionType) else []


def _launches(function, home):
    """Whether a function is of the kernels of lodkit, or of another package with a launcher."""
    module = function.__module__ or ""
    return module.startswith(_ROOMS) or (home != "lodkit" and module.partition(".")[0] == home)


def _closure(function):
    """Values of the names that a function takes from the functions around it, as far as they are set."""
    values = {}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        with contextlib.suppress(ValueError):
            values[name] = cell.cell_contents
    return values


def _member(value, name):
    """A member of a module, of lodkit's also one that is imported when it is asked for; None of other values."""
    if not isinstance(value, types.ModuleType):
        return None
    lazy = value.__name__.startswith("lodkit.")
    return getattr(value, name, None) if lazy else vars(value).get(name)


@functools.lru_cache(4096)
def _list_all(function, on):
    """List what a function names, as ``_list_named`` does."""
    return _list_named(function, function.__code__, on)


def _list_named(function, code, on):
    """List the values that code names, in order, as ``name``, ``module.name`` or ``on.name``, and what it compiles."""
    scopes = {"global": function.__globals__, "closure": _closure(function)}
    found: list[Any] = []
    last, compiles = None, False
    for kind, name in list_reads(code):
        if kind == "code":
            found += [name] if compiles else _list_named(function, name, on)
        elif kind == "attribute":
            last = _member(last, name)
        elif name == "on" and kind != "global":
            last = on
        else:
            last = scopes.get(kind, {}).get(name)
        # Between a decorator and its function stand defaults and annotations, behind both a name is set.
        compiles = kind not in ("code", "store") and (compiles or _compiles(last))
        if last is not None and kind != "code":
            found.append(last)
    return found


def _compiles(value):
    """Whether a value is a decorator that compiles: one of lodkit, or of Numba."""
    name, module = getattr(value, "__name__", None), getattr(value, "__module__", None) or ""
    return isinstance(value, types.FunctionType) and name in _COMPILERS and module.startswith(("lodkit.", "numba"))
