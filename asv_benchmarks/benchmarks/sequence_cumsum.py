import numpy as np

import lodkit

from . import common


class SequenceCumsum:
    param_names = ["width"]
    params = [[1, 64]]

    def setup(self, width):
        rng = np.random.default_rng(0)
        lengths = rng.integers(0, 41, common.BAGS)
        self.x = lodkit.LoDTensor(rng.standard_normal((int(lengths.sum()), width), dtype=np.float32), [lengths])
        self.time_cumsum(width)

    def time_cumsum(self, width):
        lodkit.sequence_cumsum(self.x)
