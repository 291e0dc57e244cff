"""Settings of the process of the main job, made before NumPy and Numba are imported."""

from __future__ import annotations

import atexit
import gc
import os

GIVEN = dict(os.environ)  # as the user set it


#: Variables by which launchers of MPI tell a process its number, its number on this machine, and how many run there.
_RANK = ("OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "MV2_COMM_WORLD_RANK")
_LOCAL_RANK = ("OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "MV2_COMM_WORLD_LOCAL_RANK")
_LOCAL_SIZE = ("OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS", "MV2_COMM_WORLD_LOCAL_SIZE")


def _env_int(names, default):
    return next((int(os.environ[name]) for name in names if name in os.environ), default)


def launched_rank():
    """Number of this process among those that mpirun started; 0 of one that was started alone."""
    return _env_int(_RANK, 0)


def first_on_machine():
    """Whether this process is the first of its job on this machine."""
    return _env_int(_LOCAL_RANK, launched_rank()) == 0


def settle():
    """Choose how threads wait and when garbage is collected; what the environment says stays.

    One thread for NumPy's matrix products: those of a time step are small, and threads take longer to meet. Threads
    of OpenMP sleep while they wait: spinning, each of a batch's kernels takes milliseconds when another process holds
    a core. Compiling makes objects by the million that stay: collecting as often as usual takes a seventh of it,
    and at the end, when all is given back anyway, half a second.
    """
    if (together := _env_int(_LOCAL_SIZE, 1)) > 1:  # ranks share the cores of a machine
        os.environ.setdefault("NUMBA_NUM_THREADS", str(max(1, (os.cpu_count() or 1) // together)))
    if "OMP_NUM_THREADS" not in os.environ:
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    gc.set_threshold(100_000, 20, 100)
    atexit.register(gc.freeze)
