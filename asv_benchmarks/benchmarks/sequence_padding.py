import numpy as np

import lodkit

from . import common


class SequencePadding:
    param_names = ["width", "side"]
    params = [[1, 64], ["right", "left"]]

    def setup(self, width, side):
        rng = np.random.default_rng(0)
        lengths = rng.integers(0, 41, common.BAGS)
        self.x = lodkit.LoDTensor(rng.standard_normal((int(lengths.sum()), width), dtype=np.float32), [lengths])
        self.pad = np.zeros(width, np.float32)
        self.padded, self.lengths = lodkit.sequence_pad(self.x, side=side)
        for name in ("time_pad_rows", "time_pad_gradient", "time_pad_value_gradient", "time_unpad"):
            getattr(self, name)(width, side)
        self.time_unpad_gradient(width, side)

    def time_pad(self, width, side):
        lodkit.sequence_pad(self.x, side=side)

    def time_pad_rows(self, width, side):
        lodkit.sequence_pad(self.x, self.pad, side=side)

    def time_pad_gradient(self, width, side):
        lodkit.sequence_pad_grad(self.x, self.padded, side=side)

    def time_pad_value_gradient(self, width, side):
        lodkit.sequence_pad_value_grad(self.x, self.pad, self.padded, side=side)

    def time_unpad(self, width, side):
        lodkit.sequence_unpad(self.padded, self.lengths, side=side)

    def time_unpad_gradient(self, width, side):
        lodkit.sequence_unpad_grad(self.padded, self.lengths, self.x.values, side=side)


class Small:
    """Overhead per call, on ten sequences of five rows."""

    def setup(self):
        self.x = lodkit.LoDTensor(np.ones((50, 16), np.float32), [[5] * 10])
        self.padded = lodkit.sequence_pad(self.x)
        self.time_unpad()

    def time_pad(self):
        lodkit.sequence_pad(self.x)

    def time_unpad(self):
        lodkit.sequence_unpad(*self.padded)
