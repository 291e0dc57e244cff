import numpy as np

import lodkit


class Columns:
    """Eight arrays side by side."""

    def setup(self):
        self.parts = [np.ones((4096, 64), np.float32)] * 8
        self.whole = lodkit.concat_columns(*self.parts)
        self.ranges = [(0, 64), (256, 512), (32, 96)]
        self.sliced = lodkit.slice_columns(self.whole, ranges=self.ranges)
        self.time_gradient()
        self.time_slice_gradient()

    def time_run(self):
        lodkit.concat_columns(*self.parts)

    def time_gradient(self):
        lodkit.concat_columns_grad(self.whole, *self.parts)

    def time_slice(self):
        lodkit.slice_columns(self.whole, ranges=self.ranges)

    def time_slice_gradient(self):
        lodkit.slice_columns_grad(self.whole, self.sliced, ranges=self.ranges)
