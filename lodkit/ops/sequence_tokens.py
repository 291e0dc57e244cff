"""Delete tokens of sequences, and list windows of them (Paddle's sequence_erase, sequence_enumerate)."""

from __future__ import annotations

import functools
import typing

import numpy as np

from ..arrays import WHOLE, integers, is_integer, native
from ..arrays.numpy_arrays import refuse_large
from ..base.errors import LoDError
from ..lod import LoDTensor
from ..registry import Dense, VarDesc, VarType, inferred_level, op
from .shared.sequences import check_tokens

DOCS_PAGE = "rearrange"
SEARCH_WORDS = {
    "sequence_contains": "isin, any token, filter sequences",
    "sequence_enumerate": "n-gram, ngram, ngrams, sliding window, skip gram windows, windows of tokens",
    "sequence_erase": "remove tokens, stop words, drop special tokens, filter tokens",
}


def prepare_erase(values, tokens):
    """Check the inputs. Returns the dtype, and the tokens to delete, as ``distinct_tokens`` gives them."""
    dtype = check_tokens("sequence_erase", values)
    return dtype, distinct_tokens(tokens, dtype)


def distinct_tokens(tokens, dtype):
    """Tokens to look for, each once, ascending: int64, or uint64 among values of uint64 where one is above int64."""
    found = np.asarray(tokens)
    if found.dtype.kind in "fO" and isinstance(tokens, list | tuple) and all(map(is_integer, tokens)):
        # NumPy makes floats of integers above int64 beside smaller ones. No value of uint64 is negative.
        found = np.array([n for n in tokens if n >= 0 or dtype != np.uint64], object)
        if dtype != np.uint64 and len(found):
            refuse_large(found, "tokens")
        found = found.astype(np.uint64) if all(0 <= n < 1 << 64 for n in found) else found
    is_wide = native(found.dtype) == dtype == np.uint64
    found = found.astype(np.uint64, copy=False) if is_wide else integers(found, "tokens")
    if found.ndim != 1:
        raise LoDError(f"tokens has shape {found.shape}; give a list of numbers")
    return np.unique(found)


def is_among(values, tokens):
    """Whether each value is one of the tokens, as integers: np.isin makes floats of uint64 beside int64."""
    tokens = set(tokens.tolist())
    return np.array([number in tokens for number in values.reshape(-1).tolist()], bool)


# Kept, a call takes 0.4 us less.
@functools.cache
def _limits(dtype):
    """The least and the largest integer of a type."""
    return (0, 1) if dtype.kind == "b" else (np.iinfo(dtype).min, np.iinfo(dtype).max)


def check_windows(values, win_size, pad_value):
    """Check the inputs of ``sequence_enumerate``. Returns the dtype."""
    dtype = check_tokens("sequence_enumerate", values)
    if win_size < 1:
        raise ValueError(f"win_size = {win_size}; a window has at least its own token")
    least, largest = _limits(dtype)
    if not least <= pad_value <= largest:
        raise ValueError(f"pad_value {pad_value} is no value of {dtype}; pass one that is, or convert the tokens")
    return dtype


@op(types=WHOLE)
def sequence_erase(x: LoDTensor, /, *, tokens: typing.Any) -> LoDTensor:
    """Delete tokens: the innermost sequences become shorter. sequence_erase of Paddle.

    Parameters
    ----------
    x : LoDTensor
        Integers or bool, of rows of one number: ``(rows,)`` or ``(rows, 1)``.
    tokens : list of int
        The tokens to delete.

    Returns
    -------
    LoDTensor
        With as many sequences at every level; some may be empty.

    >>> sequence_erase(LoDTensor([2, 2, 6, 1, 3, 9], [[3, 3]]), tokens=[2, 3, 5]).to_list()
    [[6], [1, 9]]
    """
    dtype, tokens = prepare_erase(x.values, tokens)
    kept = ~is_among(x.values, tokens)
    bounds, values = x.offsets(), x.values[kept]
    lengths = [int(kept[a:b].sum()) for a, b in zip(bounds[:-1], bounds[1:], strict=True)]
    return LoDTensor(values.astype(dtype), [*x.recursive_sequence_lengths()[:-1], lengths])


@sequence_erase.infer_rule
def _(x, *, tokens):
    inferred_level(x, -1)
    return x.but(dims=(-1, *x.dims[1:]))


@op(types=WHOLE)
def sequence_enumerate(x: LoDTensor, /, *, win_size: int, pad_value: int = 0) -> LoDTensor:
    """Return the window that starts at each token, up to the end of its sequence. sequence_enumerate of Paddle.

    Parameters
    ----------
    x : LoDTensor
        Integers or bool, of rows of one number: ``(rows,)`` or ``(rows, 1)``.
    win_size : int
        The tokens of a window.
    pad_value : int
        Fills a window after the end of the innermost sequence.

    Returns
    -------
    LoDTensor
        Rows ``(win_size,)``, in the structure of x.

    >>> sequence_enumerate(LoDTensor([1, 2, 3, 4], [[3, 1]]), win_size=2).values
    array([[1, 2],
           [2, 3],
           [3, 0],
           [4, 0]])
    """
    out = np.full((len(x.values), win_size), pad_value, check_windows(x.values, win_size, pad_value))
    bounds = x.offsets()
    for i, stop in enumerate(np.repeat(bounds[1:], x.lengths())):
        window = x.values.reshape(-1)[i : min(i + win_size, stop)]
        out[i, : len(window)] = window
    return x.with_values(out)


@sequence_enumerate.infer_rule
def _(x, *, win_size, pad_value=0):
    inferred_level(x, -1)
    return x.but(dims=(x.dims[0], win_size))


sequence_erase.example(lambda dtype: [((LoDTensor(np.array([1, 2]), [[2]]),), {"tokens": [1]})])
sequence_enumerate.example(lambda dtype: [((LoDTensor(np.array([1, 2]), [[2]]),), {"win_size": 2})])


def prepare_contains(values, tokens):
    """Check the inputs. Returns the tokens, as ``distinct_tokens`` gives them."""
    return distinct_tokens(tokens, check_tokens("sequence_contains", values))


@op(types=WHOLE)
def sequence_contains(x: LoDTensor, /, *, tokens: typing.Any, level: int = -1) -> Dense:
    """Return whether each sequence of a level has any of the tokens: a mask, on the CPU, for ``split_lod_tensor``.

    >>> sequence_contains(LoDTensor([4, 2, 7, 2], [[1, 0, 2, 1]]), tokens=[7, 4])
    array([ True, False,  True, False])
    """
    hits = is_among(x.values, prepare_contains(x.values, tokens))
    bounds = x._row_offsets(level)
    return np.array([hits[a:b].any() for a, b in zip(bounds[:-1], bounds[1:], strict=True)], bool)


@sequence_contains.infer_rule
def _(x, *, tokens, level=-1):
    inferred_level(x, level)
    return VarDesc("", VarType.LOD_TENSOR, np.dtype(bool), (-1,))


sequence_contains.example(lambda dtype: [((LoDTensor([3, 1, 3], [[2, 1]]),), {"tokens": [3]})])
