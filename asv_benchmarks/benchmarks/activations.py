import numpy as np

import lodkit


class Activations:
    param_names = ["operator"]
    params = [["softmax", "gelu", "silu"]]

    def setup(self, operator):
        self.x = np.random.default_rng(0).standard_normal((20_000, 64), dtype=np.float32)
        self.operator = lodkit.OPS[operator]
        self.time_forward(operator)
        self.time_gradient(operator)

    def time_forward(self, operator):
        self.operator(self.x)

    def time_gradient(self, operator):
        lodkit.OPS[f"{operator}_grad"](self.x, self.x)
