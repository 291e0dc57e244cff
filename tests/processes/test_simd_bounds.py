"""NUMBA_BOUNDSCHECK=1 checks explicit vectors too; nothing is checked without it."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.jit

CODE = """
import sys
import numpy as np
from lodkit.jit import njit, simd

def load(a, b, i, j): simd.store(b, 0, 0, simd.load(a, i, j, 4))
def store(a, b, i, j): simd.store(b, i, j, simd.load(a, 0, 0, 4))
def load_first(a, b, i, j): simd.store(b, 0, 0, simd.load_first(a, i, j, 4, 3, 0))
def store_first(a, b, i, j): simd.store_first(b, i, j, simd.load(a, 0, 0, 4), 3)
def copy(a, b, i, j): simd.copy(b, 32 * i + 4 * j, a, 0, 16)
def stream(a, b, i, j): simd.stream(b, 0, a, 32 * i + 4 * j, 16)

whole = np.zeros((5, 8), np.float32)  # what is read or written outside is inside this
for kernel in (load, store, load_first, store_first, copy, stream):
    if kernel.__name__ not in sys.argv:
        continue
    compiled, refused = njit(kernel), []
    few = kernel.__name__.endswith("first")
    for i, j in ((0, 0), (1, 4), (1, 5), (1, 6), (2, 0), (0, -1), (-1, 0)):
        a, b = (np.ascontiguousarray(whole)[1:3] for _ in range(2))
        try:
            compiled(a, b, i, j)
        except IndexError:
            refused.append((i, j))
    print(kernel.__name__, refused)

def codes(a, b, i, j): simd.store_codes(b, i, j, simd.load_packed(a, 0, 0, 4, 4, 1.0, 0.0), 4)
def load_packed(a, b, i, j): simd.store_codes(b, 0, 0, simd.load_packed(a, i, j, 4, 4, 1.0, 0.0), 4)
def load_params(a, b, i, j): simd.store_codes(b, 0, 0, simd.load_params(a, i, j, 4), 8)
packed = np.zeros((5, 8), np.uint8)
for kernel in (codes, load_packed, load_params):
    if kernel.__name__ not in sys.argv:
        continue
    compiled, refused = njit(kernel), []
    for i, j in ((0, 0), (1, 4), (1, 5), (2, 0), (-1, 0)):
        try:
            compiled(packed.copy()[1:3], packed.copy()[1:3], i, j)
        except IndexError:
            refused.append((i, j))
    print(kernel.__name__, refused)
"""
ENTRY = """
import numpy as np
from lodkit.jit import parallel_kernel, prange

@parallel_kernel
def kernel(values, out):
    for i in prange(1):
        out[i] = values[i]

made = np.zeros(3)
entry = kernel.entry(made, made)
entry(made, made)
for other in (made[:, None], made.astype(np.float32), made[::2]):
    try:
        entry(made, other)
    except TypeError as error:
        print(error)
"""
OUTSIDE = [(1, 5), (1, 6), (2, 0), (0, -1), (-1, 0)]
#: Three lanes of eight begin at the fifth at most; bytes run on from one row to the next.
EXPECTED = {
    "load": OUTSIDE,
    "store": OUTSIDE,
    "load_first": OUTSIDE[1:],
    "store_first": OUTSIDE[1:],
    "copy": OUTSIDE,
    "stream": OUTSIDE,
    "codes": [(1, 5), (2, 0), (-1, 0)],
    "load_packed": [(1, 5), (2, 0), (-1, 0)],
    "load_params": [(1, 5), (2, 0), (-1, 0)],
}


def refused(tmp_path, checks, names):
    env = {**os.environ, "NUMBA_BOUNDSCHECK": checks, "LODKIT_CACHE_DIR": str(tmp_path)}
    run = subprocess.run([sys.executable, "-c", CODE, *names], capture_output=True, text=True, check=False, env=env)
    assert run.returncode == 0, run.stderr
    found = (line.split(" ", 1) for line in run.stdout.splitlines())
    return {name: eval(pairs) for name, pairs in found}


def test_explicit_vectors_check_their_bounds_where_indices_are_checked(tmp_path):
    assert refused(tmp_path, "1", EXPECTED) == EXPECTED
    assert refused(tmp_path, "0", ["load", "copy"]) == {"load": [], "copy": []}  # of the same cache


def test_code_that_is_called_without_numba_looks_at_types(tmp_path):
    env = {**os.environ, "NUMBA_BOUNDSCHECK": "1", "LODKIT_CACHE_DIR": str(tmp_path)}
    run = subprocess.run([sys.executable, "-c", ENTRY], capture_output=True, text=True, check=True, env=env)
    assert [line.partition("was called with")[2] for line in run.stdout.splitlines()] == [
        " [(float64, 1, 'C'), (float64, 2, 'C')]",
        " [(float64, 1, 'C'), (float32, 1, 'C')]",
        " [(float64, 1, 'C'), (float64, 1, 'A')]",
    ]
