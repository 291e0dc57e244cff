import numpy as np

import lodkit

from . import common


class OneHot:
    """Rows of 1024: multi-hot for 4096 examples, one-hot for 10,000 ids; and the ids of the multi-hot rows."""

    def setup(self):
        self.ids = common.ids(np.random.default_rng(0), height=1024)
        self.some = self.ids.values[:10_000]
        self.hot = lodkit.segment_one_hot(self.ids, size=1024)
        self.time_one_hot()
        self.time_dense_to_id_lists()

    def time_one_hot(self):
        lodkit.one_hot(self.some, size=1024)

    def time_segment_one_hot(self):
        lodkit.segment_one_hot(self.ids, size=1024)

    def time_dense_to_id_lists(self):
        lodkit.dense_to_id_lists(self.hot)
