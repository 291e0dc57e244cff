"""Compare lodkit of this checkout with that of another: rows of ``compare.py``, without peers.

    python asv_benchmarks/compare_versions.py ../older-checkout [--runs 5] [--threads 1] [--only REGEX]

Processes of the two alternate. A row is this checkout's time over the other's, of minima; the median of the runs
is printed, the slowest rows first, and the exit status is 1 where one is above ``--most``.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent


def times(tree, options):
    """Minima in milliseconds by name, of one process with the package of a checkout."""
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder, "rows.json")
        settings = dict.fromkeys(("LODKIT_COMPARE_THREADS", "NUMBA_NUM_THREADS", "OMP_NUM_THREADS"), options.threads)
        settings |= {"PYTHONPATH": str(tree), "OMP_WAIT_POLICY": "passive", "LODKIT_COMPARE_ALONE": "1"}
        settings |= {"LODKIT_COMPARE_ONLY": options.only, "LODKIT_COMPARE_JSON": str(file)}
        subprocess.run(
            [sys.executable, HERE / "compare.py"], env={**os.environ, **settings}, stdout=subprocess.DEVNULL, check=True
        )
        return {row["name"]: min(first for first, _ in row["times"].values()) for row in json.loads(file.read_text())}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("other", type=pathlib.Path, help="a checkout")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--threads", default="1")
    parser.add_argument("--only", default="")
    parser.add_argument("--most", type=float, default=1.03)
    options = parser.parse_args()
    trees, found = (HERE.parent, options.other.resolve()), {}
    for tree in trees:
        times(tree, options)  # compiles
    for run in range(options.runs):
        mine, other = (times(tree, options) for tree in (trees if run % 2 else trees[::-1]))
        mine, other = (mine, other) if run % 2 else (other, mine)
        for name in mine.keys() & other.keys():
            found.setdefault(name, []).append(mine[name] / other[name])
    medians = sorted(((statistics.median(r), min(r), max(r), name) for name, r in found.items()), reverse=True)
    for median, low, high, name in medians:
        print(f"{median:5.2f}  ({low:.2f} to {high:.2f})  {name}")
    return 1 if not medians or medians[0][0] > options.most else 0


if __name__ == "__main__":
    sys.exit(main())
