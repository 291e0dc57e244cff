"""Updates of a table by the gradient of ``embedding_bag``, which is never stored: one for each optimizer."""

from __future__ import annotations

import inspect
import textwrap
import typing
from typing import Literal

import numpy as np

from ..arrays import FLOATING, check_gradient, check_rows, compute_dtype
from ..lod import LoDTensor, check_bag
from ..registry import Dense, op, takes_bfloat16
from . import adam_optimizers, moment_optimizers, optimizers
from .embedding import embedding_bag_grad
from .segments import check_weights
from .shared import plain
from .shared.optimizer_record import optimizers_in
from .shared.updates import check_grad_dtype, check_states, check_target

DOCS_PAGE = "update-bags"
SEARCH_WORDS = {
    "embedding_bag_sgd": "fused optimizer, fused backward, TBE, EXACT_SGD",
    "embedding_bag_adagrad": "fused adagrad, EXACT_ADAGRAD",
    "embedding_bag_adam": "fused adam",
    "embedding_bag_rowwise_adagrad": "EXACT_ROWWISE_ADAGRAD, fused rowwise adagrad",
}

MeanPool = Literal["sum", "mean", "sqrt"]
#: Attributes of optimizers that the fused ones lack: they are lazy, and have no gradient to take the norm of.
ABSENT = ("lazy", "clip_norm", "mask", "rounding_seed", "return_step")

_CAFFE2 = "Caffe2's {}SparseAdagradFusedWithSparseLengths{{Sum, Mean, WeightedSum}}Gradient"
#: Name of an optimizer -> whose fused update it is.
SYSTEMS = {
    "adagrad": f"\n    {_CAFFE2.format('')}.",
    "rowwise_adagrad": f"\n    {_CAFFE2.format('RowWise')},\n    FBGEMM's fused exact_rowwise_adagrad.",
}

DOC = """``{name}`` of a table by the gradient of ``embedding_bag``, in one pass over the rows; returns what changed.

    The same as ``{name}(param, table_grad, {states}lazy=True)`` with ``table_grad = embedding_bag_grad(param, ids,
    grad, weights, pool=pool)``, without an array of one row per id: rows that no id names stay as they are.{systems}

    Parameters
    ----------
    param : array of shape (height, *item)
        The table.
    ids : LoDTensor of int32 or int64
        The innermost sequences are the bags.
    grad : array of shape (bags, *item)
        Gradient of the result of ``embedding_bag``.
    weights : array of shape (number of ids,), optional
        One factor per id, with sum and mean.
    pool : {{"sum", "mean", "sqrt"}}
    {rest}
        As in ``{name}``.

    Raises
    ------
    RowIndexError
        An id is negative or not below the height. Nothing was changed then.

    >>> param, grad = np.ones((3, 2)), np.ones((1, 2))
    >>> _ = embedding_bag_{name}({example})
    >>> param[:2]
    array([[1., 1.],
           [1., 1.]])
    """


def states_of(names, given):
    """The states and the weights, of the inputs after the gradient: absent ones are None or left out."""
    slots = (*given, *(None,) * (len(names) + 1 - len(given)))
    return tuple(x for x in slots[:-1] if x is not None), slots[-1]


def prepare_bag_update(on, name, param, ids, grad, names, states, weights, pool, optimizer):
    """Check all inputs. Returns the bags, a LoDTensor of one id per row, and their ids."""
    bags = check_bag(ids)
    check_rows(param, "param")
    check_states(name, check_target(name, param), names, states, **optimizer.kinds(states))
    check_gradient(grad, (len(bags._row_offsets()) - 1, *param.shape[1:]), bfloat16=True)
    check_grad_dtype(name, param, grad)
    if weights is not None:
        # Weights of float32, which an update does not round, go with a parameter of bfloat16.
        like = param.dtype if weights.dtype == param.dtype else compute_dtype(param.dtype)
        check_weights(weights, len(bags.values), like, pool)
    flat = on.checked_ids(bags.values, len(param))
    read = (grad, bags.values) if weights is None else (grad, bags.values, weights)
    on.refuse_overlap("param", param, (*read, *states))
    for i, state in enumerate(states):
        on.refuse_overlap(names[i], state, (*read, *states[i + 1 :]))
    return bags, flat


def _document(update, names, attrs):
    """The docstring of a fused update."""
    optimizer = update.definition.optimizer
    shapes = (optimizer.layout(name, (3, 2), np.float64)[0] for name in optimizer.list_states())
    zeros = (f"np.zeros({shape if len(shape) > 1 else shape[0]})" for shape in shapes)
    call = ["param", "LoDTensor([2, 2], [[2]])", "grad", *zeros, "lr=0.5"]
    rest = ", ".join([*names, *(name for name in attrs if name != "pool")])
    return DOC.format(
        name=update.name,
        states="".join(f"{name}, " for name in names),
        rest=textwrap.fill(rest, 115, subsequent_indent="    "),
        systems=SYSTEMS.get(update.name, ""),
        example=", ".join(call + ["iteration=0"] * ("iteration" in attrs)),
    )


def fused(update):
    """Make the operator ``embedding_bag_<update>``."""
    name, optimizer = f"embedding_bag_{update.name}", update.definition.optimizer
    parameters = inspect.signature(update.definition).parameters
    names = [*optimizer.states]

    def definition(param, ids, grad, *given, pool="sum", **attrs):
        states, weights = states_of(names, given)
        bags, _ = prepare_bag_update(plain, name, param, ids, grad, names, states, weights, pool, optimizer)
        by_rows = embedding_bag_grad.definition(param, bags, grad, weights, pool=pool)
        return update.definition(param, by_rows, *states, lazy=True, **attrs)

    only, keyword = inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.KEYWORD_ONLY
    inputs = {"param": "Dense", "ids": "LoDTensor", "grad": "Dense"}
    made = [inspect.Parameter(n, only, annotation=a) for n, a in inputs.items()]
    made += [parameters[n] for n in names]
    made += [inspect.Parameter("weights", only, default=None, annotation="Dense | None")]
    made += [p for p in parameters.values() if p.kind is keyword and p.name not in ABSENT]
    made += [inspect.Parameter("pool", keyword, default="sum", annotation="MeanPool")]
    hints = {**typing.get_type_hints(update.definition), "param": Dense, "ids": LoDTensor, "grad": Dense}
    attrs = [p.name for p in made if p.kind is keyword]
    definition.__signature__ = inspect.Signature(
        made, return_annotation=update.signature.return_annotation if names else "Dense"
    )
    hints |= {"weights": Dense | None, "pool": MeanPool, **({} if names else {"return": Dense})}
    definition.__annotations__ = hints
    definition.__name__ = definition.__qualname__ = name
    definition.__doc__ = _document(update, names, attrs)
    definition.update = update
    fused_update = op(definition, updates=("param", *names), types=FLOATING)
    takes_bfloat16(fused_update)
    return fused_update


def _example_of(update):
    def example(dtype):
        (param, _, *states), attrs = update.example_function(dtype)[0]
        return [((param, LoDTensor(np.array([0, 2, 2]), [[1, 2]]), param[:2].copy(), *states), attrs)]

    return example


FUSED = [
    fused(update) for family in (optimizers, moment_optimizers, adam_optimizers) for update in optimizers_in(family)
]
globals().update((_operator.name, _operator) for _operator in FUSED)
for _operator in FUSED:
    _operator.example(_example_of(_operator.definition.update))
