"""One lane: cases with compiled kernels, or uncompiled ones held against the definitions."""

from __future__ import annotations

import argparse
import dataclasses
import importlib
import pathlib
import sys
import time
import warnings

from . import allocator
from .cases import make
from .supervising import Lane, Options, once

MOST_SHRUNK = 40


def shrunk(options, number, found):
    """Undo mutations as long as the finding stays. Returns what is left."""
    applied = make(options.seed, number, options.pattern).applied
    keep = list(range(len(applied)))
    quick = dataclasses.replace(options, limit=min(options.limit, 3.0))
    for k in reversed(range(len(applied))):
        fewer = [i for i in keep if i != k]
        again = once(quick, number, fewer)
        if again and (again.kind, again.target) == (found.kind, found.target):
            keep = fewer
    return keep


def show(options, lane, number, found, count=1, keep=None):
    """Print a finding, its mutations and its call."""
    case = make(options.seed, number, options.pattern, keep)
    print(f"\n{found.kind}: {found.target}: {found.detail}")
    only = f" --only '{options.pattern}'" if options.pattern else ""
    loads = "".join(f" --load {name}" for name in options.load)
    again = f"--replay {options.seed}:{number} --lane {lane}{only}{loads}"
    print(f"  {count} times; python -m tests.fuzz {again}")
    print("  mutations:", "; ".join(done for done in case.applied if done) or "none")
    print("  " + case.call.text(), flush=True)


def main(args):
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.lane")
    parser.add_argument("lane")
    parser.add_argument("--seed", type=int)
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--jobs", type=int)
    parser.add_argument("--limit", type=float)
    parser.add_argument("--only", default="")
    parser.add_argument("--replay", type=int)
    parser.add_argument("--messages")
    parser.add_argument("--cases", type=int, default=1 << 60)
    parser.add_argument("--first", action="store_true")
    parser.add_argument("--kinds", default="")
    parser.add_argument("--load", action="append", default=[])
    given = parser.parse_args(args)
    warnings.simplefilter("ignore")  # of mutations, as of complex numbers that become real
    for name in given.load:
        importlib.import_module(name)
    if not allocator.in_use():
        print("NumPy does not ask the guarded allocator: does this version have another table of functions?")
        return 2
    settings = given.seed, given.seconds, given.jobs, given.limit, given.only, given.cases, given.first, given.kinds
    options = Options(*settings, tuple(given.load))
    if given.replay is not None:
        found = once(options, given.replay)
        if found:
            show(options, given.lane, given.replay, found)
        else:
            case = make(options.seed, given.replay, options.pattern)
            print(f"nothing found: {case.call.text()}")
        return 1 if found else 0
    started = time.monotonic()
    lane = Lane(options).run()
    broken = [found.detail for _, found in lane.findings.values() if found.kind == "harness"]
    if broken:
        print(f"the fuzzer itself failed:\n{broken[0]}")
        return 2
    took, started = time.monotonic() - started, time.monotonic()
    print(f"{given.lane}: {lane.ran + 1:,} cases in {took:.0f} s, {len(lane.findings)} findings", flush=True)
    for at, (key, (number, found)) in enumerate(sorted(lane.findings.items())):
        quick = at < MOST_SHRUNK and time.monotonic() - started < min(max(30, given.seconds / 2), 120)
        keep = shrunk(options, number, found) if quick and found.kind != "hang" else None
        show(options, given.lane, number, found, lane.counts[key], keep)
    if given.messages:
        with pathlib.Path(given.messages).open("a") as file:
            for _, (number, message) in sorted(lane.messages.items()):
                print(f"{number}\t{message!r}", file=file)
    return 1 if lane.findings else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
