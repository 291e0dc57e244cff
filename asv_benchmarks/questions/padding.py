"""A batch of 4,096 sequences of 20 rows on average, lengths by a power law, rows of 16 float32 numbers."""

import numpy as np

import lodkit

from . import question
from .pooling import lengths_around


class PaddedBatch:
    def setup(self):
        rng = np.random.default_rng(0)
        lengths = lengths_around(20, 4096, rng)
        self.x = lodkit.LoDTensor(rng.standard_normal((lengths.sum(), 16), np.float32), [lengths])
        self.padded, self.lengths = lodkit.sequence_pad(self.x)
        self.time_unpad()
        self.time_ragged()

    @question("What does padding a batch cost?")
    def time_pad(self):
        """To the longest sequence: sequence_pad."""
        lodkit.sequence_pad(self.x)

    @question("What does taking the padding off cost?")
    def time_unpad(self):
        lodkit.sequence_unpad(self.padded, self.lengths)

    @question("What does a sum over a ragged batch cost?")
    def time_ragged(self):
        """The real rows alone."""
        lodkit.sequence_pool(self.x)

    @question("What does a sum over a padded batch cost?")
    def time_padded(self):
        """NumPy, over all rows; the padding is 0."""
        self.padded.sum(1)

    @question("How much bigger is a padded batch?")
    def track_memory(self):
        """Bytes of the padded batch by bytes of the ragged one."""
        return self.padded.nbytes / self.x.values.nbytes

    track_memory.unit = "times"


class Batches:
    def setup(self):
        rng = np.random.default_rng(0)
        lengths = lengths_around(20, 100_000, rng)
        self.x = lodkit.LoDTensor(rng.integers(0, 1000, lengths.sum()), [lengths])
        self.lists = self.x[:10_000].to_list()
        self.time_batches()
        self.time_lists()

    @question("What do shuffled mini-batches cost?")
    def time_batches(self):
        """One epoch over 100,000 sequences: batches of 512, no padding."""
        for _ in lodkit.batches(self.x, size=512, seed=0):
            pass

    @question("What does reading 10,000 Python lists cost?")
    def time_lists(self):
        """LoDTensor.from_nested; what is in NumPy or Arrow already is not copied."""
        lodkit.LoDTensor.from_nested(self.lists)
