import numpy as np

import lodkit

from . import common


class Products:
    param_names = ["width"]
    params = [[64]]

    def setup(self, width):
        rng = np.random.default_rng(0)
        self.rows, self.scale = (
            rng.normal(size=shape).astype(np.float32) for shape in ((100_000, width), (100_000, 1))
        )
        self.grad = common.gradient(rng, width, "uniform")
        for run in (self.time_by_one_number, self.time_by_a_column, self.time_gradient_of_a_column):
            run()

    def time_by_one_number(self, *_):
        lodkit.elementwise_mul(self.grad, np.ones(1, np.float32))

    def time_by_a_column(self, *_):
        lodkit.elementwise_mul(self.rows, self.scale)

    def time_gradient_of_a_column(self, *_):
        lodkit.sum_repeated(self.rows, self.scale)
