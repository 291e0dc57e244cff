import numpy as np

import lodkit


class RecurrentUnits:
    """A step of 256 rows: forward and gradient."""

    param_names = ["size"]
    params = [[32, 256]]

    def setup(self, size):
        rng = np.random.default_rng(0)
        self.x = rng.standard_normal((256, 4 * size), dtype=np.float32)
        self.state = rng.standard_normal((256, size), dtype=np.float32)
        self.weight = rng.standard_normal((size, 3 * size), dtype=np.float32)
        self.products = np.ascontiguousarray(self.x[:, : 3 * size])
        self.cell, _ = self.time_lstm(size)
        _, self.gates, self.reset = self.time_gru(size)

    def time_lstm(self, size):
        return lodkit.lstm_unit(self.x, self.state)

    def time_lstm_gradient(self, size):
        lodkit.lstm_unit_grad(self.x, self.state, self.cell, self.state, self.state)

    def time_gru(self, size):
        return lodkit.gru_unit(self.products, self.state, self.weight)

    def time_gru_gradient(self, size):
        lodkit.gru_unit_grad(
            self.products, self.state, self.weight, None, self.gates, self.reset, self.state, None, None
        )
