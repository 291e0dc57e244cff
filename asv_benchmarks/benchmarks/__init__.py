"""Benchmarks for asv, one file per family. Setup compiles; lower is better everywhere.

asv forks a process for every parameter from one that has imported this: Numba is there then.
"""

import lodkit.jit  # noqa: F401
