"""LoDTensors from and to columns of other libraries; without one, from LoDTensor to LoDTensor."""

import numpy as np

import lodkit
from lodkit import LoDTensor


def column(library, t):
    """A column of a library over a tensor's memory."""
    try:
        if library == "pyarrow":
            return t.to_arrow()
        if library == "polars":
            import polars

            return polars.Series(t)
        if library == "awkward":
            return t.to_awkward()
    except ImportError as error:
        raise NotImplementedError(f"{library} is not installed") from error
    return t


class Columns:
    param_names = ["library", "lists"]
    params = [["lodkit", "pyarrow", "polars", "awkward"], [3, 100_000]]

    def setup(self, library, lists):
        rng = np.random.default_rng(0)
        lengths = rng.integers(0, 41, lists)
        self.t = LoDTensor(rng.standard_normal(int(lengths.sum())), [lengths])
        self.column = column(library, self.t)
        self.time_in(library, lists)

    def time_in(self, library, lists):
        LoDTensor.from_arrow(self.column)

    def time_out(self, library, lists):
        column(library, self.t) if library != "lodkit" else self.t.__arrow_c_array__()


class Maps:
    def setup(self):
        rng = np.random.default_rng(0)
        lengths = rng.integers(0, 9, 10_000)
        keys = rng.integers(0, 100, int(lengths.sum()))
        counts = rng.integers(0, 9, len(keys))
        self.features = lodkit.Features(lengths, keys, counts, rng.integers(0, 1000, int(counts.sum())))
        self.time_round_trip()

    def time_round_trip(self):
        lodkit.Features.from_arrow(self.features)
