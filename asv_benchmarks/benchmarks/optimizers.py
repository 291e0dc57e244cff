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
        self.moment, self.by_row = np.ones_like(self.param), np.ones(len(self.param), np.float32)
        self.pairs = np.zeros((*self.param.shape, 2), np.float32)
        self.time_sgd()
        self.time_adagrad()
        self.time_rowwise_adagrad()
        self.time_ftrl()
        self.time_decayed_adagrad()
        self.time_proximal_adagrad()

    def time_sgd(self, *_):
        lodkit.sgd(self.param, self.grad, lr=1e-3)

    def time_adagrad(self, *_):
        lodkit.adagrad(self.param, self.grad, self.moment, lr=1e-3)

    def time_rowwise_adagrad(self, *_):
        lodkit.rowwise_adagrad(self.param, self.grad, self.by_row, lr=1e-3)

    def time_ftrl(self, *_):
        lodkit.ftrl(self.param, self.grad, self.pairs, lr=1e-3, l1=1e-4)

    def time_decayed_adagrad(self, *_):
        lodkit.decayed_adagrad(self.param, self.grad, self.moment, lr=1e-3, lazy=True)

    def time_proximal_adagrad(self, *_):
        lodkit.proximal_adagrad(self.param, self.grad, self.moment, lr=1e-3, l1=1e-6, lazy=True)


class LowPrecision:
    """Updates of tables and by rows in types of two bytes, beside float32."""

    param_names = ["dtype"]
    params = [["float32", "float16", "bfloat16"]]

    def setup(self, dtype):
        rng = np.random.default_rng(0)
        grad = common.gradient(rng, 64)
        self.param = common.rounded(common.table(rng, 64), dtype)
        self.grad = lodkit.SelectedRows(grad.rows, common.rounded(grad.value, dtype), grad.height)
        self.moment = np.zeros(self.param.shape, np.float32)
        self.rates = common.training_steps({"lr": 1e-3})
        self.optimizer = lodkit.optim.SGD({"param": self.param}, lr=1e-3, master_weights=True)
        self.time_sgd()
        self.time_adagrad()
        self.time_master_weights()

    def time_sgd(self, *_):
        lodkit.sgd(self.param, self.grad, **next(self.rates))

    def time_adagrad(self, *_):
        lodkit.adagrad(self.param, self.grad, self.moment, **next(self.rates))

    def time_master_weights(self, *_):
        self.optimizer.step([self.grad])


class Small:
    """Overhead per call, on ten rows, in a loop whose rate falls and whose steps are counted."""

    def setup(self):
        self.param = np.ones((100, 16), np.float32)
        self.first, self.second = np.zeros_like(self.param), np.zeros_like(self.param)
        self.grad = lodkit.SelectedRows(np.arange(10), self.param[:10].copy(), 100)
        self.rates = common.training_steps({"lr": 1e-3})
        self.steps = common.training_steps({"lr": 1e-3, "iteration": 0, "lazy": True})
        self.optimizer = lodkit.optim.Adam({"param": self.param}, lr=1e-3, lazy=True)
        self.time_sgd()
        self.time_adam()
        self.time_optimizer()

    def time_sgd(self):
        lodkit.sgd(self.param, self.grad, **next(self.rates))

    def time_adam(self):
        lodkit.adam(self.param, self.grad, self.first, self.second, **next(self.steps))

    def time_optimizer(self):
        self.optimizer.step([self.grad])
