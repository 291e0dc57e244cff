import numpy as np

import lodkit

from . import common


class Optimizers:
    param_names = ["gradient", "ids"]
    params = [["sparse", "dense"], ["uniform", "zipf"]]

    def setup(self, kind, ids):
        rng = np.random.default_rng(0)
        self.param, grad = common.table(rng, 64), common.gradient(rng, 64, ids)
        self.grad = grad if kind == "sparse" else grad.to_dense()
        self.moment = np.ones_like(self.param)
        self.time_sgd()
        self.time_adagrad()

    def time_sgd(self, *_):
        lodkit.sgd(self.param, self.grad, lr=1e-3)

    def time_adagrad(self, *_):
        lodkit.adagrad(self.param, self.grad, self.moment, lr=1e-3)


class Small:
    """Ten rows: what a call costs."""

    def setup(self):
        self.param = np.ones((100, 16), np.float32)
        self.grad = lodkit.SelectedRows(np.arange(10), self.param[:10].copy(), 100)
        self.time_sgd()

    def time_sgd(self):
        lodkit.sgd(self.param, self.grad, lr=1e-3)
