"""Bags of many tables in one call, by the names of features."""

from __future__ import annotations

import functools
import inspect
import itertools
import math
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import numpy as np

from .. import ops
from ..arrays import are_apart, device_of, is_array
from ..arrays.tensors import changed, is_tensor, span_of
from ..arrays.types import DenseLike, Values
from ..base.errors import LoDLevelError, OutputError, ShapeMismatchError
from ..base.loading import public
from ..base.signals import uninterrupted
from ..base.suggesting import suggest_nearest
from ..base.tracebacks import surface
from ..lod import LoDTensor, values_of
from ..lod.batching import concat
from ..ops.bag_columns import naming
from ..ops.bag_updates import FUSED
from ..ops.shared.named_columns import call_columns, list_columns, list_tables, ranges_of
from ..registry.kinds import check_whole, unwrapped
from ..registry.open_tapes import listeners, note_update, open_tapes
from ..registry.tensors import Swap
from ..tape.recording import check_update_on_tape

FUSED_UPDATES = {op.name: op for op in FUSED}
PLAIN = frozenset((np.ndarray, type(None)))


@public
@surface
def embedding_bags(
    tables: Mapping[Any, DenseLike] | Sequence[DenseLike],
    columns: Mapping[Any, LoDTensor] | Sequence[LoDTensor] | LoDTensor,
    weights: Mapping[Any, DenseLike] | Sequence[DenseLike] | None = None,
    *,
    pool: Literal["sum", "mean", "sqrt", "max", "min", "prod", "logsumexp", "logmeanexp"] = "sum",
    pad_value: float = 0.0,
    padding_idx: int | None = None,
    is_sparse: bool = True,
    dtype: Literal["float32"] | None = None,
    as_dict: bool = False,
) -> Values | dict[Any, Values]:
    """Look up and pool many columns of ids, each in its table, and put the results side by side, in one call.

    ``out[:, start(name):stop(name)] = embedding_bag(tables[name], columns[name])`` for every name, to the bits of
    these calls, which take longer.

    Parameters
    ----------
    tables : dict of name to array, or list
        Tables ``(height, width)`` of one type, by the names of the *columns*. A table of items is under each name of a
        column of items, ``{"clicked": items, "bought": items, "user": users}``. An array under several names is one
        table, with one gradient. So one dictionary says which table a column reads, which widths the result has and in
        which order.
    columns : dict of name to LoDTensor, list, or LoDTensor of two levels
        Ids of one level, a bag for every row of the result; empty ones too. Columns with the same names, in any order:
        the order of a batch does not matter. ``LoDTensor.from_torch`` makes such a dictionary of TorchRec's
        KeyedJaggedTensor. The outer sequences of a LoDTensor are the columns in the order of ``tables``; it has no
        weights.
    weights : dict of name to array, or list, optional
        One number per id, of all columns, with sum and mean.
    pool, pad_value, padding_idx, is_sparse, dtype
        As in ``embedding_bag``, of all columns.
    as_dict : bool
        True returns a dictionary of the columns by name, parts of one array.

    Returns
    -------
    array of shape (bags, sum of widths)
        Columns in the order of ``tables``; or, ``as_dict``, a dictionary of arrays ``(bags, width)``. On a ``Tape`` a
        table has a gradient of SelectedRows, the sum over its columns, unless ``is_sparse=False``.

    Raises
    ------
    ValueError
        A column has no table, or a table no column.
    RowIndexError
        An id is negative or not below the height of its table; the message names the column.
    LoDMismatchError
        Columns have not as many bags.

    See Also
    --------
    Features.pool : The same of a batch of ``Features``.
    embedding_bag_columns : The operator.

    Examples
    --------
    >>> import numpy as np
    >>> items, users = np.array([[0., 1.], [2., 3.], [4., 5.]]), np.array([[10.], [20.]])
    >>> tables = {"clicked": items, "bought": items, "user": users}
    >>> columns = {
    ...     "user": LoDTensor([1, 0], [[1, 1]]),
    ...     "clicked": LoDTensor([2, 2, 1], [[2, 1]]),
    ...     "bought": LoDTensor([1], [[0, 1]]),
    ... }
    >>> embedding_bags(tables, columns)
    array([[ 8., 10.,  0.,  0., 20.],
           [ 2.,  3.,  2.,  3., 10.]])
    >>> embedding_bags(tables, columns, as_dict=True)["user"].tolist()
    [[20.0], [10.0]]
    """
    attrs = {"pool": pool, "pad_value": pad_value, "padding_idx": padding_idx, "is_sparse": is_sparse, "dtype": dtype}
    out, names, arrays = call_columns(ops.embedding_bag_columns, tables, columns, weights, attrs)
    if not as_dict:
        return out
    return {name: ops.slice_columns(out, ranges=[pair]) for name, pair in ranges_of(names, arrays).items()}


@public
@surface
def update_embedding_bags(
    rule: str,
    tables: Mapping[Any, DenseLike] | Sequence[DenseLike],
    columns: Mapping[Any, LoDTensor] | Sequence[LoDTensor],
    grad: DenseLike,
    states: Mapping[Any, Sequence[DenseLike]] | Sequence[Sequence[DenseLike]] | None = None,
    weights: Mapping[Any, DenseLike] | Sequence[DenseLike] | None = None,
    *,
    pool: Literal["sum", "mean", "sqrt"] = "sum",
    **attrs: Any,
) -> None:
    """Update all tables in place by the gradient of ``embedding_bags``, which is never written as rows.

    ``embedding_bag_<rule>`` of each table. A table that several columns read takes one step with the sum of their
    gradients: their bags are concatenated.

    Parameters
    ----------
    rule : str
        An optimizer that has an operator ``embedding_bag_<rule>``: ``"sgd"``, ``"adagrad"``, ``"rowwise_adagrad"``...
    tables, columns, weights
        As ``embedding_bags`` takes them. Tables do not overlap. Parameters of PyTorch are updated under
        ``torch.no_grad()``.
    grad : array of shape (bags, sum of widths)
        Gradient of the result.
    states : dict of name to list of arrays, or list, optional
        The states of each table, in the order of the operator; for a table under several names, under the first name.
    pool : {"sum", "mean", "sqrt"}
    **attrs
        Attributes of the operator: ``lr``, ``iteration``, ...

    Raises
    ------
    RowIndexError
        An id is no row of its table. Tables of NumPy, and of PyTorch on the CPU, are all checked, once, before the
        first is written; those on a GPU one by one.

    Examples
    --------
    >>> import numpy as np
    >>> items, users = np.ones((3, 2)), np.ones((2, 1))
    >>> tables = {"clicked": items, "bought": items, "user": users}
    >>> columns = {"clicked": LoDTensor([2, 2], [[2]]), "bought": LoDTensor([1], [[1]]), "user": LoDTensor([0], [[1]])}
    >>> update_embedding_bags("sgd", tables, columns, np.ones((1, 5)), lr=0.25)
    >>> items.tolist(), users.tolist()
    ([[1.0, 1.0], [0.75, 0.75], [0.5, 0.5]], [[0.75], [1.0]])
    """
    if not isinstance(rule, str) or f"embedding_bag_{rule}" not in FUSED_UPDATES:
        known = ", ".join(name.removeprefix("embedding_bag_") for name in FUSED_UPDATES)
        raise ValueError(
            f"rule {rule!r:.80} has no update by bags; there are {known}{suggest_nearest(rule, known.split(', '))}"
        )
    op = FUSED_UPDATES[f"embedding_bag_{rule}"]
    names, arrays = list_tables(tables)
    if isinstance(columns, LoDTensor):
        columns = columns.sequences(0)
    for name, array in zip(names, arrays, strict=True):
        if not (is_array(array) or is_tensor(array)):
            raise TypeError(f"tables[{name!r}] is {type(array).__name__}, and would not be updated; give an array")
    bags = list_columns(columns, names, "columns")
    factors = [None] * len(names) if weights is None else list_columns(weights, names, "weights")
    kept = list_states(states, names)
    parts = split_gradient(grad, names, arrays, bags)
    places: dict[int, list[int]] = {}
    for k, array in enumerate(arrays):
        places.setdefault(id(array), []).append(k)
    steps = [
        join_step([(names[k], arrays[k], bags[k], parts[k], kept[k], factors[k]) for k in ks]) for ks in places.values()
    ]
    attrs = {"pool": pool, **attrs}
    op._check_attrs(attrs)
    op._check_needed(attrs)
    check_states_given(op, steps)
    launch = op._find("cpu", op._kinds_of(())).launch
    taped = bool(open_tapes())
    made = [prepare_step(op, launch, taped, attrs, *step) for step in steps]
    refuse_shared_memory([array for _, written in made for array in written])
    with uninterrupted():
        for step, _ in made:
            step()


def list_states(states, names):
    """The states of each name, in the order of the names; none by default."""
    if states is None:
        return [()] * len(names)
    if isinstance(states, Mapping):
        if strange := [name for name in states if name not in names]:
            raise ValueError(f"states has {strange!r:.200}, which tables lacks")
        return [states.get(name, ()) for name in names]
    if not isinstance(states, list | tuple) or len(states) != len(names):
        raise ValueError(f"states must be a dictionary, or a list with the states of each of {len(names)} tables")
    return states


def split_gradient(grad, names, arrays, bags):
    """The columns of the gradient for each table, in the shape of its rows."""
    grad = grad if is_array(grad) or is_tensor(grad) else np.asarray(grad)
    shapes = [array.shape[1:] for array in arrays]
    ends, shape = [0, *itertools.accumulate(map(math.prod, shapes))], tuple(grad.shape)
    for name, column in zip(names, bags, strict=True):
        if not isinstance(column, LoDTensor) or column.lod_level != 1:
            raise LoDLevelError(f"columns[{name!r}] must be a LoDTensor of one level: LoDTensor(ids, [lengths])")
        if (len(column), ends[-1]) != shape:
            raise ShapeMismatchError(
                f"grad has shape {shape}; for {len(column)} bags of columns[{name!r}] and tables of "
                f"{ends[-1]} columns in all give {(len(column), ends[-1])}"
            )
    views = device_of(grad) != "cuda"
    parts = (
        grad[:, start:stop] if views else ops.slice_columns(grad, ranges=[(start, stop)])
        for start, stop in itertools.pairwise(ends)
    )
    pairs = zip(parts, shapes, strict=True)
    return [part if len(item) == 1 else part.reshape(part.shape[0], *item) for part, item in pairs]


def join_step(columns):
    """One step of the columns of a table: their bags one behind another."""
    name, table, ids, part, states, factor = columns[0]
    for other, _, _, _, given, _ in columns[1:]:
        if len(given) and not (len(given) == len(states) and all(map(operator.is_, given, states))):
            raise ValueError(
                f"{name!r} and {other!r} are one table with other states; pass the states of {name!r} alone"
            )
    if len(columns) > 1:
        _, _, every, parts, _, factors = zip(*columns, strict=True)
        ids, part = concat(every), concat([LoDTensor(p, [[p.shape[0]]]) for p in parts]).values
        if factor is not None:
            factor = concat([LoDTensor(values_of(f), [[values_of(f).shape[0]]]) for f in factors]).values
    return name, table, ids, part, tuple(states), factor


def check_states_given(op, steps):
    """Refuse other numbers of states than an update has."""
    needed = [state for state in op.inputs if state not in ("param", "ids", "grad", "weights")]
    least = sum(op.signature.parameters[state].default is inspect.Parameter.empty for state in needed)
    for name, _, _, _, states, _ in steps:
        if not least <= len(states) <= len(needed):
            has = f"{op.name} has the states {', '.join(needed) or '(none)'}"
            raise ValueError(f"{has}; states[{name!r}] has {len(states)}")


def prepare_step(op, launch, taped, attrs, name, table, ids, part, states, factor):
    """Make the function that updates a table. What it would refuse, but on a GPU, is refused now, and not again.

    Returns also the arrays that it will write.
    """
    inputs = plain = table, ids, part, *states, *(None,) * (len(op.inputs) - 4 - len(states)), factor
    if taped:
        check_update_on_tape(op, inputs)
    call = functools.partial(op, *inputs, **attrs)
    if device_of(table) == "cuda":
        return call, ()
    tensors, copies = (), {}
    if type(ids._values) is not np.ndarray or not PLAIN.issuperset(map(type, (table, part, *states, factor))):
        swap = Swap(op.name, op._label)
        plain = op._accept(tuple([swap.plain(unwrapped(x), i) for i, x in enumerate(inputs)]))
        tensors, copies = [inputs[i] for i in op._updated if is_tensor(inputs[i])], swap.copies
    check_whole(op.name, "ids", ids)
    later: list[Callable[[], None]] = []
    naming(f"tables[{name!r}]", launch, *plain, **attrs, later=later)
    # Tapes record a call; numbers of bfloat16 were copied, and are copied back by it.
    step = call if taped or copies else functools.partial(make_step, later[0], op, inputs, tensors)
    return step, (table, *states)


def make_step(step, op, inputs, tensors):
    """Make a step, and tell PyTorch and tapes what it has written."""
    step()
    for tensor in tensors:
        changed(tensor)
    if listeners.data:
        note_update(op, inputs)


def refuse_shared_memory(arrays):
    """Refuse tables and states that share memory, which would step twice."""
    if are_apart(arrays):
        return
    # What can be written in place is contiguous, as the checks before have found.
    spans = sorted(span_of(array) for array in arrays if array.nbytes)
    if any(first[1] > second[0] for first, second in itertools.pairwise(spans)):
        raise OutputError(
            "tables, or their states, share memory, and would step twice; give one array under all its names, and "
            "every table states of its own"
        )
