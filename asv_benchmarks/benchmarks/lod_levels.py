import numpy as np

import lodkit

from . import common


class LodLevels:
    def setup(self):
        rng = np.random.default_rng(0)
        lengths = rng.integers(0, 41, common.BAGS)
        self.lengths, self.ones = lengths[::-1].copy(), np.ones(lengths.sum(), np.int64)
        self.x = lodkit.LoDTensor(rng.standard_normal((int(lengths.sum()), 64), dtype=np.float32), [lengths])
        self.mask = rng.random(common.BAGS) < 0.5
        self.parts = lodkit.split_lod_tensor(self.x, self.mask)
        self.time_merge()

    def time_reset(self):
        lodkit.lod_reset(self.x, self.lengths)

    def time_append(self):
        lodkit.lod_append(self.x, self.ones)

    def time_reshape(self):
        lodkit.sequence_reshape(self.x, new_dim=16)

    def time_split(self):
        lodkit.split_lod_tensor(self.x, self.mask)

    def time_merge(self):
        lodkit.merge_lod_tensor(*self.parts, self.mask)


class Small:
    """Ten sequences of five rows: what a call costs."""

    def setup(self):
        self.x = lodkit.LoDTensor(np.ones((50, 16), np.float32), [[5] * 10])
        self.mask = np.arange(10) % 3 == 0
        self.parts = lodkit.split_lod_tensor(self.x, self.mask)
        self.time_merge()

    def time_reset(self):
        lodkit.lod_reset(self.x, [25, 25])

    def time_reshape(self):
        lodkit.sequence_reshape(self.x, new_dim=4)

    def time_split(self):
        lodkit.split_lod_tensor(self.x, self.mask)

    def time_merge(self):
        lodkit.merge_lod_tensor(*self.parts, self.mask)
