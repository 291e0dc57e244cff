import numpy as np

import lodkit

from . import common


class Scatter:
    param_names = ["width", "ids"]
    params = [[1, 64], ["uniform", "zipf"]]

    def setup(self, width, kind):
        rng = np.random.default_rng(0)
        self.data, self.grad = common.table(rng, width), common.gradient(rng, width, kind)
        self.positions = self.grad.rows.reshape(-1, 1).repeat(width, 1)
        self.time_assign()
        self.time_elements()

    def time_assign(self, *_):
        lodkit.scatter_assign(self.data, self.grad.rows, self.grad.value)

    def time_elements(self, *_):
        lodkit.scatter(self.data, self.positions, self.grad.value, axis=0)
