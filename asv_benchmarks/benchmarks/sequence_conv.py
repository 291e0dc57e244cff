import numpy as np

import lodkit

from . import common


class SequenceConv:
    param_names = ["width"]
    params = [[16, 64]]

    def setup(self, width):
        rng = np.random.default_rng(0)
        n = common.lengths(4096, 20, rng)
        self.x = lodkit.LoDTensor(rng.standard_normal((n.sum(), width), dtype=np.float32), [n])
        self.filter = rng.standard_normal((3 * width, width), dtype=np.float32)
        self.ahead = rng.standard_normal((3, width), dtype=np.float32)
        self.out = np.empty_like(self.x.values)
        self.windows = np.empty((len(self.out), 3 * width), np.float32)
        self.windows.fill(1)
        self.time_run(width)
        self.time_gradient(width)
        self.time_row_conv(width)
        self.time_row_conv_gradient(width)

    def time_run(self, width):
        lodkit.sequence_conv(self.x, self.filter, context_length=3, out=self.out)

    def time_bare_product(self, width):
        np.matmul(self.windows, self.filter, out=self.out)

    def time_gradient(self, width):
        lodkit.sequence_conv_grad(self.x, self.filter, self.x.values, context_length=3)

    def time_row_conv(self, width):
        lodkit.row_conv(self.x, self.ahead, out=self.out)

    def time_row_conv_gradient(self, width):
        lodkit.row_conv_grad(self.x, self.ahead, self.x.values)
