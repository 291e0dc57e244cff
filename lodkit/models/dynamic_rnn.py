"""dynamic_rnn: a Python step over the time steps of a ragged batch (Paddle's DynamicRNN)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..arrays import check_values, checker, dtype_of, from_lists, is_array, one_device
from ..arrays.recorded import plain_view
from ..base.errors import DTypeError, LodkitError, LoDMismatchError, ShapeMismatchError
from ..base.tracebacks import surface
from ..lod import LoDTensor, mismatch, values_of
from ..ops import array_to_lod_tensor, lod_rank_table, lod_tensor_to_array, reorder_lod_tensor_by_rank
from ..registry.kinds import LISTS
from ..registry.open_tapes import open_tapes

_LEVEL, _REVERSE = checker(int, "level", "dynamic_rnn"), checker(bool, "reverse", "dynamic_rnn")


@surface
def dynamic_rnn(
    step: Callable[..., Any], inputs: Any, memories: Any, *, static: Any = (), level: int = 0, reverse: bool = False
) -> tuple[tuple[LoDTensor, ...], tuple[Any, ...]]:
    """Run a step over the time steps of the sequences of a level, without padding.

    All sequences run at the same time, sorted from the longest to the shortest, and the batch shrinks as they end. Each
    result is the same as alone, up to rounding. Under a ``Tape`` all is differentiated that operators and recorded
    NumPy compute: weights, inputs, static inputs and first memories.

    Parameters
    ----------
    step : callable
        ``step(inputs_t, memories, static) -> (memories, outputs)``, tuples all. Per input ``inputs_t`` has an array
        ``(running, *item)``, or, above the innermost level, a LoDTensor of the t-th sub-sequences. So a recurrence over
        sentences can call a recurrence over words. ``memories`` and ``static`` have a row, or a sequence, for each
        running one, and are read-only. The step returns memories of the same shapes and dtypes, and outputs with a row
        (or, as LoDTensors, a sequence) for each running sequence. The step must not change its results later: nothing
        is copied.
    inputs : LoDTensor, or tuple of them
        All inputs have the same structure down to ``level``.
    memories : array, or tuple of arrays
        Memories of the first step, ``(sequences, *item)``; may be ``()``.
    static : array or LoDTensor, or tuple of them
        Inputs of every step: a row, or a sequence, for each sequence.
    level : int
        The level of the sequences, all over the batch: 0 for the outermost, -1 for the innermost of the first input.
    reverse : bool
        Run from the last step of each sequence to its first; outputs stay in the order of the inputs.

    Returns
    -------
    outputs : tuple of LoDTensors
        A row per step, in the structure of the inputs down to ``level``, and below it the structure of LoDTensors that
        the step returned.
    final : tuple of arrays
        The last memories, in the order of the sequences; of empty sequences the first ones.

    Raises
    ------
    LoDMismatchError, LoDLevelError
        Inputs differ in structure, or there are not as many memories or static rows as sequences.
    TypeError, LoDMismatchError, ShapeMismatchError, DTypeError
        The step returned something else. An error inside the step has a note that names the time step.
    LodkitError
        A tape is open and the arrays are on a GPU.

    Notes
    -----
    If all sequences are empty the step runs once, on no rows, for the shapes and dtypes of its outputs.

    Examples
    --------
    >>> import numpy as np, lodkit
    >>> x = lodkit.LoDTensor([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [[2, 1, 3]])
    >>> def step(inputs, memories, static):
    ...     h = inputs[0] + 0.5 * memories[0]
    ...     return (h,), (h,)
    >>> (outputs,), (final,) = lodkit.dynamic_rnn(step, x, np.zeros(3))
    >>> outputs.to_list(), final
    ([[1.0, 2.5], [3.0], [4.0, 7.0, 9.5]], array([2.5, 3. , 9.5]))
    """
    if not callable(step):
        raise TypeError(f"dynamic_rnn: step must be a function of inputs, memories and static, got {step!r}")
    level = level if _LEVEL(level) else _LEVEL.settled(level)
    if not _REVERSE(reverse):
        raise _REVERSE.error(reverse)
    inputs, memories, static = _inputs(inputs, level), _to_tuple("memories", memories), _to_tuple("static", static)
    for i, memory in enumerate(memories):
        if isinstance(memory, LoDTensor):
            raise TypeError(f"dynamic_rnn: memories[{i}] is a LoDTensor; memories are arrays with a row a sequence")
    if one_device("dynamic_rnn", (*inputs, *memories, *static)) != "cpu" and open_tapes():
        raise LodkitError("dynamic_rnn on a GPU is not recorded on a tape; run it on the CPU, or train in PyTorch")
    table = lod_rank_table(inputs[0], level=level)
    memories, static = _rank_values("memories", memories, table), _rank_values("static", static, table)
    steps = zip(*(lod_tensor_to_array(x, table, reverse=reverse) for x in inputs), strict=True)
    arrays, memories = _run(step, steps, table.counts, memories, static)
    outputs = tuple(array_to_lod_tensor(table, *array, reverse=reverse) for array in arrays)
    return outputs, tuple(reorder_lod_tensor_by_rank(memory, table, inverse=True) for memory in memories)


def _inputs(inputs, level):
    inputs = inputs if type(inputs) is tuple else (inputs,)
    if not inputs:
        raise TypeError("dynamic_rnn needs an input, whose lengths say how often to run the step")
    for i, x in enumerate(inputs):
        if not isinstance(x, LoDTensor):
            raise TypeError(f"dynamic_rnn: inputs[{i}] must be a LoDTensor, got {type(x).__name__}; attach lengths")
        _check_type(f"inputs[{i}]", x)
    depth = inputs[0]._level(level) + 1
    first, *others = (LoDTensor._wrap(None, x._lod[:depth]) for x in inputs)
    for i, other in enumerate(others, 1):
        if not first.same_lod(other):
            raise mismatch(f"dynamic_rnn: inputs[0] against inputs[{i}]", first, other)
    return inputs


def _to_tuple(name, values):
    """Memories or static inputs as a tuple of arrays and LoDTensors."""
    if type(values) is list and any(map(_is_value, values)):
        raise TypeError(f"dynamic_rnn: {name} is a list of arrays; pass a tuple, a list of numbers is one array")
    values = values if type(values) is tuple else (values,)
    for i, x in enumerate(values):
        if not _is_value(x) and not isinstance(x, LISTS):
            raise TypeError(f"dynamic_rnn: {name}[{i}] must be an array, got {type(x).__name__}; pass () for no {name}")
    return tuple(x if _is_value(x) else from_lists(x, f"{name}[{i}]") for i, x in enumerate(values))


def _check_type(what, x):
    values = values_of(x)
    if values is not None:
        check_values(dtype_of(values), f"dynamic_rnn: {what}")


def _is_value(x):
    return isinstance(x, LoDTensor) or is_array(x)


def _rank_values(name, values, table):
    """Values with a row, or a sequence, for each sequence of the table, in its order; read-only."""
    for i, x in enumerate(values):
        _check_type(f"{name}[{i}]", x)
        what = "sequences" if isinstance(x, LoDTensor) and x.lod_level else "rows"
        count = len(x) if x.shape else None
        if count != len(table):
            raise LoDMismatchError(
                f"dynamic_rnn: {name}[{i}] has {'no' if count is None else count} {what}, the inputs have {len(table)} "
                "sequences at this level; pass one for each"
            )
    made = tuple(reorder_lod_tensor_by_rank(x, table) for x in values)
    for x in map(plain_view, map(values_of, made)):
        if isinstance(x, np.ndarray):
            x.flags.writeable = False
    return made


def _run(step, steps, running, memories, static):
    """Run the steps. Returns an array of tensors per output, and the last memories in order of rank."""
    found: list[Any] = []
    ended, now = [], None
    for t, (inputs, count) in enumerate(zip(steps, running, strict=True)):
        if count != now:
            ended.append([memory[count:] for memory in memories])
            static = tuple(x if len(x) == count else x[:count] for x in static)
            now = count
        given = tuple([_take_first(memory, count) for memory in memories])
        try:
            result = step(inputs, given, static)
        except Exception as error:
            error.add_note(f"in time step {t} of dynamic_rnn, {count} sequences run")
            raise
        memories, outputs = _check_step(result, t, count, given, found)
        found.append(outputs)
    last = [[memory, *(parts[i] for parts in reversed(ended))] for i, memory in enumerate(memories)]
    return zip(*found, strict=True), map(_join_rows, last)


def _take_first(x, count):
    """The first rows; a view that the step cannot change in place, since outputs may be the same memory."""
    if type(x) is np.ndarray:
        x = x[:count]
        x.flags.writeable = False
        return x
    # A tape records slices, and watches over changes in place.
    return x if len(x) == count else x[:count]


def _check_step(result, t, count, given, found):
    """The memories and the outputs that a step returned, which must be like those before."""
    if not (type(result) is tuple and len(result) == 2 and all(type(part) is tuple for part in result)):
        raise TypeError(
            f"dynamic_rnn: step must return (memories, outputs), two tuples, at time step {t} it returned "
            f"{_describe(result)}; a tuple of one is (x,)"
        )
    memories, outputs = result
    before = found[-1] if found else outputs
    for name, values, like in (("memories", memories, given), ("outputs", outputs, before)):
        if len(values) != len(like):
            said = f"the step got {len(like)}" if values is memories else f"{len(like)} at the step before"
            raise TypeError(f"dynamic_rnn: step returned {len(values)} {name} at time step {t}, {said}")
        for i, (x, other) in enumerate(zip(values, like, strict=True)):
            if not _is_value(x):
                said = f"at time step {t} {name}[{i}] must be an array or a LoDTensor"
                raise TypeError(f"dynamic_rnn: {said}, got {_describe(x)}")
            if not found and values is outputs:
                _check_type(f"at time step {t} {name}[{i}]", x)
            if type(x) is not type(other) or x.dtype != other.dtype or x.shape[1:] != other.shape[1:]:
                _check_like(f"dynamic_rnn: at time step {t} {name}[{i}]", x, other)
            if not x.shape or len(x) != count:
                raise LoDMismatchError(
                    f"dynamic_rnn: at time step {t} step returned {name}[{i}] with {_rows(x)}, "
                    f"but {count} sequences run; return a row for each"
                )
    return memories, outputs


def _check_like(what, x, other):
    if isinstance(x, LoDTensor) is not isinstance(other, LoDTensor):
        raise TypeError(f"{what} must be {_describe(other)}, as before, got {_describe(x)}")
    if tuple(x.shape[1:]) != tuple(other.shape[1:]):
        raise ShapeMismatchError(
            f"{what} has items of shape {tuple(x.shape[1:])}, before {tuple(other.shape[1:])}; keep the shape"
        )
    if dtype_of(values_of(x)) != dtype_of(values_of(other)):
        raise DTypeError(
            f"{what} is {x.dtype}, before {other.dtype}; convert with .astype(...), the weights or the first memories"
        )


def _rows(x):
    if not x.shape:
        return "no dimension"
    return f"{len(x)} {'sequences' if isinstance(x, LoDTensor) and x.lod_level else 'rows'}"


def _describe(x):
    if type(x) is tuple:
        return f"({', '.join(map(_describe, x))})"
    return "an array" if is_array(x) else f"a {type(x).__name__}"


def _join_rows(parts):
    """Rows of several arrays, one after another."""
    if len(parts) == 1:
        return parts[0]
    if isinstance(parts[0], np.ndarray):
        return np.concatenate(parts)
    from ..arrays.cuda import join_rows

    return join_rows(parts)
