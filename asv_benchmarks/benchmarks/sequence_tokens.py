import numpy as np

import lodkit

from . import common


class SequenceTokens:
    def setup(self):
        self.x = common.ids(np.random.default_rng(0), height=1000)
        self.small = lodkit.LoDTensor(np.arange(50), [[5] * 10])
        self.time_erase()
        self.time_enumerate()

    def time_erase(self):
        lodkit.sequence_erase(self.x, tokens=[0, 1, 7])

    def time_enumerate(self):
        lodkit.sequence_enumerate(self.x, win_size=5)

    def time_erase_small(self):
        lodkit.sequence_erase(self.small, tokens=[0, 1, 7])

    def time_enumerate_small(self):
        lodkit.sequence_enumerate(self.small, win_size=5)
