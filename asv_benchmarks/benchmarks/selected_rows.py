import numpy as np

import lodkit

from . import common


class SelectedRows:
    param_names = ["width", "ids"]
    params = [[64], ["uniform", "zipf"]]

    def setup(self, width, kind):
        rng = np.random.default_rng(0)
        self.grad, self.dense = common.gradient(rng, width, kind), common.table(rng, width)
        for run in (self.time_merge, self.time_sum, self.time_sum_with_dense, self.time_to_dense):
            run()

    def time_merge(self, *_):
        lodkit.merge_selected_rows(self.grad)

    def time_sum(self, *_):
        lodkit.sum(self.grad, self.grad)

    def time_sum_with_dense(self, *_):
        lodkit.sum(self.grad, self.dense)

    def time_to_dense(self, *_):
        lodkit.selected_rows_to_dense(self.grad)
