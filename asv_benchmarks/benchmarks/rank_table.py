import numpy as np

import lodkit

from . import common


class RankTable:
    param_names = ["sequences"]
    params = [[10, common.BAGS]]

    def setup(self, sequences):
        rng = np.random.default_rng(0)
        lengths = rng.integers(0, 41, sequences)
        self.x = lodkit.LoDTensor(rng.standard_normal((lengths.sum(), 64), dtype=np.float32), [lengths])
        self.memory = rng.standard_normal((sequences, 64), dtype=np.float32)
        self.table = lodkit.lod_rank_table(self.x)
        self.time_reorder_rows()
        self.time_reorder_sequences()

    def time_rank(self, *_):
        lodkit.lod_rank_table(self.x)

    def time_reorder_rows(self, *_):
        lodkit.reorder_lod_tensor_by_rank(self.memory, self.table)

    def time_reorder_sequences(self, *_):
        lodkit.reorder_lod_tensor_by_rank(self.x, self.table)

    def time_shrink(self, *_):
        lodkit.shrink_rnn_memory(self.memory, self.table, step=5)
