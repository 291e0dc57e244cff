"""Compare lodkit of this checkout with that of another: rows of ``compare.py``, without peers.

    python asv_benchmarks/compare_versions.py ../older-checkout [--runs 5] [--threads 1] [--only REGEX] [--rows REGEX]

In a run both checkouts are at work, and take turns with each row: what disturbs the machine for longer than a turn
disturbs both. A turn gives this checkout's time over the other's, of minima, and a run the median of its turns. Where
memory happens to lie stays the same in a run, and is worth up to a fifth of some rows: the median of several runs
counts, and beside it the ratio of the least times of all. The slowest rows come first; the exit status is 1 where a
median is above ``--most``. A run takes ten minutes.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import pathlib
import re
import socket
import statistics
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent


@contextlib.contextmanager
def process(tree, options):
    """Start the rows of ``compare.py`` with the package of a checkout; yields the file by which they take turns."""
    mine, theirs = socket.socketpair()
    settings = dict.fromkeys(("LODKIT_COMPARE_THREADS", "NUMBA_NUM_THREADS", "OMP_NUM_THREADS"), options.threads)
    settings |= {"PYTHONPATH": str(tree), "OMP_WAIT_POLICY": "passive", "LODKIT_COMPARE_ONLY": options.only}
    settings |= {"LODKIT_COMPARE_TURNS": str(theirs.fileno())}
    command = [sys.executable, HERE / "compare.py"]
    env, out = {**os.environ, **settings}, subprocess.DEVNULL
    with subprocess.Popen(command, env=env, stdout=out, pass_fds=[theirs.fileno()]) as running:
        theirs.close()
        with mine, mine.makefile("rw") as turns:
            yield turns
    if running.returncode:
        sys.exit(f"rows of {tree} failed")


def ask(turns):
    """Return the milliseconds of one turn."""
    print("time", file=turns, flush=True)
    return float(turns.readline())


def take_turns(mine, other, count):
    """Return the pair of times of each of so many turns."""
    return [(ask(mine), ask(other)) if k % 2 else (ask(other), ask(mine))[::-1] for k in range(count)]


def run(options):
    """Return the turns of each row."""
    found = {}
    with process(HERE.parent, options) as mine, process(options.other.resolve(), options) as other:
        while any(names := [turns.readline() for turns in (mine, other)]):
            if names[0] != names[1]:
                shown = " and ".join(name.strip() or "none" for name in names)
                sys.exit(f"the checkouts measure different rows: {shown}; choose others by --only")
            name = json.loads(names[0])
            if re.search(options.rows, name):
                found[name] = take_turns(mine, other, options.turns)
                print(f"{median(found[name]):5.2f}  {name}", flush=True)
            for turns in (mine, other):
                print("next", file=turns, flush=True)
    return found


def median(turns):
    return statistics.median(mine / other for mine, other in turns)


def least(runs):
    """Return the ratio of the least times of all runs: of the places in memory that favour each checkout most."""
    mine, other = zip(*(pair for turns in runs for pair in turns), strict=True)
    return min(mine) / min(other)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("other", type=pathlib.Path, help="a checkout")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--threads", default="1")
    parser.add_argument("--only", default="", help="regular expression of groups, which are prepared")
    parser.add_argument("--rows", default="", help="regular expression of rows, which are measured")
    parser.add_argument("--most", type=float, default=1.03)
    options = parser.parse_args()
    runs = [run(options) for _ in range(options.runs)]
    rows = {name: ([median(r[name]) for r in runs], least([r[name] for r in runs])) for name in runs[0]}
    medians = sorted(((statistics.median(each), name) for name, (each, _) in rows.items()), reverse=True)
    print(f"\n{len(rows)} rows, medians of {options.runs} runs (of each run), ratio of the least times:")
    for middle, name in medians:
        each, of_least = rows[name]
        print(f"{middle:5.2f}  ({' '.join(f'{x:.2f}' for x in each)})  {of_least:.2f}  {name}")
    return 1 if not medians or medians[0][0] > options.most else 0


if __name__ == "__main__":
    sys.exit(main())
