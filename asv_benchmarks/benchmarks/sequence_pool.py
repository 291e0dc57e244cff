import numpy as np

import lodkit

from . import common


class SequencePool:
    param_names = ["pool", "width"]
    params = [["sum", "mean", "max", "logsumexp", "last"], [1, 16, 64]]

    def setup(self, pool, width):
        rng = np.random.default_rng(0)
        n = common.lengths(10_000, 20, rng)
        values = rng.standard_normal((n.sum(), width), dtype=np.float32)
        self.x = lodkit.LoDTensor(values, [n])
        self.out = lodkit.sequence_pool(self.x, pool=pool)
        self.time_gradient(pool)

    def time_run(self, pool, *_):
        lodkit.sequence_pool(self.x, pool=pool, out=self.out)

    def time_gradient(self, pool, *_):
        lodkit.sequence_pool_grad(self.x, self.out, self.out, pool=pool)


class SmallIntegers:
    """Sums of 2 million numbers of one byte and two, which are int64 or uint64."""

    param_names = ["dtype"]
    params = [["uint8", "int16", "bool"]]

    def setup(self, dtype):
        rng = np.random.default_rng(0)
        n = common.lengths(100_000, 20, rng)
        self.x = lodkit.LoDTensor(rng.integers(0, 2, n.sum()).astype(dtype), [n])
        self.time_sum(dtype)

    def time_sum(self, dtype):
        lodkit.sequence_pool(self.x, pool="sum")


class Small:
    """Overhead per call, on ten sequences of five rows."""

    param_names = ["width"]
    params = [[1, 16]]

    def setup(self, width):
        self.x = lodkit.LoDTensor(np.ones((50, width), np.float32), [[5] * 10])
        lodkit.sequence_pool(self.x)

    def time_run(self, width):
        lodkit.sequence_pool(self.x)
