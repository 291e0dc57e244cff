import os
import subprocess
import sys
import tempfile
import time

import numpy as np

import lodkit


class Package:
    """Overhead of import and calls."""

    def setup(self):
        self.x = lodkit.LoDTensor(np.ones((4, 1), np.float32), [[2, 2]])
        lodkit.sequence_pool(self.x)
        self.kernel = lodkit.sequence_pool.select(self.x)
        self.table = np.ones((100, 16), np.float32)

    def timeraw_import(self):
        return "import lodkit"

    def time_operator(self):
        lodkit.sequence_pool(self.x)

    def time_kernel_alone(self):
        self.kernel(self.x)

    def track_first_call(self):
        """Seconds of the first call in a process with an empty cache: import and compilation."""
        code = "import numpy as np, lodkit; lodkit.sequence_pool(lodkit.LoDTensor(np.ones((4, 64), 'f4'), [[2, 2]]))"
        with tempfile.TemporaryDirectory() as folder:
            start = time.perf_counter()
            subprocess.run([sys.executable, "-c", code], check=True, env={**os.environ, "LODKIT_CACHE_DIR": folder})
            return time.perf_counter() - start

    track_first_call.unit = "s"

    def peakmem_baseline(self):
        lodkit.OPS  # noqa: B018

    def peakmem_merge(self):
        rows = np.arange(1_000_000) % 1000
        lodkit.SelectedRows(rows, np.ones((len(rows), 16), np.float32), 1000).merge()
