"""Data sizes, measurement, ratios and records of comparisons."""

from __future__ import annotations

import datetime
import importlib.metadata
import itertools
import json
import os
import pathlib
import socket
import time

import llvmlite.binding
import numpy as np
from benchmarks.common import training_steps  # noqa: F401  for the comparisons

import lodkit

PEERS = (
    *("lodkit", "numpy", "numba", "scipy", "torch", "fbgemm-gpu-cpu", "awkward", "tensorflow", "pyarrow", "polars"),
    *("pytorch-crf", "rapidfuzz", "jiwer"),
)
THREADS = int(os.environ.get("LODKIT_COMPARE_THREADS", "1"))
TURNS = None  # of a process that takes turns with that of another checkout, and measures no peers
if "LODKIT_COMPARE_TURNS" in os.environ:
    TURNS = socket.socket(fileno=int(os.environ["LODKIT_COMPARE_TURNS"])).makefile("rw")
QUICK = bool(os.environ.get("LODKIT_COMPARE_QUICK"))
ROUNDS, TURN = 1 if QUICK else 24, 0.04
HEIGHT = 10_000 if QUICK else 1_000_000
BATCHES = 3 if QUICK else 24
INNER = 10 if QUICK else 500
rng = np.random.default_rng(0)
ratios, rows = {}, []


def drawn_ids(kind, count, height=HEIGHT):
    """Draw ids of a table, "uniform" or "zipf"; the frequent ones lie anywhere in it."""
    drawn = rng.integers(0, height, count) if kind == "uniform" else np.minimum(rng.zipf(1.05, count), 1 << 40)
    return drawn * 2654435761 % height


def fresh(grad):
    """Return the gradient of a new step: one that is used twice keeps the order of its rows."""
    return lodkit.SelectedRows(grad.rows, grad.value, grad.height)


def measure(name, calls, traffic=None, inner=1, rounds=ROUNDS, limit=None):
    """Time {implementation: call(round)}, lodkit's first. Results must agree to 1e-3. ``traffic`` are the bytes of a
    copy to compare with, ``limit`` the milliseconds in which memory could move what a call moves (``limits.py``).

    Implementations take three turns of ``rounds / 3`` calls and at least 40 ms. The first calls after another's find
    threads asleep, and a CPU whose prefetching adapts to what runs: on znver4 bags of a NumPy table take 3.2 ms after
    PyTorch's, 1.6 from the third call on, and on two threads 1.7 and, after 15 ms, 1.0.
    """
    calls = dict([*calls.items()][:1]) if TURNS else calls
    results = {label: call(0) for label, call in calls.items()}
    reference = next(iter(results.values()))
    for label, result in results.items():
        if result is not None and reference is not None:
            np.testing.assert_allclose(np.asarray(result), np.asarray(reference), rtol=1e-3, atol=1e-3, err_msg=label)
    if TURNS:
        take_turns(name, *calls.values(), inner, rounds)
        return
    times = {label: [] for label in calls}
    numbers, rounds = itertools.count(), min(rounds, ROUNDS)
    for _ in range(min(3, rounds)):
        for label, call in calls.items():
            times[label] += turn(call, numbers, inner, -(-rounds // 3))
    best = {label: min(t) for label, t in times.items()}
    copy = memcpy(traffic) if traffic else None
    found = {label: [rounded(best[label]), rounded(np.median(t))] for label, t in times.items()}
    rows.append({"name": name, "times": found, "memcpy": copy and rounded(copy), "limit": limit and rounded(limit)})
    mine, *peers = best
    for label in best:
        share = f"  {best[label] / copy:6.2f} memcpy" if copy else f"  {limit / best[label]:6.2f}" if limit else ""
        share += " of the limit" if limit else ""
        print(f"  {name:44} {label:24} min {best[label]:9.4f}  median {np.median(times[label]):9.4f} ms{share}")
    if peers:
        ratios[name] = min(best[p] for p in peers) / best[mine]
        print(f"  {name:44} {'':24} {ratios[name]:.2f} times the best peer", flush=True)


def turn(call, numbers, inner, count):
    """Return the times of so many calls, or of more in 40 ms."""
    start, times = time.perf_counter(), []
    while len(times) < count or (time.perf_counter() - start < TURN and not QUICK):
        times.append(timed(call, next(numbers), inner))
    return times


def timed(call, r, inner):
    """Return the milliseconds of a call."""
    start = time.perf_counter()
    for _ in range(inner):
        call(r)
    return (time.perf_counter() - start) / inner * 1e3


def take_turns(name, call, inner, rounds):
    """Say that a row is ready; then time some rounds whenever ``compare_versions.py`` asks, and report the least."""
    print(json.dumps(name), file=TURNS, flush=True)
    done = 0
    while TURNS.readline() == "time\n":
        some = range(done, done + -(-min(rounds, ROUNDS) // 3))
        print(min(timed(call, r, inner) for r in some), file=TURNS, flush=True)
        done = some.stop


def rounded(number):
    return float(f"{number:.4g}")


def memcpy(size):
    source = np.ones(size // 4, np.float32)
    target = np.empty_like(source)
    times = []
    for _ in range(7):
        start = time.perf_counter()
        np.copyto(target, source)
        times.append(time.perf_counter() - start)
    return min(times) * 1e3


def versions():
    """Return the version of each peer that is installed."""
    found = {}
    for name in PEERS:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def save(path):
    """Put the rows that were measured into a file of records; those of other rows and numbers of threads stay."""
    path = pathlib.Path(path)
    known = json.loads(path.read_text()) if path.exists() else []
    machine = {"cpu": llvmlite.binding.get_host_cpu_name(), "threads": THREADS}
    machine |= {"date": datetime.datetime.now(datetime.UTC).date().isoformat(), "versions": versions()}
    new = [{**row, **machine} for row in rows]
    fresh = {(row["name"], row["cpu"], row["threads"]): row for row in known + new}
    path.write_text("[\n" + ",\n".join(json.dumps(row) for row in fresh.values()) + "\n]\n")
