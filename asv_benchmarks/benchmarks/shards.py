import numpy as np

import lodkit

from . import common


class Shards:
    param_names = ["shards"]
    params = [[8]]

    def setup(self, shards):
        rng = np.random.default_rng(0)
        keys = common.ids(rng)
        self.keys, self.lengths = keys.values, keys.lengths()
        self.rows = rng.standard_normal((len(self.keys), 64), dtype=np.float32)
        self.parts = lodkit.partition(self.keys, self.rows, num_outputs=2 * shards)[1::2]
        self.time_lengths(shards)
        self.time_gather(shards)

    def time_partition(self, shards):
        lodkit.partition(self.keys, self.rows, num_outputs=2 * shards)

    def time_lengths(self, shards):
        lodkit.lengths_partition(self.lengths, self.keys, num_outputs=2 * shards)

    def time_gather(self, shards):
        lodkit.gather_by_key(self.keys, *self.parts)
