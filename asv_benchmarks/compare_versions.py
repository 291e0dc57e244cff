"""Compare lodkit of this checkout with that of another: rows of ``compare.py``, without peers.

    python asv_benchmarks/compare_versions.py ../older-checkout [--turns 9] [--threads 1] [--only REGEX]

Both run at the same time, and take turns with each row: what disturbs the machine for longer than a turn disturbs both.
A turn gives this checkout's time over the other's, of minima; the median of the turns is printed, the slowest rows
first, and the exit status is 1 where one is above ``--most``. A row that is gets five times as many turns.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import pathlib
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
        with mine.makefile("rw") as turns:
            yield turns
    if running.returncode:
        sys.exit(f"rows of {tree} failed")


def ask(turns):
    """Return the milliseconds of one turn."""
    print("time", file=turns, flush=True)
    return float(turns.readline())


def take_turns(mine, other, count):
    """Return the ratio of each of so many turns."""
    pairs = [(ask(mine), ask(other)) if k % 2 else (ask(other), ask(mine))[::-1] for k in range(count)]
    return [a / b for a, b in pairs]


def compared(mine, other, count, most):
    """Yield the name of each row, and the ratio of each of its turns."""
    while names := {turns.readline() for turns in (mine, other)} - {""}:
        if len(names) > 1:
            sys.exit(f"the checkouts measure different rows: {' and '.join(names)}; choose others by --only")
        ratios = take_turns(mine, other, count)
        if statistics.median(ratios) > most:
            ratios += take_turns(mine, other, 4 * count)
        yield json.loads(names.pop()), ratios
        for turns in (mine, other):
            print("next", file=turns, flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("other", type=pathlib.Path, help="a checkout")
    parser.add_argument("--turns", type=int, default=9)
    parser.add_argument("--threads", default="1")
    parser.add_argument("--only", default="")
    parser.add_argument("--most", type=float, default=1.03)
    options = parser.parse_args()
    found = {}
    with process(HERE.parent, options) as mine, process(options.other.resolve(), options) as other:
        for name, ratios in compared(mine, other, options.turns, options.most):
            found[name] = ratios
            print(f"{statistics.median(ratios):5.2f}  {name}", flush=True)
    medians = sorted(((statistics.median(r), min(r), max(r), name) for name, r in found.items()), reverse=True)
    print(f"\n{len(medians)} rows, medians of {options.turns} turns or more:")
    for median, low, high, name in medians:
        print(f"{median:5.2f}  ({low:.2f} to {high:.2f})  {name}")
    return 1 if not medians or medians[0][0] > options.most else 0


if __name__ == "__main__":
    sys.exit(main())
