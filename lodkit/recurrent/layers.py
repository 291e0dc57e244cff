"""Layers of both directions, and layers on top of each other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import ops
from ..lod import LoDTensor
from ..registry import Op


def _hidden(result):
    return result[0] if isinstance(result, tuple) else result


def bidirectional(
    layer: Op[..., Any], x: LoDTensor, forward: Sequence[Any], backward: Sequence[Any], **attrs: Any
) -> LoDTensor:
    """Run a layer over every sequence in both directions.

    Parameters
    ----------
    layer : operator
        ``lodkit.lstm``, ``lodkit.gru`` or ``lodkit.simple_rnn``.
    x : LoDTensor
    forward, backward : sequence of arrays
        The inputs of the layer behind x, for either direction: its weights, and states before the first step.
    **attrs
        Attributes of the layer, but for ``reverse``.

    Returns
    -------
    LoDTensor
        The hidden states of both directions, side by side.

    Examples
    --------
    >>> import numpy as np, lodkit
    >>> x, same = lodkit.LoDTensor(np.ones((3, 1)), [[3]]), np.ones((1, 1))
    >>> attrs = {"activation": "identity"}
    >>> lodkit.bidirectional(lodkit.simple_rnn, x, (None, same), (None, same), **attrs).values
    array([[1., 3.],
           [2., 2.],
           [3., 1.]])
    """
    both = [_hidden(layer(x, *w, reverse=reverse, **attrs)) for w, reverse in ((forward, False), (backward, True))]
    return ops.sequence_concat(*both, axis=1)


def stacked(layer: Op[..., Any], x: LoDTensor, *weights: Sequence[Any], **attrs: Any) -> LoDTensor:
    """Run layers on top of each other: each reads the hidden states of the one below.

    Parameters
    ----------
    layer : operator
    x : LoDTensor
    *weights : sequence of arrays, or pair of such
        Per layer its inputs behind x; a pair of sequences makes it ``bidirectional``.
    **attrs
        Attributes of all layers.

    Returns
    -------
    LoDTensor
        The hidden states of the last one.

    Examples
    --------
    >>> import numpy as np, lodkit
    >>> x, w = lodkit.LoDTensor(np.ones((3, 1)), [[2, 1]]), (None, np.ones((1, 1)))
    >>> lodkit.stacked(lodkit.simple_rnn, x, w, w, activation="identity").values.ravel()
    array([1., 3., 1.])
    """
    for given in weights:
        if isinstance(given[0], tuple | list):
            x = bidirectional(layer, x, *given, **attrs)
        else:
            x = _hidden(layer(x, *given, **attrs))
    return x
