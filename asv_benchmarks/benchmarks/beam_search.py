import numpy as np

import lodkit


class BeamSearch:
    """A step of 64 sources with 8 prefixes each, over candidates that were cut before, or a vocabulary."""

    param_names = ["candidates"]
    params = [[16, 10_000]]

    def setup(self, candidates):
        rng = np.random.default_rng(0)
        n = 64 * 8
        self.pre_ids = rng.integers(0, 10_000, n)
        self.pre_scores = rng.standard_normal(n, dtype=np.float32)
        scores = rng.standard_normal((n, candidates), dtype=np.float32)
        self.scores = lodkit.LoDTensor(scores, [[8] * 64, [1] * n])
        self.time_step(candidates)
        self.time_greedy(candidates)

    def time_step(self, candidates):
        lodkit.beam_search(self.pre_ids, self.pre_scores, None, self.scores, beam_size=8, end_id=1)

    def time_greedy(self, candidates):
        lodkit.greedy_decode(self.scores, end_id=1)
