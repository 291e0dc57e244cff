import numpy as np

import lodkit


class ReduceDims:
    param_names = ["where", "reduce"]
    params = [["front", "back"], ["sum", "max", "logsumexp"]]

    def setup(self, where, reduce):
        self.data = np.random.default_rng(0).standard_normal((2000, 500), dtype=np.float32)
        self.time_run(where, reduce)

    def time_run(self, where, reduce):
        lodkit.reduce_dims(self.data, where=where, reduce=reduce)
