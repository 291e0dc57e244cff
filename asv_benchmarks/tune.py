"""Find the settings of ``lodkit/jit/tuning.py`` for this machine's CPU, and print its line.

    python asv_benchmarks/tune.py [--quick]

The settings of bags take turns on the same bags, 4,096 of 20 ids on average over tables of 500,000 rows, aligned to
cache lines and as NumPy allocates them, uniform and Zipf. Those of rows and numbers in order, updates, copies, tables
in the cache and wide bags by all threads are processes (``tune_copies.py``). A setting's score adds up the logarithms
of its times over the best ones. Takes ten minutes; a quiet machine is needed.
"""

from __future__ import annotations

import argparse
import functools
import itertools
import json
import os
import pathlib
import subprocess
import sys

import llvmlite.binding
import numpy as np
from measuring import drawn_ids, rng, turn

import lodkit
from lodkit.jit.tuning import Tuning
from lodkit.kernels.cpu.primitives import reduce, reduce_kernels, row_access

LEVELS, BYTES, ROWS = (2, 3), tuple(kib << 10 for kib in (4, 8, 12, 16, 24, 32, 48, 64, 128)), (64, 128)
NOTHING = [(level, 0, 64) for level in LEVELS]
AGAIN = (0, 8, 16, 24, 32, 48)  # the most rows ahead of a second prefetch; tried with the best of the others
NARROW, BROAD = (16, 32, 48), (64, 96, 128, 256)  # columns; settings of rows below and from ``WIDE`` bytes on
#: Settings of processes, what of ``tune_copies.py`` they matter to, and their choices.
COPIES = (
    ("rows_in_order", "sums of rows", (0, 8, 16, 24, 32)),
    ("numbers_ahead", "maxima", (0, 512, 1024, 2048, 4096)),
    ("sums_ahead", "sums of numbers", (0, 512, 1024, 2048, 4096)),
    ("update_rows_ahead", "update", (16, 32, 48, 64, 96)),
    ("far_bytes", "copy", tuple(mib << 20 for mib in (8, 16, 32, 64))),
    ("cached_rows_ahead", "bags", (0, 8, 16, 24, 32)),
    ("cached_level", "bags", (0, 3)),
    ("cached_astride", "bags", (False, True)),
    ("cached_row_bytes", "bags", (128, 0)),
    ("near_bytes", "bags", tuple(kib << 10 for kib in (0, 256, 512, 1024, 2048, 4096))),
    ("mid_bytes", "bags", tuple(mib << 20 for mib in (0, 2, 4, 8, 16))),
    ("last_line_first", "wide bags", (False, True)),
    ("shared_rows_ahead", "wide bags", (0, 24, 36, 48, 64)),
)


@functools.cache
def compiled(level, width, again):
    """Return the kernel of a sum over bags, whose prefetches go to a level, if it is not 0, some of them again."""
    prefetch = row_access.Prefetch(level, again=again)
    kernel = reduce_kernels.sum_kernel("sum", width, True, False, prefetch).compiled
    bags(np.ones((1, width), np.float32), np.zeros(1, int), np.array([0, 1]))(kernel, 1, 0)
    return kernel


def bags(table, ids, offsets):
    """Return the call that sums bags by a kernel, which prefetches some rows ahead, and again near their use."""
    out = np.empty((len(offsets) - 1, table.shape[1]), np.float32)
    given = table, ids, reduce.NO_WEIGHTS, -1, offsets, np.float32(0), 0, 4096, 64
    return lambda kernel, ahead, near: kernel(*given, ahead, near, out)


def batches(table, kind, count, number):
    """Return calls over several batches, so that none finds its rows in the caches."""
    made = []
    for _ in range(count):
        offsets = np.concatenate([[0], np.cumsum(rng.integers(0, 41, number))])
        made.append(bags(table, drawn_ids(kind, int(offsets[-1]), len(table)), offsets))
    return made


def times(grid, width, calls, rounds):
    """Return the least time of each setting. Settings take turns, for a CPU's prefetching adapts to what runs."""
    best, numbers = dict.fromkeys(grid, np.inf), itertools.count()
    for _ in range(rounds):
        for setting in grid:
            ahead, near = setting.distances_by_id(4 * width, shared=False)
            by = compiled(setting.level if ahead else 0, width, near > 0), ahead, near
            least = min(turn(lambda r, by=by: calls[r % len(calls)](*by), numbers, 1, 1)) / 1e3
            best[setting] = min(best[setting], least)
    return best


def best_choice(setting, matters, choices, fixed, quick):
    """Return the best choice of a setting of processes, over three turns; of a smoke test, over one."""
    program = pathlib.Path(__file__).with_name("tune_copies.py")
    env = {**os.environ, "LODKIT_COMPARE_QUICK": "1" * quick}
    found = {choice: {} for choice in choices}
    for choice in choices * (1 if quick else 3):
        given = [f"{name}={number:d}" for name, number in {**fixed, setting: choice}.items()]
        done = subprocess.run([sys.executable, program, *given], stdout=subprocess.PIPE, check=True, env=env)
        for name, seconds in json.loads(done.stdout).items():
            if name.startswith(matters):
                found[choice][name] = min(seconds, found[choice].get(name, seconds))
    for choice, times in found.items():
        print(f"{setting}={choice}:", ", ".join(f"{name} {t * 1e3:.2f} ms" for name, t in times.items()), flush=True)
    return min(choices, key=lambda choice: np.log([*found[choice].values()]).sum())


def strip_bytes():
    """Return half of the bytes of the vector registers: 32 of 64 bytes, or 16 of 32."""
    return 1024 if llvmlite.binding.get_host_cpu_features().get("avx512f") else 512


def chosen(scores):
    """Return the best level with its best settings of narrow and of wide rows."""
    pairs = []
    for level in LEVELS:
        narrow, wide = (min((s for s in grid if s.level == level), key=grid.get) for grid in scores.values())
        best = narrow._replace(wide_bytes_ahead=wide.wide_bytes_ahead)
        pairs.append((scores[NARROW][narrow] + scores[BROAD][wide], best))
        print(f"{pairs[-1][0]:.3f}  {best}")
    return min(pairs)[1]


def scored(grid, quick):
    """Return the scores of settings over narrow and over wide rows; every batch finds other rows in the caches."""
    height, number, rounds = (1000, 20, 1) if quick else (500_000, 4096, 3)
    scores = {columns: dict.fromkeys(grid, 0.0) for columns in (NARROW, BROAD)}
    for width in (16, 64) if quick else NARROW + BROAD:
        for empty, kind in itertools.product((lodkit.empty, np.empty), ("uniform", "zipf")):
            table = empty((height, width), np.float32)
            table[...] = rng.standard_normal(table.shape, dtype=np.float32)
            found = times(grid, width, batches(table, kind, 24, number), rounds)
            least = min(found.values())
            for setting, best in found.items():
                scores[NARROW if width in NARROW else BROAD][setting] += np.log(best / least)
            where = ", NumPy's table" if empty is np.empty else ""
            most = max(found.values())
            print(f"{width} wide, {kind}{where}: {least * 1e3:.3f} to {most * 1e3:.3f} ms", flush=True)
    return scores


def main(quick):
    """Sweep, and print the scores and the line."""
    strip, sizes = strip_bytes(), [*NOTHING, *itertools.product(LEVELS, BYTES, ROWS)]
    grid = [Tuning(level, size, size, rows, strip_bytes=strip) for level, size, rows in sizes]
    best = chosen(scored(grid[::7] if quick else grid, quick))
    again = scored([best._replace(second_distance=rows, wide_second_distance=rows) for rows in AGAIN], quick)
    for setting, score in again[NARROW].items():
        print(f"{score:.3f}, of wide rows {again[BROAD][setting]:.3f}  second_distance={setting.second_distance}")
    narrow, wide = (min(scores, key=scores.get) for scores in again.values())
    best, rest = narrow._replace(wide_second_distance=wide.second_distance, mid_bytes=8 << 20), {}
    for setting, matters, choices in COPIES:
        choices = choices[:2] if quick else choices
        rest[setting] = best_choice(setting, matters, choices, best._asdict() | rest, quick)
    name = llvmlite.binding.get_host_cpu_name()
    print(
        f'    "{name}": Tuning(level={best.level}, bytes_ahead={best.bytes_ahead >> 10} << 10, '
        f"wide_bytes_ahead={best.wide_bytes_ahead >> 10} << 10, "
        f"rows_ahead={best.rows_ahead}, second_distance={best.second_distance}, "
        f"wide_second_distance={best.wide_second_distance}, "
        f"shared_rows_ahead={rest['shared_rows_ahead']}, cached_rows_ahead={rest['cached_rows_ahead']}, "
        f"cached_level={rest['cached_level']}, cached_astride={rest['cached_astride']}, "
        f"cached_row_bytes={rest['cached_row_bytes']}, "
        f"rows_in_order={rest['rows_in_order']}, numbers_ahead={rest['numbers_ahead']}, "
        f"sums_ahead={rest['sums_ahead']}, last_line_first={rest['last_line_first']}, "
        f"strip_bytes={best.strip_bytes}, update_rows_ahead={rest['update_rows_ahead']}, "
        f"far_bytes={rest['far_bytes'] >> 20} << 20, near_bytes={rest['near_bytes'] >> 10} << 10, "
        f"mid_bytes={rest['mid_bytes'] >> 20} << 20),"
    )


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--quick", action="store_true", help="tiny data, one round: a smoke test")
    main(options.parse_args().quick)
