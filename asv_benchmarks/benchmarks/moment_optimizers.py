import numpy as np

import lodkit

from . import common


class MomentOptimizers:
    def setup(self):
        rng = np.random.default_rng(0)
        self.param, self.grad = common.table(rng, 64), common.gradient(rng, 64)
        self.first, self.second = np.zeros_like(self.param), np.zeros_like(self.param)
        self.by_row = np.zeros(len(self.param), np.float32)
        self.time_momentum()
        self.time_adam()
        self.time_rowwise_adam()
        self.time_adadelta()
        self.time_rmsprop()

    def time_momentum(self):
        lodkit.momentum(self.param, self.grad, self.first, lr=1e-3, lazy=True)

    def time_adam(self):
        lodkit.adam(self.param, self.grad, self.first, self.second, lr=1e-3, iteration=9, lazy=True)

    def time_rowwise_adam(self):
        lodkit.rowwise_adam(self.param, self.grad, self.first, self.by_row, lr=1e-3, iteration=9, lazy=True)

    def time_adadelta(self):
        lodkit.adadelta(self.param, self.grad, self.first, self.second, lr=1e-3, lazy=True)

    def time_rmsprop(self):
        lodkit.rmsprop(self.param, self.grad, self.first, self.second, lr=1e-3, lazy=True)
