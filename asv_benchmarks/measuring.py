"""Data sizes, measurement and ratios of comparisons."""

from __future__ import annotations

import os
import time

import numpy as np

import lodkit

THREADS = int(os.environ.get("LODKIT_COMPARE_THREADS", "1"))
QUICK = bool(os.environ.get("LODKIT_COMPARE_QUICK"))
ROUNDS = 1 if QUICK else 25
HEIGHT = 10_000 if QUICK else 1_000_000
BATCHES = 3 if QUICK else 24
INNER = 10 if QUICK else 500
rng = np.random.default_rng(0)
ratios = {}


def drawn_ids(kind, count):
    """Draw ids of a table of HEIGHT rows, "uniform" or "zipf"; the frequent ones lie anywhere in it."""
    drawn = rng.integers(0, HEIGHT, count) if kind == "uniform" else np.minimum(rng.zipf(1.05, count), 1 << 40)
    return drawn * 2654435761 % HEIGHT


def fresh(grad):
    """Return the gradient of a new step: one that is used twice keeps the order of its rows."""
    return lodkit.SelectedRows(grad.rows, grad.value, grad.height)


def measure(name, calls, traffic=None, inner=1, rounds=ROUNDS):
    """Time {implementation: call(round)}, interleaved, lodkit's first. Results must agree to 1e-3."""
    results = {label: call(0) for label, call in calls.items()}
    reference = next(iter(results.values()))
    for label, result in results.items():
        if result is not None and reference is not None:
            np.testing.assert_allclose(np.asarray(result), np.asarray(reference), rtol=1e-3, atol=1e-3, err_msg=label)
    times = {label: [] for label in calls}
    for r in range(min(rounds, ROUNDS)):
        for k, (label, call) in enumerate(calls.items()):
            start = time.perf_counter()
            for _ in range(inner):
                call(r * len(calls) + k)
            times[label].append((time.perf_counter() - start) / inner * 1e3)
    best = {label: min(t) for label, t in times.items()}
    copy = memcpy(traffic) if traffic else None
    mine, *peers = best
    for label in best:
        share = f"  {best[label] / copy:6.2f} memcpy" if copy else ""
        print(f"  {name:44} {label:24} min {best[label]:9.4f}  median {np.median(times[label]):9.4f} ms{share}")
    if peers:
        ratios[name] = min(best[p] for p in peers) / best[mine]
        print(f"  {name:44} {'':24} {ratios[name]:.2f} times the best peer", flush=True)


def memcpy(size):
    source = np.ones(size // 4, np.float32)
    target = np.empty_like(source)
    times = []
    for _ in range(7):
        start = time.perf_counter()
        np.copyto(target, source)
        times.append(time.perf_counter() - start)
    return min(times) * 1e3
