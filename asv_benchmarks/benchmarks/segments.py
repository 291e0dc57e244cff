import numpy as np

import lodkit

from . import common


class SegmentReduce:
    param_names = ["by", "reduce"]
    params = [["lengths", "offsets", "ids", "unsorted_ids"], ["sum", "mean", "max", "logsumexp"]]

    def setup(self, by, reduce):
        rng = np.random.default_rng(0)
        n = common.lengths(10_000, 20, rng)
        self.data = rng.standard_normal((n.sum(), 32), dtype=np.float32)
        ids = lodkit.lengths_to_segment_ids
        convert = {"lengths": lambda n: n, "offsets": lodkit.lengths_to_offsets, "ids": ids}
        convert["unsorted_ids"] = lambda n: rng.permutation(ids(n))
        self.segments = convert[by](n)
        self.time_run(by, reduce)

    def time_run(self, by, reduce):
        lodkit.segment_reduce(self.data, self.segments, by=by, reduce=reduce, num_segments=10_000)
