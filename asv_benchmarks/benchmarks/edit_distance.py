import numpy as np

import lodkit


class EditDistance:
    param_names = ["length"]
    params = [[20, 200]]

    def setup(self, length):
        rng = np.random.default_rng(0)
        self.hyp, self.ref = (
            lodkit.LoDTensor(rng.integers(0, 100, int(lengths.sum())), [lengths])
            for lengths in rng.integers(length // 2, length * 3 // 2, (2, 1024))
        )
        self.time_distance(length)

    def time_distance(self, length):
        lodkit.edit_distance(self.hyp, self.ref)
