import numpy as np

import lodkit

from . import common


class SparseMatrix:
    """4096 examples of about 20 ids below 1024."""

    param_names = ["name"]
    params = [["sparse_matrix", "batch_sparse_to_dense", "batch_dense_to_sparse"]]

    def setup(self, name):
        rng = np.random.default_rng(0)
        self.ids = common.ids(rng, height=1024)
        self.values = rng.standard_normal(len(self.ids.values), dtype=np.float32)
        self.attrs = {"num_columns": 1024}
        if name == "batch_dense_to_sparse":
            self.values, self.attrs = lodkit.sparse_matrix(self.ids, self.values, **self.attrs), {}
        self.time_run(name)

    def time_run(self, name):
        lodkit.run(name, self.ids, self.values, **self.attrs)
