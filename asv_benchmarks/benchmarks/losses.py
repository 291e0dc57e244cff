import numpy as np

import lodkit


class Losses:
    """One logit a row, and a row of numbers: forward and gradient."""

    param_names = ["operator"]
    params = [["sigmoid_cross_entropy_with_logits", "mean_squared_error"]]

    def setup(self, operator):
        rng = np.random.default_rng(0)
        self.x, self.y = rng.random((2, 20_000, 16), dtype=np.float32)
        self.grad = lodkit.OPS[operator](self.x, self.y)

    def time_forward(self, operator):
        lodkit.OPS[operator](self.x, self.y)

    def time_gradient(self, operator):
        lodkit.OPS[f"{operator}_grad"](self.x, self.y, self.grad)
