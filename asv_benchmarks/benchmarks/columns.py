import numpy as np

import lodkit


class Columns:
    """Eight arrays side by side."""

    def setup(self):
        self.parts = [np.ones((4096, 64), np.float32)] * 8
        self.whole = lodkit.concat_columns(*self.parts)
        self.time_gradient()

    def time_run(self):
        lodkit.concat_columns(*self.parts)

    def time_gradient(self):
        lodkit.concat_columns_grad(self.whole, *self.parts)
