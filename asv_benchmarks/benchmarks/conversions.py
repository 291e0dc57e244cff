import numpy as np

import lodkit

from . import common


class Conversions:
    param_names = ["name"]
    params = [
        [
            "lengths_to_offsets",
            "offsets_to_lengths",
            "lengths_to_segment_ids",
            "offsets_to_segment_ids",
            "segment_ids_to_lengths",
            "segment_ids_to_offsets",
        ]
    ]

    def setup(self, name):
        lengths = common.lengths(100_000, 10, np.random.default_rng(0))
        kinds = {
            "lengths": lengths,
            "offsets": lodkit.lengths_to_offsets(lengths),
            "segment": lodkit.lengths_to_segment_ids(lengths),
        }
        self.x = kinds[name.split("_")[0]]
        self.time_run(name)

    def time_run(self, name):
        lodkit.run(name, self.x)
