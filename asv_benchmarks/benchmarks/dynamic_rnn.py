import numpy as np

import lodkit

from . import common


def step(inputs, memories, static):
    """One addition: what is left is the cost of the steps themselves."""
    state = inputs[0] + memories[0]
    return (state,), (state,)


class DynamicRNN:
    param_names = ["sequences"]
    params = [[10, common.BAGS]]

    def setup(self, sequences):
        rng = np.random.default_rng(0)
        lengths = rng.integers(0, 41, sequences)
        self.x = lodkit.LoDTensor(rng.standard_normal((lengths.sum(), 64), dtype=np.float32), [lengths])
        self.first = np.zeros((sequences, 64), np.float32)
        self.time_run()
        self.time_gradient()

    def time_run(self, *_):
        lodkit.dynamic_rnn(step, self.x, self.first)

    def time_gradient(self, *_):
        with lodkit.Tape() as tape:
            outputs, _ = lodkit.dynamic_rnn(step, self.x, self.first)
        tape.gradient(outputs[0], [self.x])
