import numpy as np

import lodkit

from . import common


class Selection:
    """Slice, select and sort ten thousand sequences of mean length 20, 64 wide."""

    param_names = ["name"]
    params = [["sequence_slice", "sequence_select", "sequence_sort"]]

    def setup(self, name):
        rng = np.random.default_rng(0)
        n = common.lengths(10_000, 20, rng)
        values = rng.standard_normal((n.sum(), 64), dtype=np.float32)
        x, nested = lodkit.LoDTensor(values, [n]), lodkit.LoDTensor(values, [[20] * 500, n])
        half = lodkit.LoDTensor(rng.integers(0, 20, 5000), [[10] * 500])
        self.inputs = {
            "sequence_slice": (x, n // 4, n // 2),
            "sequence_select": (nested, half),
            "sequence_sort": (x, rng.random(len(n))),
        }[name]
        with lodkit.Tape() as self.tape:
            self.result = lodkit.run(name, *self.inputs)
        self.time_gradient(name)

    def time_run(self, name):
        lodkit.run(name, *self.inputs)

    def time_gradient(self, name):
        self.tape.gradient(self.result, self.inputs[:1])
