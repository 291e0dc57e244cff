import numpy as np

import lodkit

from . import common


class Sequences:
    """Ten thousand sequences of mean length 20, 64 wide, with gradients."""

    param_names = ["name"]
    params = [["sequence_expand", "sequence_expand_as", "sequence_reverse", "sequence_concat"]]

    def setup(self, name):
        rng = np.random.default_rng(0)
        n = common.lengths(10_000, 20, rng)
        x = lodkit.LoDTensor(rng.standard_normal((n.sum(), 64), dtype=np.float32), [n])
        rows = common.parameter(rng.standard_normal((len(n), 64), dtype=np.float32))
        self.inputs = {"sequence_reverse": (x,), "sequence_concat": (x, x)}.get(name, (rows, x))
        with lodkit.Tape() as self.tape:
            self.result = lodkit.run(name, *self.inputs)
        self.time_gradient(name)

    def time_run(self, name):
        lodkit.run(name, *self.inputs)

    def time_gradient(self, name):
        self.tape.gradient(self.result, self.inputs[:1])


class SmallTypes:
    """Reversal of sequences of single numbers of one byte and two, 2 million in all."""

    param_names = ["dtype"]
    params = [["bool", "uint8", "int16"]]

    def setup(self, dtype):
        rng = np.random.default_rng(0)
        n = common.lengths(100_000, 20, rng)
        self.x = lodkit.LoDTensor(rng.integers(0, 2, n.sum()).astype(dtype), [n])
        self.time_reverse(dtype)

    def time_reverse(self, dtype):
        lodkit.sequence_reverse(self.x)


class Small:
    """Overhead per call, on ten sequences of five rows."""

    param_names = ["name"]
    params = Sequences.params

    def setup(self, name):
        x = lodkit.LoDTensor(np.ones((50, 16), np.float32), [[5] * 10])
        rows = np.ones((10, 16), np.float32)
        self.inputs = {"sequence_reverse": (x,), "sequence_concat": (x, x)}.get(name, (rows, x))
        self.time_run(name)

    def time_run(self, name):
        lodkit.run(name, *self.inputs)
