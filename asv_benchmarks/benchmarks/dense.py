import numpy as np

import lodkit

from . import common


class Classifier:
    """The dense part of the demo: one layer, its loss and their gradients."""

    def setup(self):
        rng = np.random.default_rng(0)
        self.x = rng.standard_normal((64, 64), dtype=np.float32)
        weights = rng.standard_normal((64, 77), dtype=np.float32), np.zeros(77, np.float32)
        self.weight, self.bias = map(common.parameter, weights)
        self.labels = rng.integers(0, 77, 64)
        self.time_forward()
        self.time_gradients()

    def time_forward(self):
        logits = lodkit.fc(lodkit.relu(self.x), self.weight, self.bias)
        return lodkit.mean(lodkit.softmax_with_cross_entropy(logits, self.labels))

    def time_gradients(self):
        with lodkit.Tape() as tape:
            loss = self.time_forward()
        tape.gradient(loss, [self.weight, self.bias])
