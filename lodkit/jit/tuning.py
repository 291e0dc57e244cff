"""What differs between CPUs: prefetching, and what the caches hold. No result depends on it.

``python asv_benchmarks/tune.py`` measures the machine at hand and prints its line.
"""

from __future__ import annotations

from typing import NamedTuple

import llvmlite.binding
from numba import config

WIDE_ROW_BYTES = 256  # four cache lines
SHARED = 384  # bytes of a row of six
FIRST_LEVEL = 32 << 10  # bytes of a table that needs no prefetch
NO_ROW_BYTES = 1 << 62  # more than a row has


class Tuning(NamedTuple):
    """Settings of one kind of CPU.

    Attributes
    ----------
    level : int
        The cache that rows are prefetched into, as LLVM numbers them: 3 is the first level, 2 the second.
    bytes_ahead : int
        Bytes of rows between the prefetch of a row by its id and its use; 0 for no prefetch.
    wide_bytes_ahead : int
        The same, of rows of four cache lines and more.
    rows_ahead : int
        The most rows between them, for narrow rows.
    second_distance : int
        Rows between a second prefetch by ids and the use of a row: five eighths of those of the first, and at most so
        many; 0 for none. A CPU drops prefetches for which it has no room just then, and a row that it did not fetch
        stops all that is behind it.
    wide_second_distance : int
        The same, of rows of four cache lines and more.
    shared_rows_ahead : int
        Rows between a prefetch and its use where several threads read rows of ``SHARED`` bytes and more by ids: of
        every second cache line of a row, and of all lines again. 0 for the prefetches of one thread.
    single_rows_ahead : int
        Rows between a prefetch into the first level and the use of a row of one or two cache lines, where each bag has
        one row and tables exceed the caches; 0 for the prefetches of other bags.
    cached_rows_ahead : int
        Rows between a prefetch of a row by its id and its use, where the second-level or the third-level cache holds
        the table; 0 for none.
    cached_level : int
        The cache that all lines of such rows are prefetched into; 0 for every second line into ``level``.
    cached_astride : bool
        Prefetch also the line that such a row ends in, if it begins amid one.
    cached_row_bytes : int
        The fewest bytes of a row that is prefetched where the second-level cache holds the table.
    rows_in_order : int
        Rows between them where rows are read in order, and the CPU prefetches too; 0 for as many as by ids.
    numbers_ahead : int
        Numbers between a prefetch into the first level and its use, where there is one dimension; 0 for none.
    sums_ahead : int
        The same, for sums, products and softmax; and also for the rest of a segment, less than a vector, which is read
        by a masked load: some CPUs do not prefetch behind those by themselves. 0 for ``numbers_ahead`` and no rest.
    last_line_first : bool
        Load the last cache line of a row by ids before the others: the CPU then prefetches no lines behind the row.
    strip_bytes : int
        Bytes of a row that are summed at a time. With AVX-512 they fill half of the vector registers; with AVX2 all 16,
        which costs a spill per row, where two strips would walk each bag twice.
    update_rows_ahead : int
        Rows between a prefetch and its use where rows are copied or updated one by one.
    far_bytes : int
        Results from this size on are written past the caches.
    near_bytes : int
        Tables, and values in order, up to this size are in the second-level cache: no values in order are prefetched,
        and of tables what ``cached_rows_ahead`` says.
    mid_bytes : int
        Tables up to this size are in the third-level cache: the same.
    """

    level: int = 2
    bytes_ahead: int = 1 << 16
    wide_bytes_ahead: int = 1 << 16
    rows_ahead: int = 64
    second_distance: int = 0
    wide_second_distance: int = 0
    shared_rows_ahead: int = 0
    single_rows_ahead: int = 0
    cached_rows_ahead: int = 0
    cached_level: int = 0
    cached_astride: bool = False
    cached_row_bytes: int = WIDE_ROW_BYTES // 2
    rows_in_order: int = 0
    numbers_ahead: int = 0
    sums_ahead: int = 0
    last_line_first: bool = False
    strip_bytes: int = 512
    update_rows_ahead: int = 32
    far_bytes: int = 32 << 20
    near_bytes: int = 256 << 10
    mid_bytes: int = 0

    def distance_of(self, row_bytes):
        """Rows between a prefetch and its use; 0 for none."""
        size = self.bytes_ahead if row_bytes < WIDE_ROW_BYTES else self.wide_bytes_ahead
        return max(8, min(self.rows_ahead, size // max(row_bytes, 1))) if size else 0

    def distance_in_cache(self, row_bytes, beyond_first, beyond_second):
        """Rows between a prefetch by ids and its use, where a cache holds the table, which may be larger than the first
        level or the second; 0 for none.
        """
        if not beyond_first or (not beyond_second and row_bytes < self.cached_row_bytes):
            return 0
        # All lines of wide rows would fill the first level, every second line does not.
        most = FIRST_LEVEL // 4 // max(row_bytes, 1) if self.cached_level else self.cached_rows_ahead
        return min(self.cached_rows_ahead, max(4, most))

    def distances_by_id(self, row_bytes, shared):
        """Rows between a prefetch by ids and its use, which is of every second line where threads have ``shared`` the
        call, if there are ``shared_rows_ahead``; and rows between a second one and its use.
        """
        if shared:
            return self.shared_rows_ahead, self.shared_rows_ahead * 5 // 8
        second = self.second_distance if row_bytes < WIDE_ROW_BYTES else self.wide_second_distance
        distance = self.distance_of(row_bytes)
        return distance, min(second, distance * 5 // 8)


#: Kind of CPU -> its settings. The size of the second-level cache was not measured on znver3: the default is the
#: smallest such cache.
CPUS = {
    # From 64 columns on, the second level 128 rows ahead takes 0.9 to 0.95 of the time of 64 rows, and to ask twice
    # 1.1; copies of 12 and 24 MiB past the caches 0.85; maxima of 100 and 1,000 numbers, asked for 1,024 ahead, 0.65 to
    # 0.95, sums 0.75 to 1.07. What the second level holds, 2 MiB, takes 0.66 to 0.85 of the time without prefetches. In
    # tables of up to 8 MiB, all lines 8 rows ahead into the first level take 0.75 to 0.95 of the time of 128 rows ahead
    # into the second, bags of one fresh id 1.0 to 1.25; 16 rows ahead those take 1.2 to 1.5.
    "emeraldrapids": Tuning(
        bytes_ahead=128 << 10,
        rows_ahead=128,
        cached_rows_ahead=8,
        cached_level=3,
        cached_astride=True,
        cached_row_bytes=NO_ROW_BYTES,
        mid_bytes=8 << 20,
        rows_in_order=32,
        numbers_ahead=1024,
        strip_bytes=1024,
        update_rows_ahead=48,
        far_bytes=8 << 20,
        near_bytes=2 << 20,
    ),
    # The first level pays where it keeps many misses under way: bags of 16, 32, 64 and 128 columns take 0.5, 0.5, 0.7
    # and 0.9 of the time that the second level, 64 rows ahead, takes. From 64 columns on, 24 kB ahead and again 16 rows
    # ahead take 0.7 to 0.8 of the time of 12 kB by Zipf ids, 0.95 to 1.05 by uniform ones. Again 32 rows ahead, 0.85 to
    # 0.95 of that by uniform ones. Two threads that ask for all lines of 128 columns are no faster than one where
    # memory is busy; with every second line 36 rows ahead, bags of 96 to 256 columns take 0.75 to 0.95 of the time
    # there, and 0.9 to 1.05 where it is not; bags of 64 would take 1.3 by Zipf ids, which want more rows ahead. In
    # tables of up to a quarter of the third level, all lines 16 to 24 rows ahead into the first level, with the line
    # that a row ends in, take 0.8 to 0.95 of the time that every second line takes, without it 0.95 to 1.05. Rows in
    # order, 24 ahead and not 96: 0.92 to 0.95. Sums of 20 and 100 numbers out of memory, asked for 2,048 ahead, 0.3, of
    # 1,000 1.1; maxima of up to 100, which touch their first number before, 1.1.
    "znver5": Tuning(
        level=3,
        bytes_ahead=24 << 10,
        wide_bytes_ahead=24 << 10,
        rows_ahead=128,
        wide_second_distance=32,
        shared_rows_ahead=36,
        cached_rows_ahead=24,
        cached_level=3,
        cached_astride=True,
        cached_row_bytes=0,
        rows_in_order=24,
        sums_ahead=2048,
        strip_bytes=1024,
        near_bytes=1 << 20,
        mid_bytes=8 << 20,
    ),
    # The first level is slower by a third. To ask again 16 rows ahead takes 0.8 of the time with 16 and 32 columns by
    # uniform ids, 0.8 to 1.0 by Zipf ids; rows of 64 columns, asked for 64 rows ahead and again 16, 0.84 to 0.9 of the
    # time of 64 and 32 where 5,000 ids come again, 0.95 to 1.0 by fresh ones. Rows in order, 16 ahead and not 96: 0.85
    # with 64 and 128 columns, 0.75 with 32. In tables of up to a quarter of the third level, all lines 16 rows ahead
    # into the first level take 0.65 to 0.85 of the time that two prefetches into the second take; tables of 16 MB of 8
    # columns would take 2. Bags of one id of 16 columns out of the caches, 32 ahead into the first level: 0.85. Rows of
    # 64 and 128 columns beyond the caches, asked for twice, take 0.75 to 0.95 of the time of lines in order if the last
    # one is loaded first, and 0.95 to 1.0 of that 24 KiB ahead and not 16; backwards, as LLVM may choose, 1.05 to 1.6;
    # asked for three times, 1.0 to 1.2 by Zipf ids. In the caches the order does not matter.
    "znver4": Tuning(
        bytes_ahead=48 << 10,
        wide_bytes_ahead=24 << 10,
        rows_ahead=128,
        second_distance=16,
        wide_second_distance=16,
        single_rows_ahead=32,
        cached_rows_ahead=16,
        cached_level=3,
        mid_bytes=8 << 20,
        rows_in_order=16,
        last_line_first=True,
        strip_bytes=1024,
    ),
    # With half of the second level of znver4, fewer rows ahead take 0.91 to 0.97 of the time from 64 columns on; copies
    # of 12 to 24 MiB past the caches 0.7. Rows in order, 16 ahead and not 64: 0.83 with 16 columns, 0.9 with 32, 0.95
    # to 1.0 with 128. By ids, 16 rows ahead into the first level take 0.93 of the time by uniform ids, 22 grids on
    # average, but 1.2 to 1.8 by Zipf ids. Rows of 64 and 128 columns, 6 KiB ahead and not 8: 0.97 in the mean of 36
    # cells of fresh, repeated and Zipf ids, twice. In tables of up to 4 MiB, the first lines of rows 16 ahead into the
    # first level take 0.93 to 0.98 of the time that two lines into the second take, 8 to 64 columns; in one of 6 MiB
    # 0.95 by an equal batch again, 1.2 by Zipf ids.
    "znver3": Tuning(
        bytes_ahead=4 << 10,
        wide_bytes_ahead=6 << 10,
        rows_ahead=128,
        cached_rows_ahead=16,
        cached_level=3,
        mid_bytes=4 << 20,
        rows_in_order=16,
        far_bytes=8 << 20,
    ),
}


#: An instruction that a generation of CPUs was the first to have -> the kind of CPU whose settings hold from it on.
GENERATIONS = {"avx512fp16": "emeraldrapids"}


def tuning_of(cpu, features=()):
    """Return the settings of a kind of CPU, by LLVM's name for it or by instructions that it has.

    A virtual machine may hide the model: LLVM calls a Sapphire Rapids "rocketlake" then, which has no avx512fp16.
    """
    if cpu not in CPUS:
        cpu = next((kind for feature, kind in GENERATIONS.items() if feature in features), cpu)
    return CPUS.get(cpu, Tuning())


def host_features():
    """Return the names of the instructions that kernels of this process are compiled for."""
    if config.CPU_FEATURES is not None:
        return [name[1:] for name in config.CPU_FEATURES.split(",") if name.startswith("+")]
    return [name for name, has in llvmlite.binding.get_host_cpu_features().items() if has]


tuning = tuning_of(getattr(config, "CPU_NAME", None) or llvmlite.binding.get_host_cpu_name(), host_features())
