import numpy as np

import lodkit

from . import common


class BagUpdates:
    """Fused updates, and their separate steps: the gradient of the bag, one row per id, and the update."""

    def setup(self):
        rng = np.random.default_rng(0)
        self.param, self.ids = common.table(rng, 64), common.ids(rng)
        self.grad = rng.standard_normal((common.BAGS, 64), dtype=np.float32)
        self.moment, self.by_row = np.ones_like(self.param), np.ones(len(self.param), np.float32)
        self.time_embedding_bag_adagrad()
        self.time_embedding_bag_rowwise_adagrad()
        self.second = np.zeros_like(self.param)
        self.time_embedding_bag_adam()
        self.time_unfused()

    def time_embedding_bag_adagrad(self):
        lodkit.embedding_bag_adagrad(self.param, self.ids, self.grad, self.moment, lr=1e-3, pool="mean")

    def time_embedding_bag_rowwise_adagrad(self):
        lodkit.embedding_bag_rowwise_adagrad(self.param, self.ids, self.grad, self.by_row, lr=1e-3)

    def time_embedding_bag_adam(self):
        settings = {"lr": 1e-3, "iteration": 9, "pool": "mean"}
        lodkit.embedding_bag_adam(self.param, self.ids, self.grad, self.moment, self.second, **settings)

    def time_unfused(self):
        grad = lodkit.embedding_bag_grad(self.param, self.ids, self.grad, pool="mean")
        lodkit.adagrad(self.param, grad, self.moment, lr=1e-3)
