import numpy as np

import lodkit

from . import common


class Ranges:
    param_names = ["width"]
    params = [[1, 64]]

    def setup(self, width):
        rng = np.random.default_rng(0)
        self.data, self.lengths = common.table(rng, width), common.lengths(20_000, 10, rng)
        starts = np.cumsum(self.lengths) - self.lengths
        self.ranges = np.stack([starts, self.lengths], 1).reshape(-1, 2, 2)
        self.fixed = self.ranges.copy()
        self.fixed[:, 0, 1] = np.where(rng.random(10_000) < 0.9, 4, 0)
        self.fixed[..., 0] %= common.ROWS - self.lengths.max() - 4
        self.ids, self.few = rng.integers(0, 20_000, 20_000), self.lengths[:4000]
        for run in (self.time_ranges, self.time_to_dense, self.time_segments, self.time_tile):
            run()

    def time_ranges(self, *_):
        lodkit.gather_ranges(self.data, self.ranges)

    def time_to_dense(self, *_):
        lodkit.gather_ranges_to_dense(self.data, self.fixed, lengths=(4, 10))

    def time_segments(self, *_):
        lodkit.lengths_gather(self.data, self.lengths, self.ids)

    def time_tile(self, *_):
        lodkit.lengths_tile(self.data[:4000], self.few)
