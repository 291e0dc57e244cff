import numpy as np

import lodkit

from . import common


class Padding:
    param_names = ["width"]
    params = [[1, 64]]

    def setup(self, width):
        rng = np.random.default_rng(0)
        self.lengths = rng.integers(0, 41, common.BAGS)
        self.data = rng.standard_normal((int(self.lengths.sum()), width), dtype=np.float32)
        self.packed = lodkit.pack_segments(self.data, self.lengths, max_length=40)
        self.time_pack(width)
        self.time_pack_gradient(width)
        self.time_unpack_gradient(width)

    def time_pack(self, width):
        lodkit.pack_segments(self.data, self.lengths, max_length=40, out=self.packed)

    def time_pack_gradient(self, width):
        lodkit.pack_segments_grad(self.data, self.lengths, self.packed, max_length=40)

    def time_unpack(self, width):
        lodkit.unpack_segments(self.packed, self.lengths)

    def time_unpack_gradient(self, width):
        lodkit.unpack_segments_grad(self.packed, self.lengths, self.data)

    def time_lengths_pad(self, width):
        lodkit.lengths_pad(self.data, self.lengths, max_length=40)
