"""Id lists, top-k per segment, and rows split over shards."""

from __future__ import annotations

from .. import ops
from ._common import check_int32, int32, lod_tensor, number, widest


def unique(indices):
    distinct, remapping = ops.unique(indices, return_inverse=True)
    return widest(distinct, indices), int32(remapping, below=len(remapping))


def merge_id_lists(*lengths_and_values):
    lengths, values = lengths_and_values[::2], lengths_and_values[1::2]
    if not lengths or len(lengths) != len(values):
        raise TypeError(
            f"MergeIdLists takes alternating lengths and values, two per list; got {len(lengths_and_values)}"
        )
    merged = ops.merge_id_lists(*map(lod_tensor, values, lengths))
    return int32(merged.lengths()), widest(merged.values, *values)


def find(index, query, *, missing_value=-1):
    check_int32("Find: missing_value", missing_value)
    return int32(ops.find(index, query, missing_value=missing_value), below=len(index))


def lengths_top_k(data, lengths, *, k=1):
    values, indices = ops.lengths_top_k(data, lengths, k=k)
    return values, int32(indices, below=len(data))


def lengths_split(lengths, n_split_input=None, *, n_split=None):
    if n_split is None and n_split_input is None:
        raise TypeError("LengthsSplit takes n_split as an argument, or as a second input, which has precedence")
    parts = n_split if n_split_input is None else number(n_split_input, "n_split")
    return int32(ops.lengths_split(lengths, n_split=parts))


def partition(keys, *data, num_outputs, pack_first_input=0):
    parts = ops.partition(keys, *data, num_outputs=num_outputs, pack_first_input=bool(pack_first_input))
    return _cast_like(parts, (keys,), 1 + len(data))


def lengths_partition(lengths, keys, *data, num_outputs, pack_first_input=0):
    attrs = {"num_outputs": num_outputs, "pack_first_input": bool(pack_first_input)}
    return _cast_like(ops.lengths_partition(lengths, keys, *data, **attrs), (lengths, keys), 2 + len(data))


def _cast_like(parts, integers, inputs):
    """Cast the outputs for lengths and keys to the dtypes of these inputs."""
    return tuple(widest(x, integers[i % inputs]) if i % inputs < len(integers) else x for i, x in enumerate(parts))


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
