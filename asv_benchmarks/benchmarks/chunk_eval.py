import numpy as np

import lodkit


class ChunkEval:
    """10,000 sequences of 25 steps on average, 10 types of chunks."""

    def setup(self):
        rng = np.random.default_rng(0)
        lengths = rng.poisson(25, 10_000)
        label = rng.integers(0, 21, int(lengths.sum()))
        self.label = lodkit.LoDTensor(label, [lengths])
        self.inference = self.label.with_values(np.where(rng.random(len(label)) < 0.9, label, 20))
        self.time_chunk_eval()

    def time_chunk_eval(self):
        lodkit.chunk_eval(self.inference, self.label, num_chunk_types=10)
