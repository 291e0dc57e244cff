import numpy as np

import lodkit

from . import common


class SequenceSoftmax:
    param_names = ["operator", "width"]
    params = [["sequence_softmax", "sequence_log_softmax"], [1, 64]]

    def setup(self, operator, width):
        rng = np.random.default_rng(0)
        lengths = rng.integers(0, 41, common.BAGS)
        self.x = lodkit.LoDTensor(rng.standard_normal((int(lengths.sum()), width), dtype=np.float32), [lengths])
        self.y = lodkit.OPS[operator](self.x)
        self.time_grad(operator, width)

    def time_forward(self, operator, width):
        lodkit.OPS[operator](self.x)

    def time_grad(self, operator, width):
        lodkit.OPS[f"{operator}_grad"](self.y, self.x.values)
