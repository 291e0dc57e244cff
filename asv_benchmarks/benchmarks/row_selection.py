import numpy as np

import lodkit

from . import common


class RowSelection:
    param_names = ["width", "ids"]
    params = [[64], ["uniform", "zipf"]]

    def setup(self, width, kind):
        rng = np.random.default_rng(0)
        self.grad = common.gradient(rng, width, kind)
        self.half, self.wanted = self.grad.height // 2, rng.integers(0, self.grad.height, len(self.grad))
        self.parts = self.time_split()
        for run in (self.time_concat, self.time_filter, self.time_gather):
            run()

    def time_split(self, *_):
        return lodkit.split_selected_rows(self.grad, height_sections=(self.half, self.grad.height - self.half))

    def time_concat(self, *_):
        lodkit.concat_selected_rows(*self.parts)

    def time_filter(self, *_):
        lodkit.filter_selected_rows(self.grad, self.wanted)

    def time_gather(self, *_):
        lodkit.gather_selected_rows(self.grad, self.wanted)
