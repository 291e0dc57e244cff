"""Paddle's operator types with Paddle's slots and attributes.

``run_op("sequence_pool", {"X": x}, {"pooltype": "MAX"})`` returns ``{"Out": ..., "MaxIndex": ...}``.
Nothing is computed here: slots and attributes are renamed and converted by the table, then operators
of ``lodkit.OPS`` run. Where Paddle is wrong lodkit is right; docs/differences.md lists each case.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np

from . import ops  # noqa: F401 - the definitions fill OPS
from .arrays import cast, is_array
from .desc import VarDesc
from .errors import LodkitError
from .lod_tensor import LoDTensor
from .registry import OPS, Registry


class SlotError(LodkitError, ValueError):
    """A slot that the operator type needs is missing, or one that it has not was given."""


@dataclasses.dataclass(frozen=True)
class Spec:
    """How one operator type of Paddle maps to an operator.

    Attributes
    ----------
    op : str
        Name in ``lodkit.OPS``.
    inputs, outputs : tuple of str
        Slots in the operator's order.
    attrs : dict
        Paddle's attribute -> function from its value to the operator's attributes (a dict).
    variadic : bool
        The one input slot holds a list.
    state : dict
        Slots that are attributes of the operator (a learning rate).
    before, after : callable
        Convert the inputs (arrays or VarDesc), and the outputs.
    """

    op: str
    inputs: tuple
    outputs: tuple = ("Out",)
    attrs: dict = dataclasses.field(default_factory=dict)
    fixed: dict = dataclasses.field(default_factory=dict)
    variadic: bool = False
    state: dict = dataclasses.field(default_factory=dict)
    before: Callable = staticmethod(lambda *inputs: inputs)
    after: Callable = staticmethod(lambda *outputs: outputs)


POOLS = {"SUM": "sum", "AVERAGE": "average", "SQRT": "sqrt", "MAX": "max", "LAST": "last", "FIRST": "first"}


def _pool(value):
    if value not in POOLS:
        raise ValueError(f"pooltype must be one of {', '.join(POOLS)}, got {value!r}")
    return {"pool": POOLS[value], "return_index": value == "MAX"}


def _padding(value):
    """-1 stands for none."""
    return {"padding_idx": None if value == -1 else value}


def _same(name):
    return lambda value: {name: value}


def _ignored(value):
    return {}


def _drop_last(table, ids):
    """lookup_table's ids have a last dimension of 1 that its result has not."""
    if isinstance(ids, VarDesc):
        return table, ids.but(dims=ids.dims[:-1])
    if isinstance(ids, LoDTensor):
        _check_last(ids)
        return table, ids.with_values(ids.values.reshape(ids.values.shape[:-1]))
    ids = ids if is_array(ids) else np.asarray(ids)
    _check_last(ids)
    return table, ids.reshape(ids.shape[:-1])


def _check_last(ids):
    if ids.shape[-1:] != (1,):
        raise SlotError(
            f"Ids of lookup_table end in a dimension of 1, got shape {ids.shape}; lookup_table_v2 takes these"
        )


def _plain_index(out, index=None):
    """Paddle's MaxIndex is int32 and has no LoD."""
    if index is None:
        return (out,)
    if isinstance(index, VarDesc):
        return out, index.but(lod_level=0, dtype=np.dtype(np.int32))
    return out, cast(getattr(index, "values", index), np.int32)


_LOOKUP = {
    "padding_idx": _padding,
    "is_sparse": _same("is_sparse"),
    "is_distributed": _ignored,
    "remote_prefetch": _ignored,
}
_RATE = {"LearningRate": "lr"}
TYPES = Registry(
    {
        "lookup_table": Spec(
            "lookup_table", ("W", "Ids"), attrs=_LOOKUP, fixed={"is_sparse": False}, before=_drop_last
        ),
        "lookup_table_v2": Spec("lookup_table", ("W", "Ids"), attrs=_LOOKUP, fixed={"is_sparse": False}),
        "sequence_pool": Spec(
            "sequence_pool",
            ("X",),
            ("Out", "MaxIndex"),
            attrs={"pooltype": _pool, "pad_value": _same("pad_value"), "is_test": _ignored},
            fixed=_pool("AVERAGE"),
            after=_plain_index,
        ),
        "merge_selected_rows": Spec("merge_selected_rows", ("X",)),
        "get_tensor_from_selected_rows": Spec("get_tensor_from_selected_rows", ("X",)),
        "sum": Spec("sum", ("X",), variadic=True, attrs={"use_mkldnn": _ignored}),
        "sgd": Spec("sgd", ("Param", "Grad"), ("ParamOut",), state=_RATE),
        "adagrad": Spec(
            "adagrad",
            ("Param", "Grad", "Moment"),
            ("ParamOut", "MomentOut"),
            attrs={"epsilon": _same("epsilon")},
            state=_RATE,
        ),
    }
)


def run_op(op_type, inputs, attrs=None):
    """Run an operator type of Paddle.

    Parameters
    ----------
    op_type : str
    inputs : dict
        Slot -> array, LoDTensor or SelectedRows; a list of them where Paddle takes several.
    attrs : dict, optional

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
    return _run(op_type, inputs, attrs, OPS)


def infer_op(op_type, descs, attrs=None):
    """Describe the outputs of an operator type from VarDesc of its inputs.

    Parameters
    ----------
    op_type : str
    descs : dict
        Slot -> VarDesc (or a list of them).
    attrs : dict, optional

    Returns
    -------
    dict
        Slot -> VarDesc.
    """
    return _run(op_type, descs, attrs, {name: op.infer for name, op in OPS.items()})


def _run(op_type, inputs, attrs, functions):
    spec = TYPES[op_type]
    _check_slots(op_type, spec, inputs)
    given = [inputs[slot] for slot in spec.inputs if slot in inputs]
    if spec.variadic:
        given = list(given[0]) if isinstance(given[0], list | tuple) else given
    arguments = dict(spec.fixed)
    for name, value in (attrs or {}).items():
        if name not in spec.attrs:
            raise SlotError(f"{op_type} has no attribute {name!r}; it has {', '.join(spec.attrs) or 'none'}")
        arguments |= spec.attrs[name](value)
    for slot, name in spec.state.items():
        arguments[name] = 0.0 if isinstance(inputs[slot], VarDesc) else inputs[slot]
    result = functions[spec.op](*spec.before(*given), **arguments)
    result = spec.after(*(result if isinstance(result, tuple) else (result,)))
    return dict(zip(spec.outputs, result, strict=False))


def _check_slots(op_type, spec, inputs):
    known = (*spec.inputs, *spec.state)
    for slot in known:
        if slot not in inputs:
            raise SlotError(f"{op_type} needs the input {slot}; its inputs are {', '.join(known)}")
    for slot in inputs:
        if slot not in known:
            raise SlotError(f"{op_type} has no input {slot}; its inputs are {', '.join(known)}")
