import numpy as np

import lodkit


class Package:
    """Overhead of calls."""

    def setup(self):
        self.x = lodkit.LoDTensor(np.ones((4, 1), np.float32), [[2, 2]])
        lodkit.sequence_pool(self.x)
        self.kernel = lodkit.sequence_pool.select(self.x)
        self.table = np.ones((100, 16), np.float32)

    def time_operator(self):
        lodkit.sequence_pool(self.x)

    def time_kernel_alone(self):
        self.kernel(self.x)

    def peakmem_baseline(self):
        lodkit.OPS  # noqa: B018

    def peakmem_merge(self):
        rows = np.arange(1_000_000) % 1000
        lodkit.SelectedRows(rows, np.ones((len(rows), 16), np.float32), 1000).merge()
