import numpy as np

import lodkit

WINDOWS = {"kernels": (8, 4), "strides": (4, 2)}


class Im2Sequence:
    def setup(self):
        self.x = np.random.default_rng(0).standard_normal((32, 8, 32, 64), dtype=np.float32)
        self.out = lodkit.im2sequence(self.x, **WINDOWS).values
        self.time_gradient()

    def time_run(self):
        lodkit.im2sequence(self.x, **WINDOWS, out=self.out)

    def time_gradient(self):
        lodkit.im2sequence_grad(self.x, self.out, **WINDOWS)
