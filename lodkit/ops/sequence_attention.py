"""Scaled dot-product attention inside sequences: rows see the rows of their own sequence, and nothing is padded."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np

from ..arrays import FLOATING, check_gradient, check_same_type, native
from ..base.errors import LoDMismatchError, ShapeMismatchError
from ..lod import LoDTensor, values_of
from ..registry import Dense, op
from .shared.reductions import shares

DOCS_PAGE = "attend"
SEARCH_WORDS = {
    "sequence_attention": (
        "flash attention, flash_attn, varlen, flash_attn_varlen_func, scaled_dot_product_attention, SDPA, "
        "multi-head attention, multihead, MultiheadAttention, self attention, cross attention, transformer, "
        "causal mask, packed attention, variable length attention, ragged attention"
    )
}


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
            f"sequence_attention: rows of the key have shape {tuple(key.values.shape[1:])}, rows of the query "
            f"{tuple(query.values.shape[1:])}; they must be equal"
        )
    if heads_of(value.values.shape, num_heads, "value")[0] != heads:
        raise ShapeMismatchError(
            f"sequence_attention: items of the value have shape {tuple(value.values.shape[1:])}, for {heads} heads"
        )
    if grad is not None:
        check_gradient(grad, value.values.shape)
    return query._row_offsets(level), heads, 1 / math.sqrt(max(size, 1)) if scale is None else float(scale)


def _heads(x, heads):
    """Rows as heads, in double precision."""
    values = values_of(x).astype(np.float64)
    return values.reshape(len(values), heads, math.prod(values.shape[1:]) // heads)


def _round_like(result, like):
    with np.errstate(over="ignore", under="ignore"):
        return result.reshape(values_of(like).shape).astype(native(like.dtype))


def _queries(query, key, offsets, scale, causal):
    """Each query of each head, the rows that it sees, and its shares in them."""
    for start, stop in pairwise(offsets):
        for i in range(start, stop):
            seen = slice(start, i + 1 if causal else stop)
            for h in range(query.shape[1]):
                yield i, h, seen, shares(key[seen, h] @ query[i, h] * scale)


@op(like="value", types=FLOATING)
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

    The operator is scaled dot-product attention. Nothing is padded: the time grows with the sum of the squares of the
    lengths. Only a few rows of scores are in memory at a time, in the gradient too. The gradient computes the scores
    again. Inputs of float16 are computed in float32. Scores are as large as the keys, so keys far from zero give large
    scores. The softmax cancels the part that all keys have in common, but only up to the rounding of the scores.
    Subtract the common part from the keys first.

    Parameters
    ----------
    query, key : LoDTensor
        Rows of query and key have the same shape: ``(heads, size)``, or ``(width,)``.
    value : LoDTensor
        Rows have as many heads as rows of query and key; heads may have another size. All three inputs have the same
        structure and type.
    num_heads : int, optional
        Number of heads into which rows of ``(width,)`` are split; one by default.
    causal : bool
        A row attends only to itself and earlier rows.
    scale : float, optional
        Factor of the scores; ``1 / sqrt(size)`` by default.
    level : int
        The level of the sequences; the innermost by default.

    Returns
    -------
    LoDTensor
        Has the structure, row shape and type of ``value``.

    Raises
    ------
    LoDMismatchError
        Two inputs have different numbers or lengths of sequences.
    ShapeMismatchError
        The inputs have different numbers of heads, or query and key have heads of different sizes.

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
    q, k, v = (_heads(x, heads) for x in (query, key, value))
    out = np.zeros(v.shape)
    for i, h, seen, share in _queries(q, k, offsets, scale, causal):
        out[i, h] = share @ v[seen, h]
    return value.with_values(_round_like(out, value))


@op(like=("query", "key", "value"), gradient_of=sequence_attention, types=FLOATING)
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
    q, k, v, g = (_heads(x, heads) for x in (query, key, value, grad))
    by_query, by_key, by_value = (np.zeros(x.shape) for x in (q, k, v))
    for i, h, seen, share in _queries(q, k, offsets, scale, causal):
        by_share = v[seen, h] @ g[i, h]
        by_score = share * (by_share - share @ by_share) * scale
        by_query[i, h] = by_score @ k[seen, h]
        by_key[seen, h] += np.outer(by_score, q[i, h])
        by_value[seen, h] += np.outer(share, g[i, h])
    return _round_like(by_query, query), _round_like(by_key, key), _round_like(by_value, value)


@sequence_attention.example
def _(dtype):
    dtype = np.dtype(np.float32) if dtype.kind == "i" else dtype
    x = LoDTensor(np.ones((3, 2, 4), dtype), [[2, 1]])
    return [((x, x, x), {})]
