"""Layers of both directions, and layers on top of each other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import ops
from ..lod import LoDTensor
from ..registry import Op


def bidirectional(
    layer: Op[..., Any], x: LoDTensor, forward: Sequence[Any], backward: Sequence[Any], **attrs: Any
) -> tuple[LoDTensor, tuple[Any, ...]]:
    """Run a layer over every sequence in both directions.

    Parameters
    ----------
    layer : operator
        ``lodkit.lstm``, ``lodkit.gru`` or ``lodkit.simple_rnn``.
    x : LoDTensor
    forward, backward : sequence of arrays
        The inputs of the layer after x, for either direction: weights, and initial states.
    **attrs
        Attributes of the layer, except ``reverse``.

    Returns
    -------
    out : LoDTensor
        The hidden states of both directions, side by side.
    last : tuple
        The last states of the forward and of the backward layer, which ends at the first row of each sequence. For an
        LSTM ``(hidden, cell)``, such a tuple each.

    Examples
    --------
    >>> import numpy as np, lodkit
    >>> x, same = lodkit.LoDTensor(np.ones((3, 1)), [[3]]), np.ones((1, 1))
    >>> attrs = {"activation": "identity"}
    >>> out, last = lodkit.bidirectional(lodkit.simple_rnn, x, (None, same), (None, same), **attrs)
    >>> out.values
    array([[1., 3.],
           [2., 2.],
           [3., 1.]])
    >>> last
    (array([[3.]]), array([[3.]]))
    """
    out, ends = _run_both(layer, x, forward, backward, attrs)
    return out, _split_ends(ends)


def stacked(
    layer: Op[..., Any], x: LoDTensor, *weights: Sequence[Any], **attrs: Any
) -> tuple[LoDTensor, tuple[Any, ...]]:
    """Run layers on top of each other: each reads the hidden states of the one below.

    Parameters
    ----------
    layer : operator
    x : LoDTensor
    *weights : sequence of arrays, or pair of such
        Per layer its inputs after x; a pair of sequences makes it ``bidirectional``.
    **attrs
        Attributes of all layers.

    Returns
    -------
    out : LoDTensor
        The hidden states of the uppermost layer.
    last : tuple
        The last states of each layer, in the order of PyTorch's ``h_n``: from the lowest one, forward before backward.
        For an LSTM ``(hidden, cell)``, such a tuple each.

    Examples
    --------
    >>> import numpy as np, lodkit
    >>> x, w = lodkit.LoDTensor(np.ones((3, 1)), [[2, 1]]), (None, np.ones((1, 1)))
    >>> out, last = lodkit.stacked(lodkit.simple_rnn, x, w, w, activation="identity")
    >>> out.values.ravel(), [states.ravel().tolist() for states in last]
    (array([1., 3., 1.]), [[2.0, 1.0], [3.0, 1.0]])
    """
    ends: list[Any] = []
    for given in weights:
        if isinstance(given[0], tuple | list):
            forward, backward = given
            x, found = _run_both(layer, x, forward, backward, attrs)
            ends += found
        else:
            x, last = layer(x, *given, **attrs)
            ends.append(last)
    return x, _split_ends(ends)


def _run_both(layer, x, forward, backward, attrs):
    """Run a layer in both directions. Returns the states side by side, and the last ones of each."""
    (ahead, last), (back, first) = layer(x, *forward, **attrs), layer(x, *backward, **attrs, reverse=True)
    return ops.sequence_concat(ahead, back, axis=1), [last, first]


def _split_ends(ends):
    """The last states of several layers as a tuple; of LSTMs, which have two each, the hidden states and the cells."""
    return tuple(zip(*ends, strict=True)) if ends and isinstance(ends[0], tuple) else tuple(ends)
