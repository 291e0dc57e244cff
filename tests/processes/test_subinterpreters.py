"""Subinterpreters, in which Numba does not work."""

from __future__ import annotations

import subprocess
import sys

SUBINTERPRETER = """
try:
    import _interpreters as interpreters
    run = interpreters.exec
except ImportError:
    import _xxsubinterpreters as interpreters
    run = interpreters.run_string
code = '''
import warnings
warnings.simplefilter("ignore")  # NumPy's
try:
    import lodkit
    lodkit.sequence_pool([[1.0]])
except ImportError as error:
    print(error)
'''
print(run(interpreters.create(), code) or "")
"""


def test_subinterpreters_are_refused():
    """A kernel that is called in one hangs."""
    done = subprocess.run(
        [sys.executable, "-c", SUBINTERPRETER], capture_output=True, text=True, timeout=60, check=False
    )
    assert "lodkit runs in the main interpreter alone" in done.stdout, done.stdout + done.stderr
