import numpy as np

import lodkit

from . import common


class Gather:
    param_names = ["width"]
    params = [[16, 64]]

    def setup(self, width):
        rng = np.random.default_rng(0)
        self.data, self.ids = common.table(rng, width), common.ids(rng).values
        self.rows = lodkit.gather(self.data, self.ids)
        self.time_gradient(width)

    def time_run(self, width):
        lodkit.gather(self.data, self.ids)

    def time_gradient(self, width):
        lodkit.gather_grad(self.data, self.ids, self.rows)


class BatchGather:
    param_names = ["width"]
    params = [[1, 64]]

    def setup(self, width):
        rng = np.random.default_rng(0)
        self.data = common.table(rng, width).reshape(200, -1, width)
        self.ids = rng.integers(0, self.data.shape[1], 400)
        self.grad_output = self.time_run(width)
        self.time_gradient(width)

    def time_run(self, width):
        return lodkit.batch_gather(self.data, self.ids)

    def time_gradient(self, width):
        lodkit.batch_gather_grad(self.data, self.ids, self.grad_output)
