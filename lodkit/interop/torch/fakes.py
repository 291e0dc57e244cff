"""Shapes of results before there are any: fake implementations, from the operators' infer rules.

A size that infer does not know is that of an input where the operator says so, and new and unknown otherwise.
"""

from __future__ import annotations

import ast
import functools
import itertools

import numpy as np
import torch

from ...arrays.tensors import rounded_like
from ...registry import VarDesc, VarType

#: Operators that give a row for each sequence of an input, which loses the level that they read: number of the input.
POOLS = {"embedding_bag": 1, "quantized_embedding_bag": 1, "sequence_pool": 0, "linear_chain_crf": 0, "ctc_loss": 0}
#: Operators of which some results have a row for each sequence of the first input: numbers of these results.
LAST_STATES = {"gru": (1,), "lstm": (1, 2), "simple_rnn": (1,)}
#: Operators whose first result is padded: a row for each sequence, but no structure.
PADS = {"sequence_pad": 0}
#: Operators that give a row for each segment, by how segments are described: rows beyond the segments.
SEGMENTS = {"lengths": 0, "offsets": -1}
#: Operators that give sequences as long as those of their first ragged input, as those do that take row by row.
KEEP_STRUCTURE = {
    *("sequence_softmax", "sequence_log_softmax", "sequence_attention", "sequence_reverse", "sequence_cumsum"),
    *("sequence_center", "sequence_conv", "row_conv", "add_position_encoding", "per_sequence"),
    *("gru", "lstm", "simple_rnn", "gather"),
}
# Unknown sizes get numbers from here, by which the results of infer tell them apart.
_UNKNOWN = 1_000_003
_DTYPES = {
    torch.float16: "float16",
    torch.float32: "float32",
    torch.float64: "float64",
    torch.int32: "int32",
    torch.int64: "int64",
    torch.uint8: "uint8",
    torch.int8: "int8",
    torch.int16: "int16",
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
    places, numbers = places_of(frames), {}
    context = functools.cache(torch.library.get_ctx)
    promise = _infer_sizes(op, tensors, frames, attrs, places, numbers)
    several = isinstance(promise, tuple)
    descs = promise if several else (promise,)
    # Attributes may change at every step; each entry is read at once.
    if len(_seen) >= 4096:
        _seen.clear()
    _seen[op.name, call] = [desc.lod_level for desc in descs], several
    flat = []
    for k, desc in enumerate(descs):
        offsets = _offsets(op, tensors, frames, places, desc, k)
        first = _unknown_rows(op, tensors, frames, attrs, places, k)
        sizes = [numbers.get(d, d) if d != -1 else None for d in desc.dims]
        if desc.dims and desc.dims[0] == -1:
            sizes[0] = first
        sizes = [context().new_dynamic_size() if size is None else size for size in sizes]
        halved = desc.dtype == np.float32 and rounded_like(tensors) is not None
        kind = torch.bfloat16 if halved else _TYPES[desc.dtype.name]
        flat.append(tensors[0].new_empty(sizes, dtype=kind))
        for level in range(desc.lod_level):
            size = offsets[level] if offsets else context().new_dynamic_size()
            flat.append(torch.empty(size, dtype=torch.int64))
    return flat


def _infer_sizes(op, tensors, frames, attrs, places, numbers):
    """What infer promises, of sizes that are stood for by numbers; those of ``numbers`` where infer takes none."""
    fresh = itertools.count(_UNKNOWN)

    def size(x, first):
        if isinstance(x, int) and not first:
            return x
        known = next((n for n, s in numbers.items() if str(s) == str(x) and not first), None)
        number = next(fresh) if known is None else known
        numbers[number] = x
        return number

    def describe(stand_in):
        for levels, at in zip(frames, places, strict=True):
            if at is None:
                yield None
                continue
            t = tensors[at]
            dims = tuple((size(s, levels > 0 and i == 0) if stand_in else int(s)) for i, s in enumerate(t.shape))
            yield VarDesc("", VarType.LOD_TENSOR, np.dtype(_DTYPES[t.dtype]), dims, levels)

    try:
        promise = op.full.infer(*describe(True), **attrs)
    except ValueError:
        # infer compares sizes.
        promise = None
    if promise is not None:
        several = promise if isinstance(promise, tuple) else (promise,)
        if all(d < _UNKNOWN or d in numbers for desc in several for d in desc.dims):
            return promise
    # infer computes with sizes: these are taken as they are.
    numbers.clear()
    return op.full.infer(*describe(False), **attrs)


def _unknown_rows(op, tensors, frames, attrs, places, k):
    """The rows of the k-th result where infer does not know them, or None."""
    of = PADS.get(op.name, _pooled_input(op, k))
    if of is not None and frames[of]:
        level = attrs.get("level", op.defaults.get("level", -1)) % frames[of]
        return tensors[places[of] + 1 + level].shape[0] - 1
    by = attrs.get("by", op.defaults.get("by"))
    if "segments" in op.inputs and attrs.get("num_segments") is None and by in SEGMENTS:
        return tensors[places[1]].shape[0] + SEGMENTS[by]
    return None


def _pooled_input(op, k):
    """The number of the input of which the k-th result has a row for each sequence; None if it has not."""
    return 0 if k in LAST_STATES.get(op.name, ()) else POOLS.get(op.name)


def _offsets(op, tensors, frames, places, desc, k):
    """Sizes of the offsets of the k-th result, which has levels; None if unknown.

    They are those of the input whose structure it takes.
    """
    pooled = _pooled_input(op, k)
    if pooled is not None and frames[pooled]:
        at = places[pooled]
        return [tensors[at + 1 + level].shape[0] for level in range(desc.lod_level)]
    for levels, at in zip(frames, places, strict=True):
        if levels and levels == desc.lod_level and (op.rowwise or op.name in KEEP_STRUCTURE):
            return [tensors[at + 1 + level].shape[0] for level in range(levels)]
    return None


def is_sparse(op, frames, attrs, at):
    """Whether the gradient of the tensor at a place is sparse: that of a table from which rows were looked up."""
    if at != 0 or not attrs.get("is_sparse", op.defaults.get("is_sparse", False)) or attrs.get("axis", 0):
        return False
    return ids_of(op, frames) is not None


def ids_of(op, frames):
    """The place of the ids of a lookup among the tensors, or None."""
    names = [*op.inputs]
    i = names.index("indices") if "indices" in names else names.index("ids") if "ids" in names else len(frames)
    return places_of(frames)[i] if i < len(frames) else None


def backward(op, saved, grads, call):
    """The fake implementation of an operator's gradient."""
    frames, attrs, _, needs, _ = parse_call(call)
    flat = []
    for at, needed in enumerate(needs):
        if not needed:
            continue
        if is_sparse(op, frames, attrs, at):
            count = saved[ids_of(op, frames)].numel()
            # The rows of padding ids are left out.
            if attrs.get("padding_idx") is not None:
                count = torch.library.get_ctx().new_dynamic_size()
            flat.append(torch.empty(count, dtype=torch.int64, device=saved[0].device))
            flat.append(saved[at].new_empty((count, *saved[at].shape[1:])))
        else:
            flat.append(torch.empty_like(saved[at], memory_format=torch.contiguous_format))
    return flat
