"""The concat law, for tests of both devices: ``op(concat(a, b))`` is ``concat(op(a), op(b))``, bit for bit.

It holds for results in which sequences, or rows, are apart. Which they are, which inputs belong to a batch and which
all batches share (tables, weights), is found by trying the definition.
"""

from __future__ import annotations

import itertools

import numpy as np
from conftest import copy
from samples import SAMPLES, defined
from test_every_op import is_floating, with_numbers

import lodkit
from lodkit import LoDTensor, SelectedRows
from lodkit.registry.kinds import numbers_of


def arrays_of(result):
    """The arrays of a result, without structure."""
    if isinstance(result, tuple | list):
        return [array for part in result for array in arrays_of(part)]
    if isinstance(result, SelectedRows):
        return [result.rows, result.value]
    return [numbers_of(result)] if result is not None else []


def varied(x, rng):
    """Copy an input with other digits: sums of a sample's own numbers may be exact in any order."""
    if not is_floating(x):
        return copy(x)
    numbers = numbers_of(x)
    with np.errstate(all="ignore"):
        return with_numbers(x, (numbers * (1 + 0.4 * rng.random(numbers.shape))).astype(numbers.dtype))


def joined(parts):
    """Inputs of several calls as one."""
    if isinstance(parts[0], LoDTensor):
        return lodkit.concat(parts)
    return np.concatenate(parts)


def together(inputs, batched):
    """The inputs of several calls as those of one: of each position that is batched joined, of the others the first."""
    return [joined(parts) if i in batched else copy(parts[0]) for i, parts in enumerate(zip(*inputs, strict=True))]


def is_concat(whole, parts, near=False):
    """Whether an array is others, one behind another: to the bit, or nearly."""
    if any(np.ndim(x) == 0 or x.shape[1:] != whole.shape[1:] for x in (whole, *parts)):
        return False
    expected = np.concatenate(parts)
    if expected.shape != whole.shape:
        return False
    if near and whole.dtype.kind == "f":
        tolerance = {2: 4e-3, 4: 1e-5, 8: 1e-9}[whole.dtype.itemsize]
        return np.allclose(whole, expected, rtol=tolerance, atol=tolerance, equal_nan=True)
    return np.array_equal(whole, expected, equal_nan=whole.dtype.kind == "f")


def belongs(label):
    """Whether an input of this name is always of a batch: results and their gradients are."""
    return label == "out" or label.startswith("grad")


def candidates(op, inputs):
    """Sets of positions that may belong to a batch, the smallest first: most tables and weights are shared."""
    labels = op._names(inputs)
    ragged = [i for i, x in enumerate(inputs) if isinstance(x, LoDTensor) and x.lod_level]
    ours = [*ragged, *(i for i, x in enumerate(inputs) if i not in ragged and x is not None and belongs(labels[i]))]
    sizes = {n for i in ragged for n in (len(numbers_of(inputs[i])), *(len(level) - 1 for level in inputs[i].lod()))}
    fits = (np.ndim(numbers_of(x)) and (not sizes or len(numbers_of(x)) in sizes) for x in inputs)
    others = [i for i, fit in enumerate(fits) if fit and i not in ours]
    for count in range(len(others) + 1):
        for some in itertools.combinations(others, count):
            if ours or some:
                yield frozenset([*ours, *some])


def arrays_apart(op, parts, batched, attrs):
    """Positions of the arrays of the result that are apart by the definition."""
    try:
        with np.errstate(all="ignore"):
            alone = [arrays_of(defined(op, map(copy, p), attrs)) for p in parts]
            whole = arrays_of(defined(op, together(parts, batched), attrs))
    except (lodkit.LodkitError, ValueError, TypeError, IndexError):
        return []
    if len({len(x) for x in (whole, *alone)}) > 1:
        return []
    found = enumerate(zip(whole, *alone, strict=True))
    return [k for k, (x, *others) in found if np.size(x) and is_concat(x, others, near=True)]


def find_batched(op, inputs, attrs, rng):
    """Positions of the inputs that belong to a batch, and of the arrays of the result that are apart; or None."""
    if any(isinstance(x, SelectedRows | lodkit.RankTable | list) for x in inputs):
        return None, []
    for batched in candidates(op, inputs):
        if apart := arrays_apart(op, calls_of(inputs, batched, 4, rng), batched, attrs):
            return batched, apart
    return None, []


def calls_of(inputs, batched, count, rng):
    """The inputs of several calls like one, which share what does not belong to a batch."""
    return [[varied(x, rng) if i in batched else x for i, x in enumerate(inputs)] for _ in range(count)]


def as_one_sequence(inputs, batched, rows, rng):
    """The inputs of a call with one sequence of that many rows, or some more; None where a batch has arrays, too."""
    sizes = [len(x.values) for x in (inputs[i] for i in batched) if isinstance(x, LoDTensor) and x.lod_level == 1]
    if len(sizes) < len(batched) or not all(sizes):
        return None
    count = -(-rows // min(sizes))
    long = together(calls_of(inputs, batched, count, rng), batched)
    return [LoDTensor(x.values, [[len(x.values)]]) if i in batched else x for i, x in enumerate(long)]


def representatives(name):
    """The largest sample for each set of attributes, and each type and rank of the inputs."""
    best = {}
    for inputs, attrs in SAMPLES[name]:
        accepted = lodkit.OPS[name]._accept(tuple(inputs))
        arrays = [numbers_of(x) for x in accepted if isinstance(numbers_of(x), np.ndarray)]
        size = sum(x.size for x in arrays)
        key = repr(attrs), *((type(x), x.dtype.kind) for x in accepted if hasattr(x, "dtype"))
        if key not in best or size > best[key][0]:
            best[key] = size, accepted, attrs
    return [(accepted, attrs) for _, accepted, attrs in best.values()]


def check_apart(op, attrs, parts, batched, apart, to=lambda x: x, home=lambda x: x):
    """Check that several calls and one call with all their inputs have the same bits, in arrays that are apart."""

    def run(given):
        with np.errstate(all="ignore"):
            return arrays_of(home(op.full(*map(to, map(copy, given)), **attrs)))

    whole, alone = run(together(parts, batched)), [run(p) for p in parts]
    for k in apart:
        assert is_concat(whole[k], [x[k] for x in alone]), f"array {k} of the result depends on the batch"
