"""Normalising the inputs of an operator before a kernel is chosen."""

from __future__ import annotations

import numpy as np

from ..arrays import INTEGERS, WHOLE, check_values, is_array
from ..arrays.recorded import RecordedArray
from ..arrays.remedies import Wanted, conversion_of
from ..lod import LoDTensor, RankTable, SelectedRows
from .kinds import CONTAINERS, LISTS, Dense, accept, numbers_of, on_gpu
from .usage import count_error


def accept_inputs(op, inputs):
    """Normalise inputs: lists become arrays, a LoDTensor without levels its values."""
    check_count(op, inputs)
    allowed = list(op.inputs.values())
    allowed += allowed[-1:] * (len(inputs) - len(allowed))
    names = names_of(op, inputs)
    if op.updates:
        _check_updated(op, names, inputs)
    if op.variadic:
        _check_one_by_one(op, names, inputs)
    accepted = tuple(map(accept, inputs, allowed, names))
    for x, kinds, name in zip(accepted, allowed, names, strict=False):
        if type(None) not in kinds if x is None else not isinstance(x, CONTAINERS) and not is_array(x):
            raise _misfit(op, x, kinds, name)
    if any(isinstance(x, LISTS) for x in inputs) and any(map(on_gpu, accepted)):
        return tuple(
            to_device_of(a, accepted) if isinstance(x, LISTS) else a for x, a in zip(inputs, accepted, strict=True)
        )
    return accepted


def check_count(op, inputs):
    """Raise unless there are as many inputs, or descriptions of them, as the operator takes."""
    if error := count_error(op, len(inputs)):
        raise error


def check_types(op, descs, attrs):
    """Raise if the numbers that are described are of types that the operator does not take."""
    for name, d in zip(parts_of(op, descs, attrs), descs, strict=True):
        takes = op.types.get(name)
        # Of lists without numbers NumPy makes floats.
        if d is not None and takes and (takes not in (INTEGERS, WHOLE) or min(d.dims, default=1) > 0):
            check_values(d.dtype, op.name, takes=takes, bfloat16=True)


def to_device_of(x, others):
    """Copy a NumPy array, or a LoDTensor of one, to the device of the first CUDA array among ``others``."""
    if isinstance(x, LoDTensor):
        return x.with_values(to_device_of(x.values, others))
    from ..arrays.cuda import view

    return view(numbers_of(next(filter(on_gpu, others)))).send(x).array


def names_of(op, inputs):
    """Names of inputs; a variadic operator repeats its last one."""
    names = [*op.inputs]
    return names[: len(inputs)] + names[-1:] * (len(inputs) - len(names))


def labels_of(op, inputs):
    """Names of inputs, with a number for each that a variadic operator takes last."""
    names, first = names_of(op, inputs), len(op.inputs) - 1
    return [f"{name}[{i - first}]" if op.variadic and i >= first else name for i, name in enumerate(names)]


def parts_of(op, inputs, attrs):
    """Names of inputs by which types are declared: those of their parts, where an operator takes several sorts."""
    return op._parts(inputs, attrs) if op._parts else names_of(op, inputs)


def label_of(op, i):
    """Name of input ``i``; of ``out=`` for -1."""
    return "out" if i < 0 else names_of(op, (None,) * (i + 1))[i]


#: What an input may be, and how to make one.
_WANTED: dict[type, tuple[str, str, Wanted]] = {
    Dense: ("a NumPy or CUDA array", "an array, a tensor of PyTorch or a list of numbers", "array"),
    LoDTensor: ("a LoDTensor", "LoDTensor(values, [lengths]) or LoDTensor.from_nested({})", "LoDTensor"),
    SelectedRows: ("SelectedRows", "SelectedRows(rows, {}, height)", "SelectedRows"),
    RankTable: ("a RankTable", "lod_rank_table(x)", "array"),
}


def _misfit(op, x, kinds, name):
    wanted = [words for kind, words in _WANTED.items() if kind in kinds]
    expected, remedies = (" or ".join(words) for words in zip(*(words[:2] for words in wanted), strict=True))
    if wanted[0][2] == "LoDTensor" and isinstance(x, LISTS) and not _holds_rows(x):
        remedies = "LoDTensor({}, [lengths])" if isinstance(x, list | tuple) else "LoDTensor([{}], [[1]])"
    remedies = (conversion_of(x, wanted[0][2]) or remedies).replace("{}", name)
    got = "None" if x is None else type(x).__name__
    return TypeError(f"{op.name}: {name} must be {expected}, got {got}; pass {remedies}")


def _holds_rows(x):
    """Whether a list holds lists or arrays, of which ``LoDTensor.from_nested`` makes levels."""
    return isinstance(x, list | tuple) and any(isinstance(row, list | tuple) or hasattr(row, "shape") for row in x)


def _check_one_by_one(op, names, inputs):
    for name, x in zip(names, inputs, strict=True):
        if isinstance(x, list | tuple) and any(isinstance(each, CONTAINERS) or is_array(each) for each in x):
            raise TypeError(f"{op.name} takes arrays one by one, not as a {type(x).__name__}; pass *{name}")


def _check_updated(op, names, inputs):
    for name, x in zip(names, inputs, strict=True):
        if name in op.updates and isinstance(x, LISTS):
            raise TypeError(f"{op.name}: {name} is updated in place, and a list would not be; pass an array")


def fits_plan(x, is_taken):
    """Whether a plan takes an input as it is: none, or an array that ``is_taken``, with all rows of its structure."""
    numbers = numbers_of(x)
    if isinstance(x, LoDTensor):
        return is_taken(numbers) and (not x._lod or x._lod[-1].item(-1) == numbers.shape[0])
    if isinstance(x, SelectedRows):
        return is_taken(x._rows) and is_taken(numbers) and x._rows.shape[0] == numbers.shape[0]
    return x is None or is_taken(x)


def is_ndarray(x):
    """Whether ``x`` is an array of NumPy, and of no class that derives from it."""
    return type(x) is np.ndarray


def holds_recorded(x):
    """Whether an input is a recorded array, or a LoDTensor or SelectedRows of one."""
    return isinstance(numbers_of(x), RecordedArray)
