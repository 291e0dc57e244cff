import numpy as np

import lodkit


class BeamSearchDecode:
    """50 steps of 64 sources with 8 hypotheses each."""

    def setup(self):
        rng = np.random.default_rng(0)
        self.ids, self.scores, prefixes = [], [], np.ones(64, np.int64)
        for _ in range(50):
            parents = np.concatenate([np.sort(rng.integers(0, n, 8)) for n in prefixes])
            starts = np.repeat(np.cumsum(prefixes) - prefixes, 8)
            lengths = prefixes, np.bincount(parents + starts, minlength=prefixes.sum())
            self.ids.append(lodkit.LoDTensor(rng.integers(0, 10_000, 64 * 8), lengths))
            self.scores.append(lodkit.LoDTensor(rng.random(64 * 8, dtype=np.float32), lengths))
            prefixes = np.full(64, 8)
        self.time_decode()

    def time_decode(self):
        lodkit.beam_search_decode(*self.ids, *self.scores, beam_size=8, end_id=1)
