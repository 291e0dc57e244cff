"""What differs between CPUs: prefetching, and what the caches hold. No result depends on it.

``python asv_benchmarks/tune.py`` measures the machine at hand and prints its line.
"""

from __future__ import annotations

from typing import NamedTuple

import llvmlite.binding
from numba import config

WIDE = 256  # bytes of a row of four cache lines


class Tuning(NamedTuple):
    """Settings of one kind of CPU.

    Attributes
    ----------
    level : int
        The cache that rows are prefetched into, as LLVM numbers them: 3 is the first level, 2 the second.
    bytes_ahead : int
        Bytes of rows, counted as float32, between the prefetch of a row by its id and its use; 0 for no prefetch.
    wide_bytes_ahead : int
        The same, of rows of four cache lines and more.
    rows_ahead : int
        The most rows between them, for narrow rows.
    again : int
        Rows between a second prefetch by ids and the use of a row; 0 for none. A CPU drops prefetches for which it has
        no room just then, and a row that it did not fetch stops all that is behind it.
    rows_in_order : int
        Rows between them where rows are read in order, and the CPU prefetches too; 0 for as many as by ids.
    numbers_ahead : int
        Numbers between a prefetch into the first level and its use, where there is one dimension; 0 for none.
    strip_bytes : int
        Bytes of a row that are summed at a time. With AVX-512 they fill half of the vector registers; with AVX2 all 16,
        which costs a spill per row, where two strips would walk each bag twice.
    update_rows_ahead : int
        Rows between a prefetch and its use where rows are copied or updated one by one.
    far_bytes : int
        Results from this size on are written past the caches.
    near_bytes : int
        Tables, and values in order, up to this size are in the second-level cache: reductions prefetch none of them.
    """

    level: int = 2
    bytes_ahead: int = 1 << 16
    wide_bytes_ahead: int = 1 << 16
    rows_ahead: int = 64
    again: int = 0
    rows_in_order: int = 0
    numbers_ahead: int = 0
    strip_bytes: int = 512
    update_rows_ahead: int = 32
    far_bytes: int = 32 << 20
    near_bytes: int = 256 << 10

    def ahead(self, row_bytes):
        """Rows between a prefetch and its use; 0 for no prefetch."""
        size = self.bytes_ahead if row_bytes < WIDE else self.wide_bytes_ahead
        return max(8, min(self.rows_ahead, size // max(row_bytes, 1))) if size else 0


#: Kind of CPU -> its settings. The first level pays where it keeps many misses under way: on znver5 bags of 16, 32, 64
#: and 128 columns take 0.5, 0.5, 0.7 and 0.9 of the time that the second level, 64 rows ahead, takes. On znver3, with
#: half its L2, fewer rows ahead take 0.91 to 0.97 of the time from 64 columns on, and copies of 12 to 24 MiB past the
#: caches 0.7. On znver4 the first level is slower by a third, and to ask again 16 rows ahead takes 0.8 of the time with
#: 16 and 32 columns and 0.63 to 0.7 with more, by uniform ids; 0.8 to 1.0 by Zipf ids. Rows in order, 16 ahead and not
#: 96: 0.85 with 64 and 128 columns, 0.75 with 32. On emeraldrapids the second level 128 rows ahead takes 0.9 to 0.95 of
#: the time that 64 rows take from 64 columns on, and to ask twice 1.1; copies of 12 and 24 MiB past the caches 0.85;
#: maxima of numbers in segments of 100 and 1,000, asked for 1,024 ahead, 0.65 to 0.95, sums 0.75 to 1.07. What its L2
#: holds, 2 MiB, takes 0.66 to 0.85 of the time without prefetches; what others hold was not measured: the default is
#: the smallest there is, and znver5, which prefetches into the first level, goes on to.
CPUS = {
    "emeraldrapids": Tuning(
        bytes_ahead=128 << 10,
        rows_ahead=128,
        rows_in_order=32,
        numbers_ahead=1024,
        strip_bytes=1024,
        update_rows_ahead=48,
        far_bytes=8 << 20,
        near_bytes=2 << 20,
    ),
    "znver5": Tuning(
        level=3, bytes_ahead=24 << 10, wide_bytes_ahead=12 << 10, rows_ahead=128, strip_bytes=1024, near_bytes=0
    ),
    "znver4": Tuning(
        bytes_ahead=48 << 10, wide_bytes_ahead=24 << 10, rows_ahead=128, again=16, rows_in_order=16, strip_bytes=1024
    ),
    "znver3": Tuning(bytes_ahead=4 << 10, wide_bytes_ahead=8 << 10, rows_ahead=128, far_bytes=8 << 20),
}


def tuning_of(cpu):
    """The settings of a kind of CPU, by LLVM's name."""
    return CPUS.get(cpu, Tuning())


tuning = tuning_of(getattr(config, "CPU_NAME", None) or llvmlite.binding.get_host_cpu_name())
