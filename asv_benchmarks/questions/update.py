"""A table of a million rows of 64 float32 numbers, and a batch that has read 82,000 of them, Zipf: few rows often."""

import numpy as np

import lodkit

from . import question

HEIGHT = 1_000_000


def bags(rng):
    lengths = rng.integers(0, 41, 4096)
    drawn = np.minimum(rng.zipf(1.05, lengths.sum()), 1 << 40)
    return lodkit.LoDTensor(drawn * 2654435761 % HEIGHT, [lengths])


class Update:
    def setup(self):
        rng = np.random.default_rng(0)
        ids = bags(rng)
        self.table, self.moment = lodkit.empty((HEIGHT, 64)), lodkit.empty((HEIGHT, 64))
        self.table[...], self.moment[...] = 0.1, 1.0
        self.rows, self.values = ids.values, rng.standard_normal((len(ids.values), 64), np.float32)
        self.time_merge()
        self.time_sgd()
        self.time_adagrad()
        self.dense = np.zeros_like(self.table)
        self.time_dense_sgd()

    def gradient(self):
        """A new one: a gradient remembers that it is merged."""
        return lodkit.SelectedRows(self.rows, self.values, HEIGHT)

    @question("What does merging a sparse gradient cost?")
    def time_merge(self):
        """Rows that it lists several times are added up: SelectedRows.merge."""
        self.gradient().merge()

    @question("What does a sparse step of SGD cost?")
    def time_sgd(self):
        """The rows of the batch alone, merged on the way."""
        lodkit.sgd(self.table, self.gradient(), lr=1e-3)

    @question("What does a sparse step of Adagrad cost?")
    def time_adagrad(self):
        lodkit.adagrad(self.table, self.gradient(), self.moment, lr=1e-3)

    @question("What would a dense step of SGD cost?")
    def time_dense_sgd(self):
        """All million rows, which is what the sparse step saves."""
        lodkit.sgd(self.table, self.dense, lr=1e-3)


class TrainingStep:
    def setup(self):
        rng = np.random.default_rng(0)
        self.ids, self.table = bags(rng), lodkit.parameter(lodkit.empty((HEIGHT, 64)))
        self.table[...] = 0.1
        self.optimizer = lodkit.optim.Adagrad({"table": self.table}, lr=1e-3)
        self.time_step()

    @question("What does a whole training step cost?")
    def time_step(self):
        """Of a bag of words: lookup, pooling, a squared loss, gradients by the tape, sparse Adagrad."""
        with lodkit.Tape() as tape:
            pooled = lodkit.embedding_bag(self.table, self.ids, pool="mean")
            loss = np.square(pooled).sum()
        self.optimizer.step(tape.gradient(loss, [self.table]))
