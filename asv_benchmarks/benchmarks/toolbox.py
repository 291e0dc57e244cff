import io

import numpy as np

import lodkit

from . import common


class Streams:
    """Save and load a table of 50 MB in Paddle's format."""

    def setup(self):
        self.table = common.table(np.random.default_rng(0), 64)
        self.file = io.BytesIO()
        self.time_save()

    def time_save(self):
        self.file.seek(0)
        lodkit.paddle.save(self.file, self.table)

    def time_load(self):
        self.file.seek(0)
        lodkit.paddle.load(self.file)


class Batches:
    """Feed, split and slice batches."""

    def setup(self):
        self.ids = common.ids(np.random.default_rng(0))
        self.examples = [(words.tolist(), i) for i, words in enumerate(self.ids)]
        self.feeder = lodkit.paddle.DataFeeder([("words", 1, np.int64, [1]), ("label", 0, np.int64, [1])])
        self.time_split_by_rows()

    def time_feed(self):
        self.feeder.feed(self.examples)

    def time_split_by_rows(self):
        lodkit.split(self.ids, 8, by="rows")

    def time_slice_in_level(self):
        self.ids.slice_in_level(0, 10, 4000)
