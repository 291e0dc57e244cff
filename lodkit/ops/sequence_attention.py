"""Scaled dot-product attention inside sequences: rows see the rows of their own sequence, and nothing is padded."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np

from ..arrays import check_gradient, native
from ..errors import LoDMismatchError, ShapeMismatchError
from ..lod import LoDTensor, values_of
from ..registry import Dense, op
from .sequence_conv import check_same_type
from .shared.reductions import shares


def heads_of(shape, num_heads, name="query"):
    """Number of heads of rows of a shape, and the elements of a head."""
    width, given = math.prod(shape[1:]), shape[1] if len(shape) > 2 else 1
    heads = given if num_heads is None else num_heads
    if heads < 1 or width % heads or (len(shape) > 2 and heads != given):
        raise ShapeMismatchError(
            f"sequence_attention: {name} has items of shape {tuple(shape[1:])}, num_heads is {num_heads}; items are "
            f"(heads, size), or num_heads equal parts side by side"
        )
    return heads, width // heads


def prepare(query, key, value, num_heads, scale, level, grad=None):
    """Check the inputs of sequence_attention and its gradient. Returns offsets, the number of heads and the scale."""
    check_same_type("sequence_attention", query.values, key=key.values, value=value.values)
    for name, x in (("key", key), ("value", value)):
        if not x.same_lod(query):
            raise LoDMismatchError(
                f"sequence_attention: {name} and query have different structure: {x.lod()} and {query.lod()}"
            )
    heads, size = heads_of(query.values.shape, num_heads)
    if key.values.shape != query.values.shape:
        raise ShapeMismatchError(
            f"sequence_attention: rows of the key have shape {tuple(key.values.shape[1:])}, those of the query "
            f"{tuple(query.values.shape[1:])}; they must be equal"
        )
    if heads_of(value.values.shape, num_heads, "value")[0] != heads:
        raise ShapeMismatchError(
            f"sequence_attention: items of the value have shape {tuple(value.values.shape[1:])}, for {heads} heads"
        )
    if grad is not None:
        check_gradient(grad, value.values.shape)
    return query.row_offsets(level), heads, 1 / math.sqrt(max(size, 1)) if scale is None else float(scale)


def _parts(x, start, stop, heads):
    """Rows of a sequence, head by head, in double precision."""
    rows = values_of(x)[start:stop].astype(np.float64)
    return rows.reshape(len(rows), heads, math.prod(rows.shape[1:]) // heads).swapaxes(0, 1)


def _shares(query, key, causal):
    """What each query of a head takes of each value."""
    scores = query @ key.T
    return shares(np.where(np.tri(len(scores), dtype=bool), scores, -np.inf).T if causal else scores.T).T


def _joined(parts, like):
    out = np.zeros((len(values_of(like)), math.prod(values_of(like).shape[1:])))
    for start, rows in parts:
        out[start : start + rows.shape[1]] = rows.swapaxes(0, 1).reshape(rows.shape[1], out.shape[1])
    return out.reshape(values_of(like).shape).astype(native(like.dtype))


@op(like="value")
def sequence_attention(
    query: LoDTensor,
    key: LoDTensor,
    value: LoDTensor,
    /,
    *,
    num_heads: int | None = None,
    causal: bool = False,
    scale: float | None = None,
    level: int = -1,
) -> LoDTensor:
    """Let each row attend to the rows of its own sequence: ``softmax(query @ key.T * scale) @ value``, head by head.

    Scaled dot-product attention. It takes as much as the squares of the lengths, not that of the longest; no more than
    some rows of scores are in memory at a time, in the gradient too, which computes them again. float16 is computed in
    float32.

    Parameters
    ----------
    query, key : LoDTensor
        Rows of one shape: ``(heads, size)``, or ``(width,)``.
    value : LoDTensor
        Rows of as many heads, of any size. All three have the same structure and type.
    num_heads : int, optional
        Cut rows of ``(width,)`` into so many heads; one by default.
    causal : bool
        A row sees only the rows before it, and itself.
    scale : float, optional
        Of the scores; ``1 / sqrt(size)`` by default.
    level : int
        The level of the sequences; the innermost by default.

    Returns
    -------
    LoDTensor
        Like value.

    Raises
    ------
    LoDMismatchError
        Two inputs have different structure.
    ShapeMismatchError
        Rows are not of equal heads.

    Examples
    --------
    >>> x = LoDTensor(np.array([[1., 0.], [0., 1.], [5., 5.]]), [[2, 1]])
    >>> sequence_attention(x, x, x, scale=1000.).values
    array([[1., 0.],
           [0., 1.],
           [5., 5.]])
    >>> sequence_attention(x, x, x, num_heads=2, causal=True, scale=0.).values
    array([[1. , 0. ],
           [0.5, 0.5],
           [5. , 5. ]])
    """
    offsets, heads, scale = prepare(query, key, value, num_heads, scale, level)
    results = []
    for a, b in pairwise(offsets):
        if a < b:
            q, k, v = (_parts(x, a, b, heads) for x in (query, key, value))
            results.append((a, np.stack([_shares(q[h] * scale, k[h], causal) @ v[h] for h in range(heads)])))
    return value.with_values(_joined(results, value))


@sequence_attention.gradient
def _(call, grad):
    return sequence_attention_grad(*call.inputs, values_of(grad), **call.attrs)


@op
def sequence_attention_grad(
    query: LoDTensor,
    key: LoDTensor,
    value: LoDTensor,
    grad: Dense,
    /,
    *,
    num_heads: int | None = None,
    causal: bool = False,
    scale: float | None = None,
    level: int = -1,
) -> tuple[Dense, Dense, Dense]:
    """Return the gradients of ``sequence_attention`` by query, key and value.

    >>> x = LoDTensor(np.array([[1.], [3.]]), [[2]])
    >>> sequence_attention_grad(x, x, x, np.ones((2, 1)), scale=0.)[2]
    array([[1.],
           [1.]])
    """
    offsets, heads, scale = prepare(query, key, value, num_heads, scale, level, grad)
    results = [], [], []
    for a, b in pairwise(offsets):
        if a < b:
            q, k, v, g = (_parts(x, a, b, heads) for x in (query, key, value, grad))
            p = np.stack([_shares(q[h] * scale, k[h], causal) for h in range(heads)])
            by_shares = g @ v.swapaxes(1, 2)
            by_scores = p * (by_shares - (p * by_shares).sum(axis=2, keepdims=True)) * scale
            parts = by_scores @ k, by_scores.swapaxes(1, 2) @ q, p.swapaxes(1, 2) @ g
            for result, part in zip(results, parts, strict=True):
                result.append((a, part))
    return tuple(_joined(parts, x) for parts, x in zip(results, (query, key, value), strict=True))


@sequence_attention_grad.infer_rule
def _(query, key, value, grad, **attrs):
    return tuple(x.but(lod_level=0) for x in (query, key, value))


@sequence_attention.example
def _(dtype):
    dtype = np.dtype(np.float32) if dtype.kind == "i" else dtype
    x = LoDTensor(np.ones((3, 2, 4), dtype), [[2, 1]])
    return [((x, x, x), {})]
