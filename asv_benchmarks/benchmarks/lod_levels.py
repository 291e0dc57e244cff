import numpy as np

import lodkit

from . import common


class LodLevels:
    """Structure only: rows are shared."""

    param_names = ["sequences"]
    params = [[10, common.BAGS]]

    def setup(self, sequences):
        lengths = np.random.default_rng(0).integers(0, 41, sequences)
        self.lengths, self.ones = lengths[::-1].copy(), np.ones(lengths.sum(), np.int64)
        self.x = lodkit.LoDTensor(np.ones((lengths.sum(), 64), np.float32), [lengths])
        self.time_reset()

    def time_reset(self, *_):
        lodkit.lod_reset(self.x, self.lengths)

    def time_append(self, *_):
        lodkit.lod_append(self.x, self.ones)

    def time_reshape(self, *_):
        lodkit.sequence_reshape(self.x, new_dim=16)
