import numpy as np

import lodkit

from . import common


class WeightedSums:
    param_names = ["width", "ids"]
    params = [[1, 64], ["uniform", "zipf"]]

    def setup(self, width, kind):
        rng = np.random.default_rng(0)
        self.data, self.grad = common.table(rng, width), common.gradient(rng, width, kind)
        self.one, self.other = np.ones(1, np.float32), np.full(1, -1e-3, np.float32)
        self.time_scatter()
        self.time_dense()

    def time_scatter(self, *_):
        lodkit.scatter_weighted_sum(self.data, self.one, self.grad.rows, self.grad.value, self.other)

    def time_dense(self, *_):
        lodkit.weighted_sum(self.data, self.one, self.data, self.other)
