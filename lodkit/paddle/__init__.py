"""Paddle's operator types with Paddle's slots and attributes, its streams of tensors, and its DataFeeder.

``run_op("sequence_pool", {"X": x}, {"pooltype": "MAX"})`` returns ``{"Out": ..., "MaxIndex": ...}``.
Nothing is computed here: slots and attributes are renamed and converted, then operators of ``lodkit.OPS`` run.
``load`` and ``load_combine`` read files saved by Paddle. docs/differences.md lists Paddle's bugs, which lodkit does not
repeat.
"""

from __future__ import annotations

from .. import ops
from ..base.tracebacks import surface
from . import _arrays, _crf, _ctc, _optimizers, _recurrent_layers, _sequences, _tables, _units, _values
from ._types import TYPES, Inferring, Running, SlotError, call, operators_of
from .feeding import DataFeeder, create_lod_tensor, create_random_int_lodtensor
from .streams.bytes import StreamError
from .streams.reading import load, load_combine, loads
from .streams.writing import dumps, save, save_combine

__all__ = [
    "TYPES",
    "DataFeeder",
    "SlotError",
    "StreamError",
    "create_lod_tensor",
    "create_random_int_lodtensor",
    "default_version",
    "dumps",
    "infer_op",
    "load",
    "load_combine",
    "loads",
    "run_op",
    "save",
    "save_combine",
]


#: The version of Paddle that ``run_op`` and ``infer_op`` follow where they are given none; may be set.
default_version = "2.6"


@surface
def run_op(op_type, inputs, attrs=None, *, version=None):
    """Run an operator type of Paddle.

    Parameters
    ----------
    op_type : str
    inputs : dict
        Slot -> array, LoDTensor or SelectedRows; a list of them where Paddle takes several.
    attrs : dict, optional
    version : str, optional
        The version of Paddle whose values are wanted, as "1.8" or "2.6.2", where they differ: in ``adam`` and ``lamb``.
        ``lodkit.paddle.default_version`` without it.

    Returns
    -------
    dict
        Slot -> value. Parameters of optimizers are updated in place.

    Examples
    --------
    >>> import numpy as np, lodkit
    >>> x = lodkit.LoDTensor(np.array([[1.], [2.], [4.]]), [[1, 2]])
    >>> lodkit.paddle.run_op("sequence_pool", {"X": x}, {"pooltype": "SUM"})["Out"].ravel()
    array([1., 6.])
    """
    return call(operators_of(Running, default_version if version is None else version), op_type, inputs, attrs or {})


@surface
def infer_op(op_type, descs, attrs=None, *, version=None):
    """Describe the outputs of an operator type from VarDesc of its inputs.

    Parameters
    ----------
    op_type : str
    descs : dict
        Slot -> VarDesc (or a list of them).
    attrs : dict, optional
    version : str, optional
        As in ``run_op``: Paddle's ``lamb`` has other outputs before 2.1.

    Returns
    -------
    dict
        Slot -> VarDesc.
    """
    return call(operators_of(Inferring, default_version if version is None else version), op_type, descs, attrs or {})
