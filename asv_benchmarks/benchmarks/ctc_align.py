import numpy as np

import lodkit


class CtcAlign:
    def setup(self):
        rng = np.random.default_rng(0)
        frames = rng.integers(100, 201, 256)
        self.logits = lodkit.LoDTensor(rng.standard_normal((int(frames.sum()), 32), dtype=np.float32), [frames])
        self.path = self.logits.with_values(rng.integers(0, 4, int(frames.sum())))
        self.time_align()
        self.time_greedy()

    def time_align(self):
        lodkit.ctc_align(self.path)

    def time_greedy(self):
        lodkit.ctc_greedy_decode(self.logits)
