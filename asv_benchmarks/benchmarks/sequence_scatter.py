import numpy as np

import lodkit

from . import common


class SequenceScatter:
    def setup(self):
        rng = np.random.default_rng(0)
        self.ids = common.ids(rng, 200)
        self.updates = self.ids.with_values(rng.standard_normal(len(self.ids.values), dtype=np.float32))
        self.x = np.zeros((len(self.ids), 200), np.float32)
        self.time_run()
        self.time_gradient()

    def time_run(self):
        lodkit.sequence_scatter(self.x, self.ids, self.updates)

    def time_gradient(self):
        lodkit.sequence_scatter_grad(self.x, self.ids, self.updates, self.x)
