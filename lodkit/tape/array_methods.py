"""Methods, indices and attributes of recorded arrays, by NumPy's functions of the same name."""

from __future__ import annotations

import copy

import numpy as np

from ..arrays.recorded import (
    Parameter,
    RecordedArray,
    hooks,
    map_arrays,
    operand,
    plain_view,
    record_result,
    record_write,
    refuse_unrecorded,
    sum_to_shape,
    views_of,
)
from .array_functions import move_elements, pick_elements

_SAME = (
    *("all", "any", "argmax", "argmin", "argpartition", "argsort", "clip", "cumsum", "diagonal", "dot", "max", "mean"),
    *("min", "nonzero", "prod", "ravel", "repeat", "round", "searchsorted", "squeeze", "std", "sum", "swapaxes"),
    *("take", "trace", "var"),
)
_OF_NUMBERS = ("item", "tolist", "tobytes", "tofile", "dump", "dumps")
_IN_PLACE = ("__setitem__", "byteswap", "fill", "partition", "put", "setfield", "sort")


def _shape(arguments):
    return arguments[0] if len(arguments) == 1 and not isinstance(arguments[0], int | np.integer) else arguments


def _reshape(x, *shape, order="C", **settings):
    return move_elements(np.reshape, x, _shape(shape), order, **settings)


def _transpose(x, *axes):
    return move_elements(np.transpose, x, _shape(axes) if axes else None)


def _astype(x, dtype, *args, **kwargs):
    def rule(call, grad):
        return sum_to_shape(np, grad, call.inputs[0])

    return record_result("astype", rule, (operand(x),), operand(x).astype(dtype, *args, **kwargs))


def _set(x, key, value):
    """``x[key] = value``; of indices that repeat, the last one counts."""
    array, key = operand(x), copy.deepcopy(map_arrays(plain_view, key))
    value = operand(value) if isinstance(value, np.ndarray | list | tuple) else np.asarray(value)

    def rule(call, grad):
        value = call.inputs[1]
        by_before, by_value = grad.copy(), grad[key]
        by_before[key] = 0
        places = np.zeros(grad.shape, np.intp)
        places[key] = own = np.arange(by_value.size).reshape(by_value.shape)
        by_value = np.where(places[key] == own, by_value, 0)
        fitting = value.reshape(value.shape[max(0, value.ndim - by_value.ndim) :])
        return by_before, sum_to_shape(np, by_value, fitting).reshape(value.shape) if value.dtype.kind == "f" else None

    record_write("an assignment", rule, (array, value), x, value, key)


def _method(name, recorded):
    """A method that is recorded while a tape is open, and NumPy's otherwise."""
    plain = getattr(np.ndarray, name)

    def method(self, *args, **kwargs):
        if hooks.open_tapes():
            return recorded(self, *args, **kwargs)
        given, settings = map_arrays(plain_view, args), map_arrays(plain_view, kwargs)
        # NumPy resizes no view, whose memory would be given away.
        made = plain(self if name == "resize" else plain_view(self), *given, **settings)
        if name in _IN_PLACE:
            hooks.written(plain_view(self))
        elif made is not None and any(made is x for x in (settings.get("out"), *given)):  # out=, by name or by position
            hooks.written(made)
        return views_of((self,), made) if type(self) is Parameter else made

    method.__name__ = name
    return method


def _refusal(name):
    return lambda *args, **kwargs: refuse_unrecorded(f"the method {name}")


METHODS = {
    **{name: getattr(np, name) for name in _SAME},
    "reshape": _reshape,
    "transpose": _transpose,
    "astype": _astype,
    "flatten": lambda x, order="C": move_elements(np.copy, move_elements(np.ravel, x, order)),
    "copy": lambda x, order="C": move_elements(np.copy, x, order),
    "__copy__": lambda x: move_elements(np.copy, x),
    "__deepcopy__": lambda x, memory: move_elements(np.copy, x),
    "__getitem__": pick_elements,
    "__setitem__": _set,
    "__iter__": lambda x: (pick_elements(x, i) for i in range(len(x))),
    **{name: lambda x, *args, name=name: getattr(plain_view(x), name)(*args) for name in (*_OF_NUMBERS, "__repr__")},
    "__str__": lambda x: str(plain_view(x)),
    "__format__": lambda x, spec: format(plain_view(x), spec),
}


def _attribute(name, recorded=None):
    """An attribute that gives an array."""
    plain = getattr(np.ndarray, name)

    def get(self):
        if not hooks.open_tapes():
            made = plain.__get__(plain_view(self))
            return views_of((self,), made) if type(self) is Parameter else made
        return recorded(self) if recorded else refuse_unrecorded(f"the attribute {name}")

    return property(get)


def _set_attribute(self, name, value):
    raise AttributeError(
        f"{name} of a parameter, or of an array on a tape, cannot be set; write x[...] = numbers, or make another "
        "array: x.reshape(...)"
    )


def complete(cls):
    """Give the class of recorded arrays its methods; those of NumPy that are not listed raise."""
    for name in dir(np.ndarray):
        if name in METHODS or (callable(getattr(np.ndarray, name)) and not name.startswith("_")):
            setattr(cls, name, _method(name, METHODS.get(name) or _refusal(name)))
    cls.T = _attribute("T", _transpose)
    cls.mT = _attribute("mT", lambda x: move_elements(np.matrix_transpose, x))
    cls.real = _attribute("real", lambda x: x)
    cls.flat, cls.imag = _attribute("flat"), _attribute("imag")
    cls.__setattr__ = _set_attribute


complete(RecordedArray)
