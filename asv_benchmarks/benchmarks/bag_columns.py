import numpy as np

import lodkit

from . import common


class BagColumns:
    """Bags of 26 tables, by one call."""

    param_names = ["bags"]
    params = [[10, common.BAGS]]

    def setup(self, bags):
        rng = np.random.default_rng(0)
        self.tables = {k: rng.standard_normal((10_000, 16), dtype=np.float32) for k in range(26)}
        self.columns = {k: lodkit.LoDTensor(rng.integers(0, 10_000, bags), [[1] * bags]) for k in range(26)}
        self.time_run(bags)

    def time_run(self, bags):
        lodkit.embedding_bags(self.tables, self.columns)
