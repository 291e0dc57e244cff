"""Shapes of results before there are any: fake implementations, from the operators' infer rules.

A size that infer does not know is new and unknown.
"""

from __future__ import annotations

import ast
import functools
import itertools

import numpy as np
import torch

from ...arrays.tensors import rounded_like
from ...registry import VarDesc, VarType

# Sizes get numbers from here, by which the results of infer tell them apart: multiples of a step, since rules add to
# them and subtract. Sizes that are known are smaller.
_UNKNOWN, _STEP = 1 << 40, 1 << 10
_KNOWN = 1 << 32
_DTYPES = {
    torch.float16: "float16",
    torch.float32: "float32",
    torch.float64: "float64",
    torch.int32: "int32",
    torch.int64: "int64",
    torch.uint8: "uint8",
    torch.int8: "int8",
    torch.int16: "int16",
    torch.uint16: "uint16",
    torch.uint32: "uint32",
    torch.uint64: "uint64",
    torch.bool: "bool",
    torch.bfloat16: "float32",
}
_TYPES = {name: kind for kind, name in _DTYPES.items() if kind is not torch.bfloat16}
_seen: dict = {}


@functools.lru_cache(maxsize=4096)
def parse_call(call):
    """Frames, attributes and names of a call that ``library.written`` wrote, and what follows them."""
    found = ast.literal_eval(_Numbers().visit(ast.parse(call, mode="eval")))
    return found if len(found) > 2 else (*found, ())


def resolve_call(call, tensors):
    """Frames and attributes of a call, with the numbers of attributes that are tensors: the last ones."""
    frames, attrs, names, *_ = parse_call(call)
    given = tensors[len(tensors) - len(names) :]
    return frames, {**attrs, **{name: t.item() for name, t in zip(names, given, strict=True)}}


class _Numbers(ast.NodeTransformer):
    """Writes nan and inf, which no literal is, as numbers."""

    def visit_Name(self, node):
        return ast.copy_location(ast.Constant(float(node.id)), node) if node.id in ("nan", "inf") else node


@torch.compiler.assume_constant_result
def result_levels(name, call):
    """Number of levels of each result of a call whose shapes were inferred, and whether there are several results."""
    return _seen[name, call]


def places_of(frames):
    """Position of each input's values among the tensors; None for inputs that are None."""
    places, at = [], 0
    for levels in frames:
        places.append(None if levels is None else at)
        at += 0 if levels is None else 1 + levels
    return places


def forward(op, tensors, call):
    """The fake implementation of an operator."""
    frames, attrs, names = parse_call(call)
    # No size follows from a floating number.
    attrs = {**attrs, **dict.fromkeys(names, 1.0)}
    context, numbers = functools.cache(torch.library.get_ctx), {}
    promise = _infer_sizes(op, tensors, frames, attrs, numbers)
    several = isinstance(promise, tuple)
    descs = promise if several else (promise,)
    # Attributes may change at every step; each entry is read at once.
    if len(_seen) >= 4096:
        _seen.clear()
    _seen[op.name, call] = [desc.lod_level for desc in descs], several
    flat = []
    for desc in descs:
        sizes = [_size_of(d, numbers) for d in desc.dims]
        # Of each level there is an offset more than sequences.
        counts = [_size_of(n, numbers) for n in desc.sequences or [-1] * desc.lod_level]
        offsets = [None if count is None else count + 1 for count in counts]
        made = [context().new_dynamic_size() if size is None else size for size in (*sizes, *offsets)]
        halved = desc.dtype == np.float32 and rounded_like(tensors) is not None
        kind = torch.bfloat16 if halved else _TYPES[desc.dtype.name]
        flat.append(tensors[0].new_empty(made[: len(sizes)], dtype=kind))
        flat += [torch.empty(size, dtype=torch.int64) for size in made[len(sizes) :]]
    return flat


def _size_of(number, numbers):
    """The size that a number of infer stands for; None if unknown."""
    if number < _KNOWN:
        return None if number < 0 else number
    base = (number + _STEP // 2) // _STEP * _STEP
    return numbers[base] + (number - base) if base in numbers else None


def _infer_sizes(op, tensors, frames, attrs, numbers):
    """What infer promises, of sizes that ``numbers`` stand for: where infer takes none, those of sequences alone."""
    fresh = itertools.count(_UNKNOWN, _STEP)

    def size(x, first):
        if isinstance(x, int) and not first:
            return x
        known = next((n for n, s in numbers.items() if str(s) == str(x) and not first), None)
        number = next(fresh) if known is None else known
        numbers[number] = x
        return number

    def describe(stand_in):
        for levels, at in zip(frames, places_of(frames), strict=True):
            if at is None:
                yield None
                continue
            t = tensors[at]
            dims = tuple((size(s, levels > 0 and i == 0) if stand_in else int(s)) for i, s in enumerate(t.shape))
            sequences = [size(x.shape[0] - 1, True) for x in tensors[at + 1 : at + 1 + levels]]
            yield VarDesc("", VarType.LOD_TENSOR, np.dtype(_DTYPES[t.dtype]), dims, levels, sequences=sequences)

    try:
        promise = op.full.infer(*describe(True), **attrs)
    except ValueError:
        # infer compares sizes.
        promise = None
    if promise is not None:
        several = promise if isinstance(promise, tuple) else (promise,)
        if all(d < _KNOWN or _size_of(d, numbers) is not None for desc in several for d in desc.dims):
            return promise
    # infer computes with sizes: these are taken as they are.
    numbers.clear()
    return op.full.infer(*describe(False), **attrs)


def is_sparse(op, frames, attrs, at):
    """Whether the gradient of the tensor at a place is sparse: that of a table from which rows were looked up."""
    return at in ids_by_table(op, frames, attrs)


def ids_by_table(op, frames, attrs):
    """The places of tables whose gradient is sparse, among the tensors, and of each those of its ids; None for a part
    of them, as one LoDTensor has the ids of all tables.
    """
    if not attrs.get("is_sparse", op.defaults.get("is_sparse", False)) or attrs.get("axis", 0):
        return {}
    places, names, found = places_of(frames), [*op.inputs], {}
    if "tables" in attrs:
        count, numbers = max(attrs["tables"]) + 1, attrs["tables"]
        joined = frames[count] == 2
        for k, number in enumerate(numbers):
            found.setdefault(places[number], []).append(None if joined else places[count + k])
        return found
    i = names.index("indices") if "indices" in names else names.index("ids") if "ids" in names else len(frames)
    return {0: [places[i]]} if i < len(frames) and places[i] is not None else {}


def backward(op, saved, grads, call):
    """The fake implementation of an operator's gradient."""
    frames, attrs, _, needs, _ = parse_call(call)
    flat, lookups = [], ids_by_table(op, frames, attrs)
    for at, needed in enumerate(needs):
        if not needed:
            continue
        if at in lookups:
            # The rows of padding ids are left out.
            if None in lookups[at] or attrs.get("padding_idx") is not None:
                count = torch.library.get_ctx().new_dynamic_size()
            else:
                count = sum(saved[place].numel() for place in lookups[at])
            flat.append(torch.empty(count, dtype=torch.int64, device=saved[0].device))
            flat.append(saved[at].new_empty((count, *saved[at].shape[1:])))
        else:
            flat.append(torch.empty_like(saved[at], memory_format=torch.contiguous_format))
    return flat
