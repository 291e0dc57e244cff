import numpy as np

import lodkit

from . import common


class SequenceArithmetic:
    def setup(self):
        rng = np.random.default_rng(0)
        lengths = rng.integers(0, 41, common.BAGS)
        self.x = lodkit.LoDTensor(rng.standard_normal((int(lengths.sum()), 64), dtype=np.float32), [lengths])
        self.items = lodkit.sequence_pool(self.x)
        self.numbers = self.items[:, 0].copy()
        for time in (self.time_items, self.time_numbers, self.time_gradient, self.time_positions, self.time_ufunc):
            time()

    def time_items(self):
        lodkit.per_sequence(self.x, self.items, op="sub")

    def time_numbers(self):
        lodkit.per_sequence(self.x, self.numbers, op="mul")

    def time_gradient(self):
        lodkit.per_sequence_values_grad(self.x, self.numbers, self.x.values, op="mul")

    def time_positions(self):
        lodkit.add_position_encoding(self.x)

    def time_ufunc(self):
        self.x + 1
