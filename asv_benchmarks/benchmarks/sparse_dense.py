import numpy as np

import lodkit

from . import common


class SparseToDense:
    param_names = ["width"]
    params = [[1, 64]]

    def setup(self, width):
        rng = np.random.default_rng(0)
        self.ids = common.ids(rng).values
        self.values = rng.standard_normal((len(self.ids), width), dtype=np.float32)
        self.time_run(width)

    def time_run(self, width):
        lodkit.sparse_to_dense(self.ids, self.values, num_rows=common.ROWS)


class SparseToDenseMask:
    """64 of 256 features per example."""

    def setup(self):
        rng = np.random.default_rng(0)
        self.ids = common.ids(rng, height=256)
        self.values = rng.standard_normal(len(self.ids.values), dtype=np.float32)
        self.default, self.mask = np.float32(0), range(0, 256, 4)
        self.dense, _ = lodkit.sparse_to_dense_mask(self.ids, self.values, self.default, mask=self.mask)
        self.time_gradient()

    def time_run(self):
        lodkit.sparse_to_dense_mask(self.ids, self.values, self.default, mask=self.mask)

    def time_gradient(self):
        lodkit.sparse_to_dense_mask_grad(self.ids, self.values, self.dense, mask=self.mask)
