"""Measurement on a GPU by events, ratios and records of comparisons."""

from __future__ import annotations

import contextlib
import datetime
import importlib.metadata
import json
import pathlib
import types

try:
    import torch
except ImportError:
    torch = None

BATCHES = 4
PACKAGES = ("lodkit", "numpy", "numba", "numba-cuda", "cuda-core", "torch", "cupy-cuda13x", "cupy-cuda12x")
#: Rounds of a call; milliseconds of a round; what sizes are divided by.
settings = types.SimpleNamespace(rounds=7, long=10.0, scale=1)
measured = []


def milliseconds(call, count):
    """Return the milliseconds per call of ``count`` calls."""
    start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.record()
    for r in range(count):
        call(r % BATCHES)
    stop.record()
    stop.synchronize()
    return start.elapsed_time(stop) / count


def fastest(calls):
    """Return the minimum milliseconds per call; rounds of all calls take turns."""
    for call in calls.values():
        call(0)
    counts = {label: max(1, min(20, int(settings.long / milliseconds(call, 1)))) for label, call in calls.items()}
    times = {label: [] for label in calls}
    for _ in range(settings.rounds):
        for label, call in calls.items():
            times[label].append(milliseconds(call, counts[label]))
    return {label: min(t) for label, t in times.items()}


def agree(results):
    """Check that all results that are not None agree, long sums to what PyTorch's atomic additions round them to."""
    first, *others = [r.float() for r in results if r is not None] or [None]
    for other in others:
        torch.testing.assert_close(other, first, rtol=1e-3, atol=1e-3 + 1e-5 * first.abs().max().item())


def measure(name, calls, traffic):
    """Print one row per call, lodkit's first; ``traffic`` is in bytes."""
    agree([call(0) for call in calls.values()])
    best = fastest(calls)
    least = traffic / copy_speed() * 1e3
    measured.append({"name": name, "times": {label: float(f"{ms:.4g}") for label, ms in best.items()}, "copy": least})
    for label, ms in best.items():
        print(f"  {name:56} {label:22} {ms:9.4f} ms  {least / ms:5.2f} of a copy's speed", flush=True)
    if ratio_of(measured[-1]):
        print(f"  {name:56} {'':22} {ratio_of(measured[-1]):.2f} times the best peer", flush=True)


def ratio_of(row, mine="lodkit"):
    """The speed relative to the best peer; None without one."""
    peers = [ms for label, ms in row["times"].items() if not label.startswith("lodkit")]
    return min(peers) / row["times"][mine] if peers and mine in row["times"] else None


def save(path):
    """Put the rows into a file of records; those of other rows and GPUs stay."""
    path, found = pathlib.Path(path), {}
    for name in PACKAGES:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            found[name] = importlib.metadata.version(name)
    machine = {"gpu": torch.cuda.get_device_name(), "copy_speed": round(copy_speed() / 1e12, 2), "versions": found}
    machine |= {"date": datetime.datetime.now(datetime.UTC).date().isoformat()}
    known = json.loads(path.read_text()) if path.exists() else []
    fresh = {(row["name"], row["gpu"]): row for row in known + [{**row, **machine} for row in measured]}
    path.write_text("[\n" + ",\n".join(json.dumps(row) for row in fresh.values()) + "\n]\n")


def copy_speed(size=(1 << 30), found=[]):  # noqa: B006
    """Measure the bytes per second of a device copy, read and written, once."""
    if not found:
        size //= settings.scale
        source = torch.ones(size // 4, device="cuda")
        target = torch.empty_like(source)
        found.append(2 * size / fastest({"copy": lambda r: target.copy_(source)})["copy"] * 1e3)
        print(f"device-to-device copy: {found[0] / 1e12:.2f} TB/s read and written")
    return found[0]
