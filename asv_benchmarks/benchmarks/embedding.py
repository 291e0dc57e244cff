import itertools

import numpy as np

import lodkit

from . import common


class EmbeddingBag:
    param_names = ["pool", "width", "ids"]
    params = [["sum", "mean", "max"], [64, 128], ["uniform", "zipf"]]

    def setup(self, pool, width, kind):
        rng = np.random.default_rng(0)
        self.table, self.ids = common.table(rng, width), common.ids(rng, kind=kind)
        self.out = lodkit.embedding_bag(self.table, self.ids, pool=pool)
        self.time_gradient(pool)

    def time_run(self, pool, *_):
        lodkit.embedding_bag(self.table, self.ids, pool=pool, out=self.out)

    def time_gradient(self, pool, *_):
        lodkit.embedding_bag_grad(self.table, self.ids, self.out, pool=pool)


class LowPrecision:
    """Bags of fresh ids from a table of a million rows of 64 in types of two bytes, beside float32."""

    param_names = ["dtype"]
    params = [["float32", "float16", "bfloat16"]]

    def setup(self, dtype):
        rng = np.random.default_rng(0)
        height = 1_000_000
        self.table = common.rounded(rng.standard_normal((height, 64), dtype=np.float32), dtype)
        self.batches = itertools.cycle([common.ids(rng, height) for _ in range(16)])
        self.time_run(dtype)

    def time_run(self, dtype):
        lodkit.embedding_bag(self.table, next(self.batches))


class WeightedBag:
    param_names = ["pool", "width", "ids"]
    params = [["sum", "mean"], [64, 128], ["uniform", "zipf"]]

    def setup(self, pool, width, kind):
        rng = np.random.default_rng(0)
        self.table, self.ids = common.table(rng, width), common.ids(rng, kind=kind)
        self.weights = np.ones(len(self.ids.values), np.float32)
        self.time_run(pool)

    def time_run(self, pool, *_):
        lodkit.embedding_bag(self.table, self.ids, self.weights, pool=pool)


class Lookup:
    param_names = ["width"]
    params = [[16, 64]]

    def setup(self, width):
        rng = np.random.default_rng(0)
        self.table, self.ids = common.table(rng, width), common.ids(rng).values
        self.rows = lodkit.lookup_table(self.table, self.ids)
        self.time_dense_gradient(width)

    def time_run(self, width):
        lodkit.lookup_table(self.table, self.ids)

    def time_dense_gradient(self, width):
        lodkit.lookup_table_grad(self.table, self.ids, self.rows, is_sparse=False)
