"""Make each Python process that has this folder on its path lack what only Linux has, as Windows and macOS do.

    PYTHONPATH=tests/other_systems python -m pytest tests/test_main.py

Modules fail to import, functions and flags are gone, C libraries are not found by name, and GNU OpenMP is not there.
What others need to run on Linux stays: ``os.getuid``, ``os.uname`` and SIGKILL, which pytest, NumPy and subprocess use.
"""

import ctypes
import mmap
import os
import signal
import sys

MODULES = ("fcntl", "resource", "pwd", "grp", "termios", "syslog")
OPENMP = ("numba.np.ufunc.omppool", "numba.np.ufunc.tbbpool")
FUNCTIONS = """
    fork forkpty register_at_fork sched_getaffinity sched_setaffinity geteuid getegid fchown chown killpg setsid statvfs
    sysconf mkfifo memfd_create eventfd posix_fadvise posix_fallocate preadv pwritev copy_file_range
    O_NONBLOCK O_NOFOLLOW O_DIRECTORY O_DIRECT"""
SIGNALS = ("SIGALRM", "SIGUSR1", "SIGUSR2", "setitimer", "alarm", "pthread_kill", "pthread_sigmask")

for name in MODULES + OPENMP:
    sys.modules[name] = None
for name in FUNCTIONS.split():
    if hasattr(os, name):
        delattr(os, name)
for name in SIGNALS:
    delattr(signal, name)
for name in [name for name in vars(mmap) if name.startswith(("MAP_", "MADV_", "PROT_"))]:
    delattr(mmap, name)


class Mapping(mmap.mmap):
    """As on Windows: no flags, and no advice."""

    def __new__(cls, fileno, length, tagname=None, access=0, offset=0):
        return super().__new__(cls, fileno, length, access=access, offset=offset)

    @property
    def madvise(self):
        raise AttributeError("madvise")


class Library(ctypes.CDLL):
    """Only libraries given by their path: None is not the process, and C's has another name."""

    def __init__(self, name, *args, **kwargs):
        if name is None or not os.path.isabs(name):
            raise OSError(f"there is no library {name}")
        super().__init__(name, *args, **kwargs)


mmap.mmap, ctypes.CDLL = Mapping, Library
