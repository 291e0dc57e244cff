"""``python -m tests.fuzz``: options, and the lanes one after another."""

from __future__ import annotations

import argparse
import os
import pathlib
import subprocess
import sys

LANES = {"compiled": 0.8, "uncompiled": 0.2}  # and their shares of the time


def main():
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description="Hostile calls of every operator.")
    parser.add_argument("--seconds", type=float, help="how long to search (default 120; without end given --cases)")
    parser.add_argument("--seed", type=int, default=1, help="which cases (default 1)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="worker processes (default: one a core)")
    parser.add_argument("--cases", type=int, default=1 << 60, help="end each lane after so many (default: by time)")
    parser.add_argument("--limit", type=float, default=5.0, help="seconds that a case may take (default 5)")
    parser.add_argument("--only", default="", help="regular expression of targets, as operator:gather or tape:")
    parser.add_argument("--lane", choices=LANES, help="one lane only")
    parser.add_argument("--first", action="store_true", help="end at the first finding")
    parser.add_argument("--kinds", default="", help="regular expression of the kinds of findings, as crash")
    parser.add_argument("--load", action="append", default=[], metavar="MODULE", help="module with more samples")
    parser.add_argument("--messages", metavar="FILE", help="write the distinct error messages there")
    parser.add_argument("--replay", metavar="SEED:CASE", help="run one case again")
    given = parser.parse_args()
    if given.seconds is None:
        given.seconds = 120.0 if given.cases == parser.get_default("cases") else 1e9  # cases, on fast and slow machines
    if given.messages:
        pathlib.Path(given.messages).write_text("")
    if given.replay:
        seed, _, number = given.replay.partition(":")
        return run(given, given.lane or "compiled", 0, int(seed), "--replay", number)
    lanes = {given.lane: 1.0} if given.lane else LANES
    return max(run(given, lane, given.seconds * share, given.seed) for lane, share in lanes.items())


def run(given, lane, seconds, seed, *more):
    """Run one lane in a process of its own: whether kernels are compiled is settled when Numba is imported."""
    env = {**os.environ, "OMP_WAIT_POLICY": "passive", "OPENBLAS_NUM_THREADS": "1", "LODKIT_FULL_TRACEBACK": "1"}
    env["NUMBA_DISABLE_JIT"] = "1" if lane == "uncompiled" else "0"
    args = ["--seed", seed, "--seconds", seconds, "--jobs", given.jobs, "--limit", given.limit, "--only", given.only]
    args += ["--cases", given.cases, *(["--first"] if given.first else []), "--kinds", given.kinds]
    args += [part for name in given.load for part in ("--load", name)]
    args += ["--messages", given.messages] if given.messages else []
    command = [sys.executable, "-m", "tests.fuzz.lane", lane, *map(str, (*args, *more))]
    return subprocess.run(command, env=env, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
