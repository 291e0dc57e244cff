import numpy as np

import lodkit

from . import common


class Scatter:
    param_names = ["width", "ids"]
    params = [[1, 64], ["uniform", "zipf"]]

    def setup(self, width, kind):
        rng = np.random.default_rng(0)
        self.data, self.grad = common.table(rng, width), common.gradient(rng, width, kind)
        self.one, self.other = np.ones(1, np.float32), np.full(1, -1e-3, np.float32)
        self.positions = (self.grad.rows % common.ROWS).reshape(-1, 1).repeat(width, 1)
        for run in (self.time_assign, self.time_add, self.time_elements, self.time_weighted_sum):
            run()

    def time_assign(self, *_):
        lodkit.scatter_assign(self.data, self.grad.rows, self.grad.value)

    def time_add(self, *_):
        lodkit.scatter_weighted_sum(self.data, self.one, self.grad.rows, self.grad.value, self.other)

    def time_elements(self, *_):
        lodkit.scatter(self.data, self.positions, self.grad.value, axis=0)

    def time_weighted_sum(self, *_):
        lodkit.weighted_sum(self.data, self.one, self.data, self.other)
