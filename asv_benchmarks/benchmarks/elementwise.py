import numpy as np

import lodkit

from . import common


class Elementwise:
    param_names = ["width", "ids"]
    params = [[64], ["uniform", "zipf"]]

    def setup(self, width, kind):
        self.grad = common.gradient(np.random.default_rng(0), width, kind)
        for run in (self.time_clip_by_norm, self.time_square, self.time_scale, self.time_isfinite):
            run()

    def time_clip_by_norm(self, *_):
        lodkit.clip_by_norm(self.grad, max_norm=1.0)

    def time_square(self, *_):
        lodkit.square(self.grad)

    def time_scale(self, *_):
        lodkit.scale(self.grad, scale=0.5)

    def time_isfinite(self, *_):
        lodkit.isfinite(self.grad)
