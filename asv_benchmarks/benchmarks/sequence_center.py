import numpy as np

import lodkit

from . import common


class SequenceCenter:
    param_names = ["width"]
    params = [[1, 64]]

    def setup(self, width):
        rng = np.random.default_rng(0)
        lengths = rng.integers(0, 41, common.BAGS)
        self.x = lodkit.LoDTensor(rng.standard_normal((int(lengths.sum()), width), dtype=np.float32), [lengths])
        lodkit.sequence_center(self.x)

    def time_center(self, width):
        lodkit.sequence_center(self.x)
