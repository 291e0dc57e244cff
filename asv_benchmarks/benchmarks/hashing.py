import numpy as np

import lodkit


class Hashing:
    param_names = ["columns"]
    params = [[2, 8]]

    def setup(self, columns):
        self.x = np.random.default_rng(0).integers(0, 1 << 40, (100_000, columns))
        self.time_hash(columns)

    def time_hash(self, columns):
        lodkit.hash_rows(self.x, num_hash=2, mod_by=1_000_000)
