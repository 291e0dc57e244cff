import numpy as np

import lodkit


class AttentionLSTM:
    """32 sequences of 10 to 50 rows."""

    def setup(self):
        rng = np.random.default_rng(0)
        lengths, width, size = rng.integers(10, 51, 32), 64, 64
        draw = lambda *shape: rng.standard_normal(shape, dtype=np.float32) / 8
        self.x = lodkit.LoDTensor(draw(lengths.sum(), width), [lengths])
        self.weights = draw(32, size), draw(width + size), draw(size + width, 4 * size), draw(4 * size)
        self.time_layer()

    def time_layer(self):
        lodkit.attention_lstm(self.x, *self.weights)
