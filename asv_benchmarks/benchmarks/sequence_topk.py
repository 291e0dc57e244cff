import numpy as np

import lodkit

from . import common

POOLING = {"topks": [1, 3, 5], "channel_num": 4}


class SequenceTopK:
    def setup(self):
        rng = np.random.default_rng(0)
        n = common.lengths(10_000, 100, rng)
        self.x = lodkit.LoDTensor(rng.standard_normal(n.sum(), dtype=np.float32), [n])
        self.top, self.indices = lodkit.sequence_topk(self.x, k=5)
        self.time_gradient()

    def time_run(self):
        lodkit.sequence_topk(self.x, k=5)

    def time_gradient(self):
        lodkit.sequence_topk_grad(self.x, self.indices, self.top.values)


class AveragePooling:
    def setup(self):
        rng = np.random.default_rng(0)
        rows, columns = rng.integers(0, 31, (2, 256))
        self.row, self.column = (lodkit.LoDTensor(np.zeros(n.sum(), np.int64), [n]) for n in (rows, columns))
        n = 4 * rows * columns
        self.x = lodkit.LoDTensor(rng.standard_normal(n.sum(), dtype=np.float32), [n])
        self.out = self.time_run()
        self.time_gradient()

    def time_run(self):
        return lodkit.sequence_topk_avg_pooling(self.x, self.row, self.column, **POOLING)

    def time_gradient(self):
        lodkit.sequence_topk_avg_pooling_grad(self.x, self.row, self.column, self.out.values, **POOLING)
