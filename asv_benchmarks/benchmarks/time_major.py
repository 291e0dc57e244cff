import numpy as np

import lodkit

from . import common


class TimeMajor:
    param_names = ["width"]
    params = [[1, 64]]

    def setup(self, width):
        rng = np.random.default_rng(0)
        self.lengths = rng.integers(0, 41, common.BAGS)
        self.data = rng.standard_normal((int(self.lengths.sum()), width), dtype=np.float32)
        self.packed = lodkit.pack_rnn_sequence(self.data, self.lengths)
        self.time_unpack(width)
        self.time_reverse(width)

    def time_pack(self, width):
        lodkit.pack_rnn_sequence(self.data, self.lengths)

    def time_unpack(self, width):
        lodkit.unpack_rnn_sequence(self.packed, self.lengths)

    def time_reverse(self, width):
        lodkit.reverse_packed_segs(self.packed, self.lengths)
