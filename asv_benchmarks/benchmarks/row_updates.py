import numpy as np

import lodkit

from . import common


class RowUpdates:
    def setup(self):
        rng = np.random.default_rng(0)
        self.param, self.rows = common.table(rng, 64), common.ids(rng).values
        self.prev_iter, self.counter = np.zeros(common.ROWS, np.int64), np.zeros(common.ROWS)
        self.time_sparse_normalize()
        self.time_sparse_lp_regularizer()
        self.time_rowwise_counter()

    def time_sparse_normalize(self):
        lodkit.sparse_normalize(self.param, self.rows)

    def time_sparse_lp_regularizer(self):
        lodkit.sparse_lp_regularizer(self.param, self.rows, p=1)

    def time_rowwise_counter(self):
        lodkit.rowwise_counter(self.prev_iter, self.counter, self.rows, iteration=9, halflife=20.0)
