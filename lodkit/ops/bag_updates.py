"""Updates of a table by the gradient of ``embedding_bag``, which is never stored: one for each optimizer."""

from __future__ import annotations

import inspect
import textwrap
import typing
from typing import Literal

import numpy as np

from ..arrays import check_gradient, check_rows
from ..lod import LoDTensor
from ..registry import Dense, op
from .adam_optimizers import adam, adamax, adamw, nadam, radam, rowwise_adam
from .embedding import check_bag, embedding_bag_grad
from .moment_optimizers import adadelta, lion, momentum, rmsprop
from .optimizers import adagrad, decayed_adagrad, ftrl, proximal_adagrad, proximal_gd, rowwise_adagrad, sgd
from .segments import check_weights
from .shared import plain
from .shared.updates import check_grad_dtype, check_states, check_target

MeanPool = Literal["sum", "mean", "sqrt"]
#: Attributes of optimizers that the fused ones lack: they are lazy, and have no gradient to take the norm of.
ABSENT = ("lazy", "clip_norm", "mask", "rounding_seed", "return_step")

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


def prepare_bag_update(on, name, param, ids, grad, names, states, weights, pool, traits):
    """Check all inputs. Returns the bags, a LoDTensor of one id per row, and their ids."""
    bags = check_bag(ids)
    check_rows(param, "param")
    check_states(name, check_target(name, param), names, states, **traits.kinds(states))
    check_gradient(grad, (len(bags._row_offsets()) - 1, *param.shape[1:]))
    check_grad_dtype(name, param, grad)
    if weights is not None:
        check_weights(weights, len(bags.values), param.dtype, pool)
    flat = on.checked_ids(bags.values, len(param))
    read = (grad, bags.values) if weights is None else (grad, bags.values, weights)
    on.refuse_overlap("param", param, (*read, *states))
    for i, state in enumerate(states):
        on.refuse_overlap(names[i], state, (*read, *states[i + 1 :]))
    return bags, flat


def _document(update, names, attrs, systems):
    """The docstring of a fused update."""
    shapes = dict.fromkeys(names, "np.zeros((3, 2))")
    if update.definition.traits.rowwise:
        shapes[names[-1]] = "np.zeros(3)"
    required = [n for n in names if n == "linear" or update.signature.parameters[n].default is not None]
    call = ["param", "LoDTensor([2, 2], [[2]])", "grad", *(shapes[n] for n in required), "lr=0.5"]
    rest = ", ".join([*names, *(name for name in attrs if name != "pool")])
    return DOC.format(
        name=update.name,
        states="".join(f"{name}, " for name in names),
        rest=textwrap.fill(rest, 115, subsequent_indent="    "),
        systems=systems,
        example=", ".join(call + ["iteration=0"] * ("iteration" in attrs)),
    )


def fused(update, systems=""):
    """Make the operator ``embedding_bag_<update>``."""
    name, traits = f"embedding_bag_{update.name}", update.definition.traits
    parameters = inspect.signature(update.definition).parameters
    names = [*update.inputs][2:]

    def definition(param, ids, grad, *given, pool="sum", **attrs):
        states, weights = states_of(names, given)
        bags, _ = prepare_bag_update(plain, name, param, ids, grad, names, states, weights, pool, traits)
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
    definition.__doc__ = _document(update, names, attrs, systems)
    definition.update = update
    return op(definition, updates=("param", *names))


_CAFFE2 = "Caffe2's {}SparseAdagradFusedWithSparseLengths{{Sum, Mean, WeightedSum}}Gradient"
embedding_bag_sgd = fused(sgd)
embedding_bag_adagrad = fused(adagrad, f"\n    {_CAFFE2.format('')}.")
embedding_bag_rowwise_adagrad = fused(
    rowwise_adagrad, f"\n    {_CAFFE2.format('RowWise')},\n    FBGEMM's fused exact_rowwise_adagrad."
)
embedding_bag_decayed_adagrad = fused(decayed_adagrad)
embedding_bag_proximal_gd = fused(proximal_gd)
embedding_bag_proximal_adagrad = fused(proximal_adagrad)
embedding_bag_ftrl = fused(ftrl)
embedding_bag_momentum = fused(momentum)
embedding_bag_adadelta = fused(adadelta)
embedding_bag_rmsprop = fused(rmsprop)
embedding_bag_lion = fused(lion)
embedding_bag_adam = fused(adam)
embedding_bag_rowwise_adam = fused(rowwise_adam)
embedding_bag_adamw = fused(adamw)
embedding_bag_adamax = fused(adamax)
embedding_bag_nadam = fused(nadam)
embedding_bag_radam = fused(radam)


def _example_of(update):
    def example(dtype):
        (param, _, *states), attrs = update.example_function(dtype)[0]
        return [((param, LoDTensor(np.array([0, 2, 2]), [[1, 2]]), param[:2].copy(), *states), attrs)]

    return example


FUSED = [x for x in vars().copy().values() if hasattr(getattr(x, "definition", None), "update")]
for _operator in FUSED:
    _operator.example(_example_of(_operator.definition.update))
