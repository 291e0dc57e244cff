import numpy as np

import lodkit

from . import common


class SplitMerge:
    param_names = ["sequences"]
    params = [[10, common.BAGS]]

    def setup(self, sequences):
        rng = np.random.default_rng(0)
        lengths = rng.integers(0, 41, sequences)
        self.x = lodkit.LoDTensor(rng.standard_normal((lengths.sum(), 64), dtype=np.float32), [lengths])
        self.mask = rng.random(sequences) < 0.5
        self.parts = lodkit.split_lod_tensor(self.x, self.mask)
        self.time_merge()

    def time_split(self, *_):
        lodkit.split_lod_tensor(self.x, self.mask)

    def time_merge(self, *_):
        lodkit.merge_lod_tensor(*self.parts, self.mask)
