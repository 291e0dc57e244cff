"""Time reductions of rows and numbers in order and of small tables, an update and copies, with the settings given.

    python asv_benchmarks/tune_copies.py update_rows_ahead=16 far_bytes=8388608

``tune.py`` runs it for every setting: kernels of rows take theirs when they are imported. Prints seconds as JSON.
"""

from __future__ import annotations

import itertools
import json
import sys
import time

import numpy as np
from measuring import QUICK, drawn_ids, fresh, rng

import lodkit
from lodkit.jit import settings, tuning

ROUNDS, HEIGHT, MIB = (1, 1000, 1 << 12) if QUICK else (15, 500_000, 1 << 20)


def least(call):
    """Return the least time of a call, in seconds."""
    times = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)


def update():
    """Return an Adagrad step of rows all over a table and its state."""
    table, state = lodkit.empty((HEIGHT, 64)), lodkit.empty((HEIGHT, 64))
    table[...], state[...] = 0, 1
    rows = drawn_ids("uniform", HEIGHT // 8, HEIGHT)
    grad = lodkit.SelectedRows(rows, rng.standard_normal((len(rows), 64), dtype=np.float32), HEIGHT)
    return lambda: lodkit.adagrad(table, fresh(grad), state, lr=0.1)


def sums(width):
    """Return a sum of sequences of many lengths, over rows in order."""
    rows = HEIGHT * 128 // width
    lengths = rng.multinomial(rows, rng.dirichlet(np.full(rows // 20, 0.5)))
    x, out = lodkit.empty((rows, width)), lodkit.empty((len(lengths), width))
    x[...] = 1
    t = lodkit.LoDTensor(x, [lengths])
    return lambda: lodkit.sequence_pool(t, out=out)


def numbers(count, pool):
    """Return the maxima or sums of segments of so many numbers, of several arrays in turn."""
    lengths, out = np.full(HEIGHT * 10 // count, count), np.empty(HEIGHT * 10 // count, np.float32)
    made = (rng.standard_normal(len(lengths) * count, dtype=np.float32) for _ in range(6))
    given = itertools.cycle([lodkit.LoDTensor(x, [lengths]) for x in made])
    return lambda: lodkit.sequence_pool(next(given), pool=pool, out=out)


def copy(size):
    """Return a copy of sequences into a padded array of ``size`` bytes."""
    lengths = np.full(size // 4096, 16)
    x = lodkit.LoDTensor(rng.standard_normal((lengths.sum(), 64), dtype=np.float32), [lengths])
    out = lodkit.empty((len(lengths), 16, 64))
    return lambda: lodkit.sequence_pad(x, out=out)


def bags(size, width=64, number=1000, batches=4, kind="uniform"):
    """Return sums of bags over a table of ``size`` bytes, by several batches of ids in turn."""
    table = lodkit.empty((size // width // 4, width))
    table[...] = 1
    ids = (drawn_ids(kind, number * 20, len(table)) for _ in range(batches))
    given = itertools.cycle([lodkit.LoDTensor(x, [np.full(number, 20)]) for x in ids])
    return lambda: lodkit.embedding_bag(table, next(given))


def main(given):
    """Set the settings, which modules of kernels take when they are first used, and time with them."""
    tuning.tuning = tuning.tuning._replace(**{name: int(number) for name, number in given.items()})
    for name in ("near_bytes", "mid_bytes", "far_bytes"):
        setattr(settings, name, getattr(tuning.tuning, name))
    assert not any(name.startswith("lodkit.kernels") or name.endswith("copy_runs") for name in sys.modules)
    found = {"update": least(update())} | {f"sums of rows, {width} wide": least(sums(width)) for width in (32, 64, 128)}
    found |= {f"maxima of {count} numbers": least(numbers(count, "max")) for count in (100, 1000)}
    found |= {f"sums of numbers, {count} each": least(numbers(count, "sum")) for count in (20, 100, 1000)}
    for mib in (6, 12, 24, 48):
        found[f"copy of {mib} MiB"] = least(copy(mib * MIB))
    found |= {f"bags, table of {kib} KiB": least(bags(kib << 10)) for kib in (250, 500, 1000, 1800, 3600, 7200)}
    for width, kind in itertools.product((96, 128, 256), ("uniform", "zipf")):
        found[f"wide bags, {width} wide, {kind}"] = least(bags(HEIGHT * width * 4, width, 4096, 16, kind))
    print(json.dumps(found))


if __name__ == "__main__":
    main(dict(pair.split("=") for pair in sys.argv[1:]))
