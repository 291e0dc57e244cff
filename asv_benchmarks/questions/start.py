"""What comes before the first result, and what a call costs that has next to nothing to do."""

import os
import subprocess
import sys
import tempfile
import time

import numpy as np

import lodkit

from . import question

CALL = "import numpy as np, lodkit; lodkit.sequence_pool(lodkit.LoDTensor(np.ones((4, 64), 'f4'), [[2, 2]]))"


def seconds(folder):
    """Seconds of a process that makes one call."""
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", CALL], check=True, env={**os.environ, "LODKIT_CACHE_DIR": folder})
    return time.perf_counter() - start


class Start:
    @question("What does import lodkit cost?")
    def timeraw_import(self):
        """Names are there, and nothing is loaded before its first use: not even NumPy."""
        return "import lodkit"

    @question("What does import lodkit cost with NumPy?")
    def timeraw_types(self):
        """What a program needs that makes a LoDTensor; Numba is loaded by the first call of an operator."""
        return "import numpy, lodkit; lodkit.LoDTensor"

    @question("What does import numpy cost?")
    def timeraw_numpy(self):
        """The part of these imports that is NumPy's."""
        return "import numpy"

    @question("What does a first call cost, uncached?")
    def track_first_call(self):
        """A process with an empty cache: Python's start, imports, compilation, a call."""
        with tempfile.TemporaryDirectory() as folder:
            return seconds(folder)

    @question("What does a first call cost, cached?")
    def track_later_call(self):
        """The same with the compiled kernel in the cache."""
        with tempfile.TemporaryDirectory() as folder:
            seconds(folder)
            return min(seconds(folder) for _ in range(3))

    track_first_call.unit = track_later_call.unit = "s"


class SmallCall:
    """Ten sequences of five rows of 16 numbers."""

    def setup(self):
        self.x = lodkit.LoDTensor(np.ones((50, 16), np.float32), [[5] * 10])
        self.lengths = np.full(10, 5)
        self.time_pool()

    @question("What does a call on ten sequences cost?")
    def time_pool(self):
        lodkit.sequence_pool(self.x)

    @question("What does making a LoDTensor cost?")
    def time_make(self):
        """Of ten sequences; their lengths are checked."""
        lodkit.LoDTensor(self.x.values, [self.lengths])

    @question("How much memory does a first call take?")
    def peakmem_pool(self):
        """Of the process, at most: Python, NumPy, Numba and LLVM."""
        lodkit.sequence_pool(self.x)
