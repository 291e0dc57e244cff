import numpy as np

import lodkit


class AttentionLSTM:
    """32 sequences of 10 to 50 rows."""

    def setup(self):
        rng = np.random.default_rng(0)
        lengths, width, size = rng.integers(10, 51, 32), 64, 64
        self.x = lodkit.LoDTensor(rng.standard_normal((lengths.sum(), width), dtype=np.float32), [lengths])
        shapes = (32, size), (width + size,), (size + width, 4 * size), (4 * size,)
        self.weights = [rng.standard_normal(shape, dtype=np.float32) / 8 for shape in shapes]
        self.time_layer()

    def time_layer(self):
        lodkit.attention_lstm(self.x, *self.weights)
