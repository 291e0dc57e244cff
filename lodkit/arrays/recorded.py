"""Arrays on a tape: NumPy's functions of parameters and of results of operators are recorded, or refused.

An operator that runs while a tape is open returns a ``RecordedArray``, a view of its result; a ``Parameter`` is one
that outlives tapes. NumPy calls their methods for ufuncs, functions, indices and changes in place; ``array_gradients``
knows the gradients. Without an open tape they compute as any array does, and give plain ones; views of a parameter
stay parameters, since a tape that opens later would not see what NumPy computes of a plain view.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from .bfloat16 import is_floating
from .objects import refuse_bits

#: Set by the room tape: tapes open in this thread; recording of a call on them; a notice that an array is about to be
#: changed in place on them, and one that it was changed outside; whether one of them has seen an array; a notice that
#: another array takes the place of one; a notice that a parameter is read; lodkit.parameter, which pickles
#: name; a call of an operator that is recorded; a call and its gradients.
hooks = types.SimpleNamespace(
    open_tapes=tuple,
    record=None,
    before_write=None,
    written=lambda array: None,
    knows=lambda array: False,
    moved=lambda array, other: None,
    reads=lambda parameter: None,
    parameter=None,
    call_recorded=None,
    differentiate=None,
)


class State:
    """The number of tapes that are open in any thread, the only one that a call checks."""

    def __init__(self):
        self.open = 0


state = State()

UFUNCS: dict[Any, tuple] = {}  # ufunc -> a gradient per input: function of (xp, grad, out, *inputs)
FUNCTIONS: dict[Any, Callable] = {}  # NumPy function -> the same of recorded arrays
DISPATCHED = "use an operator or a function: x @ w or np.dot(x, w), not x.dot(w); or detach on purpose: np.asarray(w)"
REMEDY = "docs/gradients.md lists the recorded ones; or detach on purpose: lodkit.stop_gradient(x)"
_OPERANDS = (np.ndarray, np.generic, int, float, complex, bool, list, tuple)
_SETTINGS = frozenset(("dtype", "casting", "order", "subok"))  # keywords of ufuncs that change no gradient
#: Functions of NumPy that write to their first argument, and its name.
_WRITERS = {
    np.copyto: "dst",
    np.place: "arr",
    np.put_along_axis: "arr",
    **dict.fromkeys((np.put, np.putmask, np.fill_diagonal), "a"),
}


class Function(NamedTuple):
    """A function of arrays as a tape sees it: an operator."""

    name: str
    gradient_rule: Callable | None
    updates: tuple = ()
    defaults: dict = {}  # noqa: RUF012


class RecordedArray(np.ndarray):
    """An array whose arithmetic open tapes record: the result of an operator on one, or a parameter."""

    # The array that it views: the variable. Unset on arrays that NumPy derived unseen.
    _plain: np.ndarray
    __slots__ = ("_plain",)

    def __array_finalize__(self, of):
        """Refuse what NumPy makes of a recorded array without asking it, while a tape is open: ``plain.dot(w)``."""
        if isinstance(of, RecordedArray) and hooks.open_tapes():
            refuse_unrecorded("a method of a plain array, or a function that NumPy does not announce,", DISPATCHED)

    @property
    def __array_priority__(self):
        # Methods of plain arrays give results the type of the highest priority: on a tape this one, to be refused.
        return 1.0 if hooks.open_tapes() else -1.0

    def __array_ufunc__(self, ufunc, method, *inputs, out=None, **kwargs):
        if not all(isinstance(x, _OPERANDS) for x in (*inputs, *(out or ()))):
            return NotImplemented
        name = f"np.{ufunc.__name__}"
        for x in inputs:
            refuse_bits(name, x)
        if not hooks.open_tapes():
            if out is not None:
                kwargs["out"] = tuple(map(plain_view, out))
            made = getattr(ufunc, method)(*map(plain_view, inputs), **kwargs)
            for target in inputs[:1] if method == "at" else out or ():
                hooks.written(plain_view(target))
            return made if out is None else out[0] if len(out) == 1 else out
        if method == "reduce" and (reduction := FUNCTIONS.get(f"{name}.reduce")):
            kwargs.setdefault("axis", 0)
            return reduction(*inputs, **kwargs) if out is None else refuse_unrecorded(f"{name}.reduce with out=")
        if method != "__call__":
            refuse_unrecorded(f"{name}.{method}")
        if unknown := kwargs.keys() - _SETTINGS:
            refuse_unrecorded(f"{name} with {', '.join(unknown)}=")
        rules = UFUNCS.get(ufunc)
        if out is not None:
            return _run_in_place(name, ufunc, rules, inputs, out, kwargs)
        plain = tuple(map(operand, inputs))
        is_product = ufunc is np.matmul and not kwargs and all(isinstance(x, np.ndarray) and x.ndim for x in plain)
        made = multiply(*plain) if is_product else ufunc(*plain, **kwargs)
        if isinstance(made, tuple) or (rules is None and made.dtype.kind not in "biu"):
            refuse_unrecorded(name)
        return made if rules is None else record_result(name, partials(rules), plain, made)

    def __array_function__(self, func, types, args, kwargs):
        if not hooks.open_tapes():
            made = func(*map_arrays(plain_view, args), **map_arrays(plain_view, kwargs))
            if func in _WRITERS:
                hooks.written(plain_view(args[0] if args else kwargs[_WRITERS[func]]))
            # A function that returns its first argument has read it; another one is out=, by name or by position.
            elif isinstance(made, np.ndarray):
                others = args[:1] if func is np.nan_to_num else (kwargs.get("out"), *args[1:])
                if any(plain_view(x) is made for x in others):
                    hooks.written(made)
            return views_of(_parameters_in((args, kwargs)), made)
        known = FUNCTIONS.get(func)
        return known(*args, **kwargs) if known else refuse_unrecorded(f"np.{func.__name__}")

    def __reduce_ex__(self, protocol):
        return plain_view(self).__reduce_ex__(protocol)


class Parameter(RecordedArray):
    """An array whose arithmetic every tape that is open records; ``lodkit.parameter`` makes it."""

    __slots__ = ()

    def __reduce_ex__(self, protocol):
        return hooks.parameter, (plain_view(self),)

    def __copy__(self):
        return super().__copy__() if hooks.open_tapes() else parameter_of(plain_view(self).copy())

    def __deepcopy__(self, memory):
        return self.__copy__()

    def __iter__(self):
        return map(self.__getitem__, range(len(self)))

    def __repr__(self):
        return repr(plain_view(self)).replace("array(", "Parameter(", 1).replace("\n", "\n    ")


_set_plain = RecordedArray._plain.__set__  # type: ignore[attr-defined]


def recorded(array, kind=RecordedArray):
    """``array``, a variable of the open tapes, as one whose arithmetic is recorded."""
    made = array.view(kind)
    _set_plain(made, array)
    return made


def parameter_of(array):
    """A plain array as a parameter, which shares its memory."""
    return recorded(array, Parameter)


def views_of(parameters, made):
    """The result of a function of NumPy; floating views of the parameters that it read are parameters, too."""
    if type(made) in (list, tuple):
        return type(made)(views_of(parameters, part) for part in made)
    if type(made) is np.ndarray and is_floating(made.dtype):
        for x in parameters:
            if np.may_share_memory(made, plain_view(x)):
                return parameter_of(made)
    return made


def _parameters_in(arguments):
    found = []
    map_arrays(lambda x: found.append(x) if type(x) is Parameter else None, arguments)
    return found


def is_on_tape(x):
    """True for a recorded array while a tape is open."""
    return isinstance(x, RecordedArray) and bool(hooks.open_tapes())


def is_recorded(x):
    """True for an array whose history would be lost as a plain one: a parameter, or a result on an open tape."""
    return type(x) is Parameter or is_on_tape(x)


def track(x):
    """A floating array as a recorded one while a tape is open."""
    if state.open and type(x) is np.ndarray and is_floating(x.dtype) and hooks.open_tapes():
        return recorded(x)
    return x


def plain_view(x):
    """Numbers of a value without its history."""
    if not isinstance(x, RecordedArray):
        return x
    return x._plain if hasattr(x, "_plain") else np.ndarray.view(x, np.ndarray)


def operand(x):
    """The variable behind a recorded array; other values as they are, lists as arrays."""
    if isinstance(x, RecordedArray):
        if not hasattr(x, "_plain"):
            refuse_unrecorded("what NumPy made of it")
        if type(x) is Parameter:
            hooks.reads(x._plain)
        return x._plain
    if isinstance(x, np.ndarray) and type(x) is not np.ndarray:
        from .numpy_arrays import plain_array

        return plain_array(x, "an operand")
    return np.asarray(refuse_lists(x)) if isinstance(x, list | tuple) else x


def map_arrays(function, x):
    """Apply a function to the recorded arrays in nested lists, tuples and dictionaries."""
    if isinstance(x, RecordedArray):
        return function(x)
    if type(x) in (list, tuple):
        return type(x)(map_arrays(function, item) for item in x)
    return {k: map_arrays(function, v) for k, v in x.items()} if type(x) is dict else x


def record_result(name, rule, inputs, made):
    """Record ``made``, a result of ``inputs``, and return it; numbers that have no gradient stay plain."""
    # Ufuncs of 0-d arrays give scalars.
    made = np.asarray(made)
    if not is_floating(made.dtype):
        return made if made.dtype.kind in "biu" else refuse_unrecorded(f"{name} to {made.dtype}")
    if any(made is x for x in inputs):
        made = made.view()  # another variable
    hooks.record(Function(name, rule), inputs, {}, made)
    return recorded(made)


def partials(rules):
    """Gradient rule from a function per input, for arrays of the library of the gradient."""

    def rule(call, grad):
        xp, inputs = library_of(grad), call.inputs
        if xp is not np:
            grad, *inputs = (x if np.isscalar(x) else xp.asarray(x) for x in (grad, *inputs))
        with np.errstate(all="ignore"):
            return tuple(
                sum_to_shape(xp, by(xp, grad, call.outputs[0], *inputs), x)
                if wanted and getattr(x.dtype, "kind", "f") == "f"
                else None
                for by, x, wanted in zip(rules, inputs, call.wanted, strict=True)
            )

    return rule


def reshape_rule(call, grad):
    """Gradient rule of a reshape."""
    return library_of(grad).reshape(grad, tuple(call.inputs[0].shape))


def library_of(x):
    """Namespace of an array's library."""
    if isinstance(x, np.ndarray):
        return np
    from .cuda import library_of as library

    return library(x).namespace()


def sum_to_shape(xp, grad, x):
    """Sum a gradient over the axes along which ``x`` was broadcast, in the type of ``x``."""
    extra = grad.ndim - x.ndim
    axes = tuple(i for i in range(grad.ndim) if i < extra or (x.shape[i - extra] == 1 and grad.shape[i] != 1))
    if axes:
        grad = xp.reshape(xp.sum(grad, axis=axes), tuple(x.shape))
    if tuple(grad.shape) != tuple(x.shape):
        grad = xp.broadcast_to(grad, tuple(x.shape))
    return xp.asarray(grad if grad.dtype == x.dtype else xp.astype(grad, x.dtype))


def multiply(x, y):
    """``x @ y`` on as many of BLAS's threads as it is worth. The first call imports Numba, as gradients do."""
    from ..jit import blas

    return blas.multiply(x, y)


def _run_in_place(name, ufunc, rules, inputs, out, kwargs):
    """Run a ufunc into a recorded array: tapes keep a copy of its earlier numbers, and see another variable."""
    if rules is None or len(out) != 1:
        refuse_unrecorded(f"{name} with out=")
    if not isinstance(out[0], RecordedArray):
        raise TypeError(
            f"{name}: out= is a plain array, whose later uses no tape would see; make a new array (without out=, and "
            "total = total + x in place of total += x), or write numbers without a gradient: "
            "out[...] = lodkit.stop_gradient(x)"
        )
    plain = tuple(map(operand, inputs))
    return record_write(name, partials(rules), plain, out[0], ufunc(*plain, **kwargs))


def record_write(name, rule, inputs, target, made, key=...):
    """Record a write of ``made``, a result of ``inputs``, to a recorded array, and do it."""
    array = operand(target)
    # Raises before anything is written.
    array.copy()[key] = made
    before = hooks.before_write(array)
    array[key] = made
    hooks.record(Function(name, rule), tuple(before if x is array else x for x in inputs), {}, array)
    return target


def refuse(x, what):
    """Raise if a function that is not recorded takes ``x``, a recorded array, while a tape is open."""
    if hooks.open_tapes():
        refuse_unrecorded(what)
    return plain_view(x)


def refuse_lists(x):
    """Return nested lists; raise if a tape is open and they hold recorded arrays, whose history lists would lose."""
    if state.open and hooks.open_tapes():
        map_arrays(lambda _: refuse_unrecorded("a list", "np.stack and np.concatenate are recorded"), x)
    return x


def refuse_unrecorded(what, remedy=REMEDY):
    raise TypeError(f"{what} of arrays on a tape is not recorded; {remedy}")
