"""LoDTensors from and to columns of other libraries, and from sequences one by one; without one, between LoDTensors."""

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


class Sequences:
    param_names = ["kind"]
    params = [["arrays", "rows", "lists", "tensors"]]

    def setup(self, kind):
        rng = np.random.default_rng(0)
        item = (16,) if kind == "rows" else ()
        self.x = [rng.integers(0, 1000, (n, *item)) for n in rng.integers(0, 21, 100_000)]
        if kind == "lists":
            self.x = [array.tolist() for array in self.x]
        if kind == "tensors":
            try:
                import torch
            except ImportError as error:
                raise NotImplementedError("PyTorch is not installed") from error
            self.x = [*map(torch.from_numpy, self.x)]
        self.time_from_nested(kind)

    def time_from_nested(self, kind):
        LoDTensor.from_nested(self.x)

    def time_from_sequences(self, kind):
        LoDTensor.from_sequences(self.x)


class Examples:
    param_names = ["kind", "examples"]
    params = [["tensors", "arrays", "lists"], [32, 512]]

    def setup(self, kind, examples):
        try:
            import torch

            from lodkit.interop.torch import collate
        except ImportError as error:
            raise NotImplementedError("PyTorch is not installed") from error
        rng = np.random.default_rng(0)
        make = {"tensors": torch.from_numpy, "arrays": np.asarray, "lists": np.ndarray.tolist}[kind]
        self.batch = [(make(rng.integers(0, 1000, n)), i % 2) for i, n in enumerate(rng.integers(0, 21, examples))]
        self.collate = collate
        self.time_collate(kind, examples)

    def time_collate(self, kind, examples):
        self.collate(self.batch)


class Words:
    param_names = ["library"]
    params = [["pyarrow", "polars"]]

    def setup(self, library):
        words = [f"word{i}" for i in np.minimum(np.random.default_rng(0).zipf(1.2, 1_000_000), 20_000).tolist()]
        try:
            if library == "polars":
                import polars

                self.column = polars.Series(words)
            else:
                import pyarrow

                self.column = pyarrow.array(words)
        except ImportError as error:
            raise NotImplementedError(f"{library} is not installed") from error
        self.time_ids(library)

    def time_ids(self, library):
        LoDTensor.from_arrow(self.column, dictionary=True)


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
