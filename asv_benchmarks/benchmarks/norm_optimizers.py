import numpy as np

import lodkit

from . import common


class NormOptimizers:
    def setup(self):
        rng = np.random.default_rng(0)
        self.param, self.grad = common.table(rng, 64), common.gradient(rng, 64)
        self.moment, self.number = np.zeros_like(self.param), np.ones(1, np.float32)
        self.second = np.zeros_like(self.param)
        self.time_wngrad()
        self.time_storm()
        self.time_lars()
        self.time_lamb()
        self.time_dpsgd()

    def time_wngrad(self):
        lodkit.wngrad(self.param, self.grad, self.number, lr=1e-3)

    def time_storm(self):
        lodkit.storm(self.param, self.grad, self.moment, self.number, lr=1e-3, lazy=True)

    def time_lars(self):
        lodkit.lars(self.param, self.grad, self.moment, lr=1e-3, lazy=True)

    def time_lamb(self):
        lodkit.lamb(self.param, self.grad, self.moment, self.second, lr=1e-3, iteration=9, lazy=True)

    def time_dpsgd(self):
        lodkit.dpsgd(self.param, self.grad, lr=1e-3, clip_norm=1.0)
