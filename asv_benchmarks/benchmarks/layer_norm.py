import numpy as np

import lodkit


class LayerNorm:
    def setup(self):
        rng = np.random.default_rng(0)
        self.x = rng.standard_normal((20_000, 64), dtype=np.float32)
        self.scale, self.bias = np.ones(64, np.float32), np.zeros(64, np.float32)

    def time_forward(self):
        lodkit.layer_norm(self.x, self.scale, self.bias)

    def time_gradient(self):
        lodkit.layer_norm_grad(self.x, self.scale, self.x)
