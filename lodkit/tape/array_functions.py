"""NumPy's functions of recorded arrays: moves of elements, reductions and products, and those without a gradient.

A function that is not listed in ``FUNCTIONS`` raises while a tape is open.
"""

from __future__ import annotations

import copy
import functools
import itertools
import math

import numpy as np

from ..arrays.recorded import (
    FUNCTIONS,
    map_arrays,
    operand,
    partials,
    plain_view,
    record_result,
    refuse_unrecorded,
    sum_to_shape,
)
from .halves import add_up


def _enter(*functions):
    """Enter a wrapper, which gets the function first, for each of these functions."""

    def enter(wrapper):
        FUNCTIONS.update((function, functools.partial(wrapper, function)) for function in functions)
        return wrapper

    return enter


def _name(function):
    return f"np.{function.__name__}"


def _refuse_unsupported(function, **unsupported):
    """Raise for arguments that are given though their gradient is not known."""
    for name, value in unsupported.items():
        if value is not None:
            refuse_unrecorded(f"{_name(function)} with {name}=")


_ORDER_AT = {np.ravel: 0, np.reshape: 1}  # where the order is, behind the array


def _with_order(function, x, args, kwargs):
    """The arguments with the order that "A" and "K", which go by the memory of ``x``, stand for."""
    at = _ORDER_AT[function]
    order = kwargs.get("order", args[at] if len(args) > at else "C")
    if str(order).upper() not in ("A", "K"):
        return args, kwargs
    if not (x.flags.forc or str(order).upper() == "A"):
        refuse_unrecorded(f'{_name(function)} with order="K" of an array that is not contiguous')
    by_columns = x.flags.f_contiguous and not x.flags.c_contiguous
    return args[:at], {**kwargs, "order": "F" if by_columns else "C"}


# Functions whose first argument, an array or nested lists of arrays, gives all elements of the result.
@_enter(np.reshape, np.ravel, np.squeeze, np.expand_dims, np.transpose, np.swapaxes, np.moveaxis, np.rollaxis)
@_enter(np.matrix_transpose, np.flip, np.fliplr, np.flipud, np.rot90, np.roll, np.broadcast_to, np.copy, np.resize)
@_enter(np.repeat, np.tile, np.take, np.take_along_axis, np.diagonal, np.diag, np.tril, np.triu, np.delete)
@_enter(np.atleast_1d, np.atleast_2d, np.atleast_3d, np.split, np.array_split, np.hsplit, np.vsplit, np.dsplit)
@_enter(np.concatenate, np.stack, np.vstack, np.hstack, np.dstack, np.column_stack, np.block)
def move_elements(function, *args, out=None, **kwargs):
    """Run a function that moves elements; its gradient moves their positions in the same way."""
    _refuse_unsupported(function, out=out)
    if not args:
        refuse_unrecorded(f"{_name(function)} of an array by keyword")
    (data, *args), arrays = args, []

    def append_operand(x):
        arrays.append(operand(x))
        return arrays[-1]

    data = _leaves(data, append_operand)
    if function in _ORDER_AT and isinstance(data, np.ndarray):
        args, kwargs = _with_order(function, data, args, kwargs)
    made = function(data, *args, **kwargs)
    # Arrays of indices may change before the gradient is asked for.
    args, kwargs = copy.deepcopy((args, kwargs))
    kwargs = {name: value for name, value in kwargs.items() if name not in ("dtype", "casting")}  # of numbers alone
    wrapped = []
    for i, part in enumerate(made) if isinstance(made, list | tuple) else ((None, made),):

        def rule(call, grad, i=i):
            sizes = (x.size for x in call.inputs)
            # Position 0 stands for elements of no input, as in tril.
            stops = [*itertools.accumulate(sizes, initial=1)]
            positions = (np.arange(a, a + x.size).reshape(x.shape) for a, x in zip(stops, call.inputs, strict=False))
            places = function(_leaves(data, lambda x: next(positions)), *args, **kwargs)
            places = (places if i is None else places[i]).ravel()
            flat = np.bincount(places, grad.ravel(), stops[-1])
            return tuple(
                flat[b - x.size : b].reshape(x.shape).astype(x.dtype) if wanted and x.dtype.kind == "f" else None
                for x, b, wanted in zip(call.inputs, stops[1:], call.wanted, strict=True)
            )

        wrapped.append(record_result(_name(function), rule, tuple(arrays), part))
    return wrapped if isinstance(made, list | tuple) else wrapped[0]


def _leaves(x, function):
    """Apply a function to the arrays and numbers in nested lists."""
    if type(x) in (list, tuple):
        return type(x)(_leaves(item, function) for item in x)
    if not isinstance(x, np.ndarray | np.generic | int | float):
        refuse_unrecorded(f"a {type(x).__name__}", "pass a list")
    return function(x if isinstance(x, np.ndarray) else np.asarray(x))


def pick_elements(x, key):
    """``x[key]``; indices that repeat add up in the gradient."""
    array, key = operand(x), copy.deepcopy(map_arrays(plain_view, key))
    parts = key if type(key) is tuple else (key,)
    single = (int, np.integer, slice, type(None), type(...))
    unique = all(isinstance(k, single) or np.asarray(k).dtype == bool for k in parts)

    def rule(call, grad):
        found = np.zeros_like(call.inputs[0])
        if unique:
            found[key] = grad
        else:
            np.add.at(found, key, grad)
        return found

    return record_result("indexing", rule, (array,), array[key])


def _kept_shape(x, axis):
    """Shape of a reduction of ``x`` that keeps its axes, and the axes."""
    axes = range(x.ndim) if axis is None else np.lib.array_utils.normalize_axis_tuple(axis, x.ndim)
    return tuple(1 if i in axes else n for i, n in enumerate(x.shape)), tuple(axes)


@_enter(np.sum, np.mean, np.var, np.std, np.prod)
def _total(function, x, axis=None, dtype=None, out=None, keepdims=False, *, ddof=0, **others):
    _refuse_unsupported(function, out=out, **others)
    x = operand(x)
    shape, axes = _kept_shape(x, axis)
    settings = {"ddof": ddof} if function in (np.var, np.std) else {}
    count = math.prod(x.shape[i] for i in axes)

    def rule(call, grad):
        (x,), grad, out = call.inputs, grad.reshape(shape), call.outputs[0].reshape(shape)
        with np.errstate(all="ignore"):
            if function is np.prod:
                return sum_to_shape(np, grad * _remaining_factors(x, axes), x)
            if function is np.mean:
                # A float16 cannot hold the count of many elements.
                grad = grad * (1 / max(count, 1))
            elif function in (np.var, np.std):
                scale = grad if function is np.var else grad / (2 * np.where(out == 0, 1, out))
                return sum_to_shape(np, scale * 2 * (x - x.mean(axes, keepdims=True)) / (count - ddof), x)
            return sum_to_shape(np, np.broadcast_to(grad, x.shape), x)

    made = add_up(function, x, axis=axes, dtype=dtype, keepdims=keepdims, **settings)
    return record_result(_name(function), rule, (x,), made)


def _flat(x, count):
    """``x`` with its last ``count`` axes as one."""
    kept = x.shape[: x.ndim - count]
    return x.reshape(*kept, math.prod(x.shape[len(kept) :]))


def _remaining_factors(x, axes):
    """Product of the others, along some axes, for every element: no division, so zeros may be among them."""
    rows = np.moveaxis(x, axes, range(-len(axes), 0))
    flat = _flat(rows, len(axes))
    ones = np.ones_like(flat[..., :1])
    before = np.cumprod(np.concatenate([ones, flat[..., :-1]], -1), -1)
    after = np.cumprod(np.concatenate([ones, flat[..., :0:-1]], -1), -1)[..., ::-1]
    return np.moveaxis((before * after).reshape(rows.shape), range(-len(axes), 0), axes)


@_enter(np.max, np.min, np.amax, np.amin)
def _extreme(function, x, axis=None, out=None, keepdims=False, **others):
    """The gradient goes to the first of equal extremes, and of NaN."""
    _refuse_unsupported(function, out=out, **others)
    x = operand(x)
    axes = _kept_shape(x, axis)[1]
    first = np.argmax if function in (np.max, np.amax) else np.argmin

    def rule(call, grad):
        (x,) = call.inputs
        rows = np.moveaxis(x, axes, range(-len(axes), 0))
        flat = _flat(rows, len(axes))
        found = np.zeros_like(flat)
        np.put_along_axis(found, first(flat, -1)[..., None], grad.reshape(flat.shape[:-1])[..., None], -1)
        return np.moveaxis(found.reshape(rows.shape), range(-len(axes), 0), axes)

    return record_result(_name(function), rule, (x,), function(x, axis=axes, keepdims=keepdims))


FUNCTIONS |= {
    "np.add.reduce": FUNCTIONS[np.sum],
    "np.multiply.reduce": FUNCTIONS[np.prod],
    "np.maximum.reduce": FUNCTIONS[np.max],
    "np.minimum.reduce": FUNCTIONS[np.min],
}


@_enter(np.cumsum)
def _cumsum(function, x, axis=None, dtype=None, out=None):
    _refuse_unsupported(function, out=out)
    x, along = operand(x), -1 if axis is None else axis

    def rule(call, grad):
        (x,) = call.inputs
        return np.flip(np.cumsum(np.flip(grad, along), along), along).reshape(x.shape).astype(x.dtype)

    return record_result("np.cumsum", rule, (x,), add_up(np.cumsum, x, axis=axis, dtype=dtype))


@_enter(np.where)
def _select(function, condition, *choices):
    if not choices:
        return np.nonzero(plain_view(condition))
    condition = np.array(plain_view(condition), bool)
    by = (lambda xp, g, out, x, y: np.where(condition, g, 0), lambda xp, g, out, x, y: np.where(condition, 0, g))
    choices = tuple(map(operand, choices))
    return record_result("np.where", partials(by), choices, np.where(condition, *choices))


@_enter(np.clip)
def _clip(function, x, a_min=None, a_max=None, out=None, *, min=None, max=None):
    _refuse_unsupported(function, out=out)
    low, high = (min if a_min is None else a_min), (max if a_max is None else a_max)
    x = x if low is None else np.maximum(x, low)
    return x if high is None else np.minimum(x, high)


@_enter(np.round, np.around)
def _round(function, x, decimals=0, out=None):
    _refuse_unsupported(function, out=out)
    x = operand(x)
    return record_result("np.round", lambda call, grad: np.zeros_like(call.inputs[0]), (x,), np.round(x, decimals))


@_enter(np.sort)
def _sort(function, x, axis=-1, **others):
    _refuse_unsupported(function, **others)
    x, axis = (np.ravel(x), -1) if axis is None else (x, axis)
    return np.take_along_axis(x, np.argsort(operand(x), axis, kind="stable"), axis)


@_enter(np.linalg.norm)
def _norm(function, x, ord=None, axis=None, keepdims=False):
    _refuse_unsupported(function, ord=ord)
    x = operand(x)
    shape, axes = _kept_shape(x, axis)

    def rule(call, grad):
        (x,), out = call.inputs, call.outputs[0].reshape(shape)
        return sum_to_shape(np, grad.reshape(shape) * x / np.where(out == 0, 1, out), x)

    made = add_up(_root_of_squares, x, axes=axes, keepdims=keepdims)
    return record_result("np.linalg.norm", rule, (x,), made)


def _root_of_squares(x, axes, keepdims):
    return np.sqrt(np.square(x).sum(axes, keepdims=keepdims))


@_enter(np.trace)
def _trace(function, x, offset=0, axis1=0, axis2=1):
    return np.sum(np.diagonal(x, offset, axis1, axis2), axis=-1)


@_enter(np.dot, np.inner, np.vdot, np.outer)
def _dot(function, x, y, out=None):
    _refuse_unsupported(function, out=out)
    if function is np.outer:
        return np.reshape(x, (-1, 1)) * np.reshape(y, (1, -1))
    if function is np.vdot:
        return np.matmul(np.ravel(x), np.ravel(y))
    if np.ndim(x) == 0 or np.ndim(y) == 0:
        return np.multiply(x, y)
    if np.ndim(y) > 2:
        refuse_unrecorded(
            f"{_name(function)} with more than two dimensions on the right", "np.matmul and np.einsum are"
        )
    return np.matmul(x, np.transpose(y) if function is np.inner else y)


@_enter(np.einsum)
def _einsum(function, subscripts, *operands, out=None, **settings):
    _refuse_unsupported(function, out=out)
    if not isinstance(subscripts, str) or "." in subscripts:
        refuse_unrecorded("np.einsum by other than letters")
    inputs, _, result = subscripts.replace(" ", "").partition("->")
    terms = inputs.split(",")
    if "->" not in subscripts:
        result = "".join(sorted(c for c in set(inputs) - {","} if inputs.count(c) == 1))
    if any(len(set(term)) < len(term) for term in terms):
        refuse_unrecorded("np.einsum of a diagonal", "np.diagonal is")

    def gradient_by(i):
        def gradient(xp, grad, made, *arrays):
            others = [(t, a) for k, (t, a) in enumerate(zip(terms, arrays, strict=True)) if k != i]
            known = set(result).union(*(t for t, _ in others))
            kept = "".join(c for c in terms[i] if c in known)
            spec = ",".join([result, *(t for t, _ in others)]) + "->" + kept
            found = np.einsum(spec, grad, *(a for _, a in others))
            # The sizes of a letter may be 1 here and more elsewhere.
            sizes = iter(found.shape)
            found = found.reshape([next(sizes) if c in known else 1 for c in terms[i]])
            return np.broadcast_to(found, np.broadcast_shapes(found.shape, arrays[i].shape))

        return gradient

    operands = tuple(map(operand, operands))
    rule = partials([gradient_by(i) for i in range(len(terms))])
    made = add_up(functools.partial(np.einsum, subscripts), *operands, **settings)
    return record_result("np.einsum", rule, operands, made)


@_enter(np.shape, np.ndim, np.size, np.argmax, np.argmin, np.argsort, np.argpartition, np.argwhere, np.nonzero)
@_enter(np.flatnonzero, np.count_nonzero, np.searchsorted, np.lexsort, np.digitize, np.isin, np.any, np.all)
@_enter(np.array_equal, np.array_equiv, np.allclose, np.isclose, np.isposinf, np.isneginf, np.zeros_like, np.ones_like)
@_enter(np.empty_like, np.result_type, np.can_cast, np.may_share_memory, np.shares_memory, np.iscomplexobj)
@_enter(np.isrealobj, np.array2string, np.array_repr, np.array_str, np.save, np.savez, np.savez_compressed, np.savetxt)
def _run_plain(function, *args, **kwargs):
    """Run a function whose result has no gradient."""
    return function(*map_arrays(plain_view, args), **map_arrays(plain_view, kwargs))
