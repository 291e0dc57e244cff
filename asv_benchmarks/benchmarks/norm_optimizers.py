import numpy as np

import lodkit

from . import common


class NormOptimizers:
    def setup(self):
        rng = np.random.default_rng(0)
        self.param, self.grad = common.table(rng, 64), common.gradient(rng, 64)
        self.moment, self.number = np.zeros_like(self.param), np.ones(1, np.float32)
        self.time_wngrad()
        self.time_storm()

    def time_wngrad(self):
        lodkit.wngrad(self.param, self.grad, self.number, lr=1e-3)

    def time_storm(self):
        lodkit.storm(self.param, self.grad, self.moment, self.number, lr=1e-3, lazy=True)
