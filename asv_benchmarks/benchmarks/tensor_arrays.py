import numpy as np

import lodkit

from . import common


class TensorArrays:
    param_names = ["sequences"]
    params = [[10, common.BAGS]]

    def setup(self, sequences):
        rng = np.random.default_rng(0)
        lengths = rng.integers(0, 41, sequences)
        self.x = lodkit.LoDTensor(rng.standard_normal((lengths.sum(), 64), dtype=np.float32), [lengths])
        self.table = lodkit.lod_rank_table(self.x)
        self.array = lodkit.lod_tensor_to_array(self.x, self.table)
        self.time_together()

    def time_apart(self, *_):
        lodkit.lod_tensor_to_array(self.x, self.table)

    def time_together(self, *_):
        lodkit.array_to_lod_tensor(self.table, *self.array)
