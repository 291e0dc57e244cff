import numpy as np

import lodkit

from . import common

EXAMPLES, KEYS = 4096, 8


def batch(rng, kind="list"):
    """Examples with some of 8 keys, 10 ids per key on average."""
    keep = rng.random((EXAMPLES, KEYS)) < 0.8
    keys = np.nonzero(keep)[1]
    counts = rng.integers(0, 21, len(keys)) if kind == "list" else None
    values = rng.integers(0, common.ROWS, counts.sum()) if kind == "list" else rng.standard_normal(len(keys))
    return lodkit.Features(keep.sum(1), keys, counts, values)


class Merge:
    param_names = ["name"]
    params = [["merge_features", "stack_features", "pack_features", "select_features"]]

    def setup(self, name):
        rng = np.random.default_rng(0)
        features = batch(rng)
        values = features.values.with_values(features.values.values.astype(np.float32))
        columns = [features.feature(key) for key in range(KEYS)]
        columns = [c.with_values(c.values.astype(np.float32)) for c in columns]
        dense = rng.standard_normal((EXAMPLES, 64), dtype=np.float32)
        masks = {"presence": rng.random(dense.shape) < 0.8}
        self.inputs, self.attrs = {
            "merge_features": ((values, values), {}),
            "stack_features": (columns, {"presence": [features.has(key) for key in range(KEYS)]}),
            "pack_features": ((dense,), masks),
            "select_features": ((values,), {"keys": features.keys, "feature_keys": range(KEYS)}),
        }[name]
        out = lodkit.run(name, *self.inputs, **self.attrs)
        grad = np.ones_like(out.values)
        first = name in ("merge_features", "stack_features")
        self.back = (grad, *self.inputs) if first else (*self.inputs, grad)
        self.time_gradient(name)

    def time_run(self, name):
        lodkit.run(name, *self.inputs, **self.attrs)

    def time_gradient(self, name):
        lodkit.run(f"{name}_grad", *self.back, **self.attrs)


class Pool:
    """Eight tables, against a loop over precomputed bags."""

    def setup(self):
        rng = np.random.default_rng(0)
        self.features = batch(rng)
        self.tables = {key: common.table(rng, 32) for key in range(KEYS)}
        self.bags = [self.features.feature(key) for key in range(KEYS)]
        self.time_pool()

    def time_pool(self):
        self.features.pool(self.tables)

    def time_bags_alone(self):
        for table, ids in zip(self.tables.values(), self.bags, strict=True):
            lodkit.embedding_bag(table, ids)


class Dictionaries:
    def setup(self):
        self.features = batch(np.random.default_rng(0))
        self.lists = self.features.to_list()

    def time_from_list(self):
        lodkit.Features.from_list(self.lists)

    def time_to_list(self):
        self.features.to_list()

    def time_slice(self):
        self.features[100:200]
