"""Rows of a table: 4,096 bags of 20 ids on average, drawn from the whole table, rows of 64 float32 numbers."""

import numpy as np

import lodkit

from . import question


class Lookup:
    param_names = ["rows"]
    params = [[10_000, 1_000_000]]

    def setup(self, height):
        rng = np.random.default_rng(0)
        self.table = lodkit.empty((height, 64))
        self.table[...] = rng.standard_normal(self.table.shape, np.float32)
        lengths = rng.integers(0, 41, 4096)
        self.bags = lodkit.LoDTensor(rng.integers(0, height, lengths.sum()), [lengths])
        self.grad = lodkit.embedding_bag(self.table, self.bags)
        self.time_lookup()
        self.time_gradient()

    @question("What does looking up 82,000 rows cost?")
    def time_lookup(self, *_):
        """A copy of every row: lookup_table."""
        lodkit.lookup_table(self.table, self.bags)

    @question("What does an embedding bag cost?")
    def time_bag(self, *_):
        """The same rows, added up per bag without a copy: embedding_bag."""
        lodkit.embedding_bag(self.table, self.bags)

    @question("What does the gradient of a lookup cost?")
    def time_gradient(self, *_):
        """SelectedRows, a row for each id: its cost does not depend on the rows of the table."""
        lodkit.embedding_bag_grad(self.table, self.bags, self.grad)
