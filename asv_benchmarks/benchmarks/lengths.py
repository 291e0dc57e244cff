import numpy as np

import lodkit

from . import common


class TopK:
    param_names = ["k"]
    params = [[5, 100]]

    def setup(self, k):
        rng = np.random.default_rng(0)
        self.lengths = common.lengths(10_000, 100, rng)
        self.values = rng.standard_normal(int(self.lengths.sum()), dtype=np.float32)
        self.top, self.indices = lodkit.lengths_top_k(self.values, self.lengths, k=k)
        self.time_gradient(k)

    def time_run(self, k):
        lodkit.lengths_top_k(self.values, self.lengths, k=k)

    def time_gradient(self, k):
        lodkit.lengths_top_k_grad(self.values, self.lengths, self.indices, self.top)


class Split:
    def setup(self):
        self.lengths = common.lengths(100_000, 10, np.random.default_rng(0))
        self.time_run()

    def time_run(self):
        lodkit.lengths_split(self.lengths, n_split=4)
