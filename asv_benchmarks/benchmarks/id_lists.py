import numpy as np

import lodkit

from . import common


class IdLists:
    param_names = ["kind"]
    params = [["uniform", "zipf"]]

    def setup(self, kind):
        rng = np.random.default_rng(0)
        self.lists = [common.ids(rng, kind=kind) for _ in range(2)]
        self.ids = self.lists[0].values
        self.queries = self.ids[::7].copy()
        for run in (self.time_unique, self.time_inverse, self.time_merge, self.time_duplicates, self.time_find):
            run(kind)

    def time_unique(self, kind):
        lodkit.unique(self.ids)

    def time_inverse(self, kind):
        lodkit.unique(self.ids, return_inverse=True)

    def time_merge(self, kind):
        lodkit.merge_id_lists(*self.lists)

    def time_duplicates(self, kind):
        lodkit.find_duplicate_elements(self.ids)

    def time_find(self, kind):
        lodkit.find(self.ids, self.queries)
