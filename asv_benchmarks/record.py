"""Record what ``asv run`` measures on this machine, for the pages of ``asv publish``, as machine cpu-NAME of its CPU.

    python asv_benchmarks/record.py [COMMITS] [options of asv run]

COMMITS are as in ``asv run``; the default is the last of main. The results are added to
asv_benchmarks/results/cpu-NAME, to be committed: they name the kind of CPU, and neither host, user nor path. Results of
``asv run`` alone go by the host's name, and git ignores them. Nothing else should run meanwhile.
"""

from __future__ import annotations

import pathlib
import platform
import subprocess
import sys

import llvmlite.binding

ROOT = pathlib.Path(__file__).parent


def asv(*args):
    """Run asv, of the same Python."""
    return subprocess.run([sys.executable, "-m", "asv", *args], cwd=ROOT, check=False).returncode


def record(args):
    cpu = llvmlite.binding.get_host_cpu_name()
    about = {"machine": f"cpu-{cpu}", "cpu": cpu, "os": platform.system()}
    options = [word for name, value in about.items() for word in (f"--{name}", value)]
    commits = [] if args[:1] and not args[0].startswith("-") else ["main^!"]
    return asv("machine", "--yes", *options) or asv("run", "--machine", about["machine"], *commits, *args)


if __name__ == "__main__":
    sys.exit(print(__doc__) if {"-h", "--help"} & set(sys.argv) else record(sys.argv[1:]))
