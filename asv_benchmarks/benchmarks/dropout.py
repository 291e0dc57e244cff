import numpy as np

import lodkit


class Dropout:
    def setup(self):
        self.x = np.random.default_rng(0).standard_normal((20_000, 64), dtype=np.float32)
        self.time_dropout()

    def time_dropout(self):
        lodkit.dropout(self.x, rate=0.1, seed=1)
