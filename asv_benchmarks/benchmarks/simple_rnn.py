import numpy as np

import lodkit

from . import common

SEQUENCES, WIDTH = 256, 128


class SimpleRnn:
    def setup(self):
        rng = np.random.default_rng(0)
        lengths = rng.integers(1, 40, SEQUENCES)
        draw = lambda *shape: rng.standard_normal(shape, dtype=np.float32) / 16  # noqa: E731
        self.x = lodkit.LoDTensor(draw(int(lengths.sum()), WIDTH), [lengths])
        weights = draw(WIDTH, 1 * WIDTH), draw(WIDTH, 1 * WIDTH), draw(1 * WIDTH)
        self.weights = list(map(common.parameter, weights))
        self.time_forward_and_gradient()

    def time_forward(self):
        lodkit.simple_rnn(self.x, *self.weights)

    def time_forward_and_gradient(self):
        with lodkit.Tape() as tape:
            out = lodkit.simple_rnn(self.x, *self.weights)[0]
        tape.gradient(out, [self.x, *self.weights], output_gradients=self.x.values)
