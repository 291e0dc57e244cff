"""Nested features: Merge{Dense, Single, Multi}{Scalar, List, Map}FeatureTensors.

Lengths, keys and presence are read and returned on the CPU, wherever the values are.
"""

from __future__ import annotations

import numpy as np

from ..arrays import to_tuple
from ..lod import LoDTensor
from ..models.features import Features
from ..ops.shared.features import to_numpy


def _group_inputs(name, inputs, size, feature_ids=None):
    """Group the inputs per feature, or per set of features."""
    if not inputs or len(inputs) % size:
        raise TypeError(f"{name} takes {size} inputs for each merged feature, got {len(inputs)}")
    groups = [inputs[i : i + size] for i in range(0, len(inputs), size)]
    if feature_ids is not None and len(feature_ids) != len(groups):
        raise ValueError(f"{name}: feature_ids has {len(feature_ids)} ids for {len(groups)} features; give one each")
    return groups


def _outputs(features):
    """Return Caffe2's outputs: lengths, keys, [values_lengths, [map keys,]] values."""
    counts = () if features.values_lengths is None else (features.values_lengths.astype(np.int32),)
    map_keys = () if features.map_keys is None else (features.map_keys.values,)
    return features.lengths.astype(np.int32), features.keys, *counts, *map_keys, features.values.values


def _list(lengths, values):
    return LoDTensor(values, [to_numpy(lengths, "lengths")])


def _map(lengths, keys, values):
    return _list(lengths, keys), _list(lengths, values)


def merge_dense(values, presence, *, feature_ids):
    feature_ids = to_tuple(feature_ids, "MergeDenseFeatureTensors: feature_ids")
    return _outputs(Features.from_dense(values, feature_ids, presence))


def _merge_single(name, size, column):
    def run(*inputs, feature_ids):
        feature_ids = to_tuple(feature_ids, f"{name}: feature_ids")
        groups = _group_inputs(name, inputs, size, feature_ids)
        columns = [(key, column(*group[:-1])) for key, group in zip(feature_ids, groups, strict=True)]
        return _outputs(Features.from_columns(columns, [group[-1] for group in groups]))

    return run


def _merge_multi(name, size, features):
    def run(*inputs):
        first, *others = [features(*group) for group in _group_inputs(name, inputs, size)]
        return _outputs(first.merge(*others))

    return run


SINGLE: dict = {"Scalar": (2, lambda values: values), "List": (3, _list), "Map": (4, _map)}
MULTI: dict = {
    "Scalar": (3, lambda lengths, keys, values: Features(lengths, keys, None, values)),
    "List": (4, Features),
    "Map": (5, lambda lengths, keys, counts, map_keys, values: Features(lengths, keys, counts, values, map_keys)),
}
OPERATORS = {"MergeDenseFeatureTensors": merge_dense}
for _merge, _prefix, _kinds in ((_merge_single, "MergeSingle", SINGLE), (_merge_multi, "MergeMulti", MULTI)):
    for _kind, _how in _kinds.items():
        _name = f"{_prefix}{_kind}FeatureTensors"
        OPERATORS[_name] = _merge(_name, *_how)
