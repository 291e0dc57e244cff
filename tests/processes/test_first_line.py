"""What the main job shows while it loads and compiles."""

from __future__ import annotations

import subprocess
import sys

import pytest

from lodkit.demo.config import DEFAULTS

PROGRAM = """
import sys, time
started = time.perf_counter()
class Out:
    def __init__(self, out): self.out, self.first = out, None
    def write(self, text):
        if self.first is None:
            self.first = time.perf_counter() - started, [name for name in ("numpy", "numba") if name in sys.modules]
        return self.out.write(text)
    def flush(self): self.out.flush()
    def isatty(self): return False
sys.stdout = Out(sys.stdout)
from lodkit.demo import progress
counts = []
leave = progress.Kernels.__exit__
progress.Kernels.__exit__ = lambda self, *error: counts.append(self.ready) or leave(self, *error)
from lodkit.__main__ import main
assert main(["--epochs", "1"]) == 0
assert sys.stdout.first[1] == [], sys.stdout.first
print("ready", *counts)
"""


@pytest.mark.jit
def test_the_first_line_waits_for_nothing():
    """Neither NumPy nor Numba; and as many kernels are announced as there are."""
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "reading the docstrings of Python's standard library"
    assert any(line.startswith("epoch   1/1  loss") for line in lines)
    ready = int(lines[-1].split()[1])
    assert abs(ready - DEFAULTS["bag"].kernels) <= 2, f"set DEFAULTS['bag'].kernels to {ready}"
