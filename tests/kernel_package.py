"""A small package of kernels, and processes that run it."""

from __future__ import annotations

import atexit
import functools
import json
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


#: Forks a process for every line of JSON that it reads. Numba compiles first what each would compile again: its start
#: takes a second. All of lodkit is imported in the children, each of which sees the kernels as they are then.
FORKS = """
import json, os, sys, tempfile, traceback
import numba, numpy as np
from numba.core import entrypoints
entrypoints._already_initialized = True  # lodkit's entry point would import it before a task says where its cache is
numba.njit(lambda x: x.sum())(np.ones(1))
for line in sys.stdin:
    task = json.loads(line)
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        pid = os.fork()
        if not pid:
            os.dup2(out.fileno(), 1), os.dup2(err.fileno(), 2)
            code = 1
            try:
                os.environ.clear()
                os.environ.update(task["env"])
                sys.path[:0] = task["env"]["PYTHONPATH"].split(os.pathsep)
                exec(compile(task["code"], "<string>", "exec"), {"__name__": "__main__"})
                code = 0
            except BaseException:
                traceback.print_exc()
            finally:
                sys.stdout.flush(), sys.stderr.flush()
                os._exit(code)
        status = os.waitpid(pid, 0)[1]
        out.seek(0), err.seek(0)
        print(json.dumps([status, out.read().decode(), err.read().decode()]), flush=True)
"""


def environment(kit, env):
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("NUMBA_", "LODKIT_", "COV_"))}
    paths = {"PYTHONPATH": os.pathsep.join([str(ROOT), str(kit)]), "LODKIT_CACHE_DIR": str(kit / "cache")}
    # A .pyc counts as fresh if an edit keeps the mtime in seconds and the size.
    return kept | paths | {"PYTHONDONTWRITEBYTECODE": "1"} | env


def start(kit, code, **env):
    """Start a process of its own, with hashes and addresses of its own."""
    command = [sys.executable, "-W", "error", "-c", PRELUDE + textwrap.dedent(code)]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, env=environment(kit, env), text=True, stdout=pipe, stderr=pipe)


def finish(process):
    try:
        out, err = process.communicate(timeout=120)
    finally:
        process.kill()
    assert process.returncode == 0, err
    return out.split()


@functools.cache
def forks():
    command = [sys.executable, "-W", "error", "-c", FORKS]
    env = environment(ROOT, {})
    server = subprocess.Popen(command, env=env, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    atexit.register(server.communicate)
    return server


def run(kit, code, **env):
    """Run code in another process: a fork of one that has Numba already, unless ``env`` has settings of Numba's."""
    if not hasattr(os, "fork") or any(name.startswith("NUMBA_") for name in env):
        return finish(start(kit, code, **env))
    server = forks()
    task = {"code": PRELUDE + textwrap.dedent(code), "env": environment(kit, env)}
    server.stdin.write(json.dumps(task) + "\n")
    server.stdin.flush()
    status, out, err = json.loads(server.stdout.readline())
    assert status == 0, err
    return out.split()
