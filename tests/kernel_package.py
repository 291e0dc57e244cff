"""A small package of kernels, and processes that run it."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys
import textwrap

import lodkit

ROOT = pathlib.Path(lodkit.__file__).parents[1]

REDUCERS = """
SCALE = 1.0

def add(total, x):
    return total + x * SCALE

def most(total, x):
    return max(total, x)
"""

VECTORS = """
from numba import types
from numba.extending import intrinsic, overload

@intrinsic
def _twice(typing_context, x):
    def codegen(context, builder, signature, args):
        return builder.fadd(args[0], args[0])
    return x(x), codegen

def twice(x):
    return x + x

@overload(twice)
def _(x):
    def compiled(x):
        return _twice(x) * 1.0
    return compiled
"""

KERNELS = """
from lodkit.jit import jitable, njit, prange, parallel_kernel
from . import reducers
from .vectors import twice

HALF = 0.5

def make(step):
    step = jitable(step)

    @njit
    def kernel(x):
        total = 0.0
        for i in range(x.size):
            total = step(total, twice(x[i]))
        return total * HALF

    return kernel

add, most = make(reducers.add), make(reducers.most)

@parallel_kernel
def doubled(x, out):
    for i in prange(x.size):
        out[i] = x[i] + x[i]

@njit
def third(x):
    return x[3]

@njit
def scaled(x):
    return x[2] * reducers.SCALE
"""

PRELUDE = """
import numpy as np
from kit import kernels
x = np.arange(4.0)
def hits(kernel):
    return sum(kernel.stats.cache_hits.values()), sum(kernel.stats.cache_misses.values())
"""


def make(folder):
    """Write the package ``kit``: kernels over jitable functions, an overload with an intrinsic, constants."""
    package = folder / "kit"
    package.mkdir()
    for name, text in {"__init__": "", "reducers": REDUCERS, "vectors": VECTORS, "kernels": KERNELS}.items():
        (package / f"{name}.py").write_text(text)
    return folder


def start(kit, code, **env):
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("NUMBA_", "LODKIT_", "COV_"))}
    paths = {"PYTHONPATH": os.pathsep.join([str(ROOT), str(kit)]), "LODKIT_CACHE_DIR": str(kit / "cache")}
    # A .pyc counts as fresh if an edit keeps the mtime in seconds and the size.
    kept |= paths | {"PYTHONDONTWRITEBYTECODE": "1"} | env
    command = [sys.executable, "-W", "error", "-c", PRELUDE + textwrap.dedent(code)]
    return subprocess.Popen(command, env=kept, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def finish(process):
    try:
        out, err = process.communicate(timeout=120)
    finally:
        process.kill()
    assert process.returncode == 0, err
    return out.split()


def run(kit, code, **env):
    return finish(start(kit, code, **env))
