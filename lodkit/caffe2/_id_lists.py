"""Lists of ids, the largest of each segment, and rows split over shards."""

from __future__ import annotations

import numpy as np

from .. import ops
from ..lod_tensor import LoDTensor


def unique(indices):
    distinct, remapping = ops.unique(indices, return_inverse=True)
    return distinct.astype(indices.dtype), remapping.astype(np.int32)


def merge_id_lists(*lengths_and_values):
    pairs = zip(lengths_and_values[::2], lengths_and_values[1::2], strict=True)
    merged = ops.merge_id_lists(*(LoDTensor(values, [lengths]) for lengths, values in pairs))
    return merged.lengths().astype(np.int32), merged.values.astype(lengths_and_values[1].dtype)


def find(index, query, *, missing_value=-1):
    return ops.find(index, query, missing_value=missing_value).astype(np.int32)


def lengths_top_k(data, lengths, *, k=1):
    values, indices = ops.lengths_top_k(data, lengths, k=k)
    return values, indices.astype(np.int32)


def lengths_split(lengths, n_split_input=None, *, n_split=None):
    if (n_split is None) == (n_split_input is None):
        raise TypeError("LengthsSplit takes n_split as an argument or as a second input, and not as both")
    parts = n_split if n_split_input is None else np.asarray(n_split_input).item()
    return ops.lengths_split(lengths, n_split=parts).astype(np.int32)


def partition(keys, *data, num_outputs, pack_first_input=0):
    parts = ops.partition(keys, *data, num_outputs=num_outputs, pack_first_input=bool(pack_first_input))
    return _as_given(parts, (keys,), 1 + len(data))


def lengths_partition(lengths, keys, *data, num_outputs, pack_first_input=0):
    attrs = {"num_outputs": num_outputs, "pack_first_input": bool(pack_first_input)}
    return _as_given(ops.lengths_partition(lengths, keys, *data, **attrs), (lengths, keys), 2 + len(data))


def _as_given(parts, integers, inputs):
    """The outputs that stand for lengths and keys, in the types of these."""
    return tuple(x.astype(integers[i % inputs].dtype) if i % inputs < len(integers) else x for i, x in enumerate(parts))


OPERATORS = {
    "Unique": unique,
    "MergeIdLists": merge_id_lists,
    "FindDuplicateElements": lambda data: ops.find_duplicate_elements(data),
    "Find": find,
    "LengthsTopK": lengths_top_k,
    "LengthsSplit": lengths_split,
    "Partition": partition,
    "LengthsPartition": lengths_partition,
    "GatherByKey": lambda keys, *data: ops.gather_by_key(keys, *data),
}
