import numpy as np

import lodkit

from . import common


class Segmentation:
    param_names = ["name"]
    params = [["lengths_range_fill", "lengths_to_ranges", "lengths_to_weights", "lengths_to_shape"]]

    def setup(self, name):
        self.x = common.lengths(100_000, 10, np.random.default_rng(0))
        if name == "lengths_to_shape":
            self.x[:] = 10
        self.time_run(name)

    def time_run(self, name):
        lodkit.run(name, self.x)


class SegmentIdsToRanges:
    def setup(self):
        self.ids = lodkit.lengths_to_segment_ids(common.lengths(100_000, 10, np.random.default_rng(0)))
        self.time_run()

    def time_run(self):
        lodkit.segment_ids_to_ranges(self.ids, num_segments=100_000)
