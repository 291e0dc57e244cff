import numpy as np

import lodkit

from . import common


class EdgePadding:
    param_names = ["width"]
    params = [[1, 64]]

    def setup(self, width):
        rng = np.random.default_rng(0)
        self.lengths = rng.integers(0, 41, common.BAGS)
        self.data = rng.standard_normal((int(self.lengths.sum()), width), dtype=np.float32)
        self.pad = np.ones(width, np.float32)
        self.padded, self.padded_lengths = lodkit.add_padding(self.data, self.lengths, self.pad)
        self.filled = lodkit.pad_empty_samples(self.data, self.lengths)[0]
        self.time_gather(width)
        self.time_pad_empty_gradient(width)

    def time_add(self, width):
        lodkit.add_padding(self.data, self.lengths, self.pad)

    def time_remove(self, width):
        lodkit.remove_padding(self.padded, self.padded_lengths)

    def time_gather(self, width):
        lodkit.gather_padding(self.padded, self.padded_lengths)

    def time_pad_empty(self, width):
        lodkit.pad_empty_samples(self.data, self.lengths)

    def time_pad_empty_gradient(self, width):
        lodkit.pad_empty_samples_grad(self.data, self.lengths, self.filled)
