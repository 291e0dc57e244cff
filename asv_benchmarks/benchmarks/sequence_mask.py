import numpy as np

import lodkit

from . import common


class Mask:
    param_names = ["dtype"]
    params = [["bool", "float32"]]

    def setup(self, dtype):
        self.lengths = np.random.default_rng(0).integers(0, 200, common.BAGS)
        self.time_run(dtype)

    def time_run(self, dtype):
        lodkit.sequence_mask(self.lengths, dtype=dtype)
