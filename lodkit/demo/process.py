"""Settings of the process of the main job, made before NumPy and Numba are imported."""

from __future__ import annotations

import atexit
import gc
import os

GIVEN = dict(os.environ)  # as the user set it


def settle():
    """Choose how threads wait and when garbage is collected; what the environment says stays.

    One thread for NumPy's matrix products: those of a time step are small, and threads take longer to meet. Threads
    of OpenMP sleep while they wait: spinning, each of a batch's kernels takes milliseconds when another process holds
    a core. Compiling makes objects by the million that stay: collecting as often as usual takes a seventh of it,
    and at the end, when all is given back anyway, half a second.
    """
    if "OMP_NUM_THREADS" not in os.environ:
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    gc.set_threshold(100_000, 20, 100)
    atexit.register(gc.freeze)
