import numpy as np

import lodkit

from . import common


class ContinuousValue:
    param_names = ["width"]
    params = [[11, 64]]

    def setup(self, width):
        self.x = np.random.default_rng(0).random((common.BAGS, width), dtype=np.float32)
        self.time_model(width)

    def time_model(self, width):
        lodkit.continuous_value_model(self.x)
