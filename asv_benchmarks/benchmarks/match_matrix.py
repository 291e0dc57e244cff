import numpy as np

import lodkit


class MatchMatrix:
    param_names = ["width"]
    params = [[32]]

    def setup(self, width):
        rng = np.random.default_rng(0)
        self.x, self.y = (
            lodkit.LoDTensor(rng.random((int(lengths.sum()), width), dtype=np.float32), [lengths])
            for lengths in rng.integers(1, 21, (2, 256))
        )
        self.weight = rng.random((width, 2, width), dtype=np.float32)
        self.time_match(width)

    def time_match(self, width):
        lodkit.match_matrix(self.x, self.y, self.weight)
