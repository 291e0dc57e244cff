"""Threads, forks, signals and kills at random moments, for a fixed time: ``python tests/fuzz/stress.py --seconds 60``.

- Threads run samples of all operators at once, and must get the bits that others got.
- Meanwhile the process forks, and its children do the same.
- Meanwhile a signal's handler raises inside updates and steps of optimizers: arrays must be all old or all new.
- Processes are killed while they save: the file must load, whole, and drafts must not pile up.

Choices follow the seed; moments are the system's. Each threading layer of Numba has a process of its own. Prints what
was tried, and what failed with the operator and the number of its sample; the exit status is then 1.
"""

from __future__ import annotations

import argparse
import collections
import faulthandler
import importlib
import os
import pathlib
import pickle
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))

import numpy as np
from conftest import copy, flat
from samples import SAMPLES

import lodkit

LAYERS = {"workqueue": "workqueue", "omp": "omppool", "tbb": "tbbpool"}  # and their modules in Numba
HUNG = 120  # seconds after the end at which a part counts as hung


class Interrupt(BaseException):
    """What Ctrl-C raises here."""


class Part:
    """Samples, what they gave first, and what has gone wrong since."""

    def __init__(self, seed):
        self.ops, self.random = lodkit.OPS, random.Random(seed)
        self.cases = [(name, i) for name, cases in SAMPLES.items() for i in range(len(cases))]
        self.first = {}
        self.updates = [case for case in self.cases if self.ops[case[0]].updates]
        self.failures, self.counts = [], collections.Counter()

    def given(self, case):
        """Inputs of a sample, copied, and its attributes."""
        inputs, attrs = SAMPLES[case[0]][case[1]]
        return [copy(x) for x in inputs], dict(attrs)

    def numbers(self, values):
        """Values as bytes."""
        return pickle.dumps(
            [None if x is None else getattr(x, "tobytes", lambda x=x: x)() for x in flat(tuple(values))]
        )

    def updated(self, case, inputs):
        """The numbers of what an operator updates."""
        op = self.ops[case[0]]
        return self.numbers(x for name, x in zip(op.inputs, inputs, strict=False) if name in op.updates)

    def run(self, case):
        """Whether a sample gives the bits that it gave before."""
        inputs, attrs = self.given(case)
        result = self.ops[case[0]](*inputs, **attrs)
        found = self.numbers(result if isinstance(result, tuple) else (result,))
        return found == self.first.setdefault(case, found)

    def failed(self, what, case=None):
        self.failures.append(f"{what}: {case[0]}, sample {case[1]}" if case else what)

    def check(self, what, case):
        try:
            if not self.run(case):
                self.failed(f"{what}: other bits than before", case)
        except Exception:
            self.failed(f"{what}: {traceback.format_exc()}", case)
        self.counts[what] += 1


def worker(part, number, stop):
    """Run samples until the end."""
    choices = random.Random(number)
    while not stop.is_set():
        part.check("calls in threads", choices.choice(part.cases))


def fork(part):
    """Run some samples in a child, which must come to its end."""
    cases = part.random.choices([*part.first] or part.cases, k=5)
    child = os.fork()
    if child == 0:
        status = 1
        try:
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            faulthandler.register(signal.SIGALRM, all_threads=False, chain=True)  # its watchdog would wait for a lock
            signal.alarm(60)
            status = 0 if all(part.run(case) for case in cases) else 2
        except Exception:
            traceback.print_exc()
        finally:
            os._exit(status)
    _, status = os.waitpid(child, 0)
    part.counts["forks"] += 1
    if status:
        part.failed(f"a forked child ended with {status}: {cases}")


def interrupted(call, delay):
    """Call, and let Ctrl-C come after a time. Returns whether it did."""
    armed = True

    def handler(*_):
        if armed:
            raise Interrupt

    signal.signal(signal.SIGINT, handler)
    signal.signal(signal.SIGALRM, lambda *_: signal.raise_signal(signal.SIGINT))
    try:
        signal.setitimer(signal.ITIMER_REAL, delay)
        call()
        armed = False
    except Interrupt:
        return True
    finally:
        armed = False
        signal.setitimer(signal.ITIMER_REAL, 0)
    return False


def interrupt(part, case):
    """Interrupt an update: what it updates is all old or all new."""
    op = part.ops[case[0]]
    for _ in range(2):  # the first one compiles
        inputs, attrs = part.given(case)
        old, started = part.updated(case, inputs), time.perf_counter()
        op(*inputs, **attrs)
        took, new = time.perf_counter() - started, part.updated(case, inputs)
    for _ in range(20):
        inputs, attrs = part.given(case)
        hit = interrupted(lambda i=inputs, a=attrs: op(*i, **a), max(1e-6, part.random.random() * min(took, 1e-3)))
        now = part.updated(case, inputs)
        part.counts["interrupts of updates, nothing written" if now == old else "all written"] += hit
        if now not in (old, new) or (not hit and now != new):
            part.failed("an interrupt left a part of an update", case)


def optimizer_of(states):
    params = {name: np.ones((50, 3)) for name in "ab"}
    return lodkit.optim.Adam(params, lr=0.1, states=states, lazy=True)


def interrupt_steps(part):
    """Ctrl-C inside steps of an optimizer: parameters, states and the number of steps are those of some step."""
    states = part.random.choice(["all", "touched"])
    grads = {name: lodkit.SelectedRows([7, 3, 7], np.ones((3, 3)), 50) for name in "ab"}

    def numbers(optimizer):
        found = optimizer.state_dict()
        return pickle.dumps([found["iteration"], found["states"], *map(np.ndarray.tobytes, optimizer.params.values())])

    known, alone, mine = [], optimizer_of(states), optimizer_of(states)
    for _ in range(6):
        known.append(numbers(alone))
        alone.step(grads)
    for _ in range(5):
        part.counts["Ctrl-C in steps"] += interrupted(lambda: mine.step(grads), part.random.random() * 2e-4)
        if numbers(mine) != known[mine.iteration]:
            part.failed(f"Ctrl-C left a part of a step, states={states!r}")
            return


def stress(seconds, seed, threads):
    """Threads, forks and signals in one process, until the time is over."""
    from lodkit.jit import settings

    settings.parallel_from, settings.chunk_rows = 0, 3  # small samples run in parallel, too
    settings.near_bytes, settings.mid_bytes, settings.fetch_from = -1, -1, 0
    sys.unraisablehook = lambda *_: None  # an Interrupt inside a finalizer
    part, stop, end = Part(seed), threading.Event(), time.monotonic() + seconds
    workers = [threading.Thread(target=worker, args=(part, 1000 * seed + i, stop)) for i in range(threads)]
    for thread in workers:
        thread.start()
    try:
        while time.monotonic() < end and not part.failures:
            fork(part)
            for _ in range(5):
                interrupt(part, part.random.choice(part.updates))
            interrupt_steps(part)
    finally:
        stop.set()
        for thread in workers:
            thread.join()
    return part


def kills(seconds, seed):
    """Kill processes that save: the file loads, and holds one state."""
    part, end = Part(seed), time.monotonic() + seconds
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, part.random.choice(["state.npz", "state.safetensors"]))
        lodkit.save(file, {"n": 0, "x": np.zeros(30_000)})
        while time.monotonic() < end and not part.failures:
            child = os.fork()
            if child == 0:
                try:
                    for n in range(1 << 30):
                        lodkit.save(file, {"n": n, "x": np.full(30_000, float(n))})
                finally:
                    os._exit(1)
            time.sleep(part.random.random() * 0.02)
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            try:
                state = lodkit.load(file)
                if not (state["x"] == state["n"]).all():
                    part.failed("a saved state is a mixture")
            except lodkit.StorageError as error:
                part.failed(f"a saved state does not load: {error}")
            part.counts["kills during saves"] += 1
            if len(os.listdir(folder)) > 2:
                part.failed(f"drafts pile up: {os.listdir(folder)}")
    return part


def available(layer):
    """Whether Numba has a threading layer."""
    from lodkit.jit import threading_layer

    threading_layer._preload_tbb()
    try:
        importlib.import_module(f"numba.np.ufunc.{LAYERS[layer]}")
    except ImportError:
        return False
    return True


def child(options):
    """One part, in this process."""
    faulthandler.enable()
    faulthandler.dump_traceback_later(options.seconds + HUNG, exit=True)
    part = (
        kills(options.seconds, options.seed)
        if options.part == "kills"
        else stress(options.seconds, options.seed, options.threads)
    )
    print(
        f"{options.part}: {', '.join(f'{count:,} {what}' for what, count in sorted(part.counts.items()))}", flush=True
    )
    print(
        "".join(f"{options.part}, seed {options.seed}: {failure}\n" for failure in part.failures[:5]),
        end="",
        flush=True,
    )
    return 1 if part.failures else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60, help="in all")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=8)
    parser.add_argument("--cold", action="store_true", help="begin with an empty cache of compiled code")
    parser.add_argument("--all-layers", action="store_true", help="fail unless Numba has all of its threading layers")
    parser.add_argument("--part", choices=[*LAYERS, "kills"], help="only this one, in this process")
    options = parser.parse_args()
    if options.part:
        return child(options)
    missing = [layer for layer in LAYERS if not available(layer)]
    print("".join(f"{layer}: not installed\n" for layer in missing), end="", flush=True)
    if missing and options.all_layers:
        print(f"--all-layers asks for {', '.join(missing)}")
        return 1
    worst, parts = 0, [layer for layer in LAYERS if layer not in missing] + ["kills"]
    with tempfile.TemporaryDirectory() as cache:
        for part in parts:
            command = [sys.executable, __file__, "--part", part, "--seed", str(options.seed)]
            command += ["--seconds", str(options.seconds / len(parts)), "--threads", str(options.threads)]
            env = {**os.environ, "NUMBA_NUM_THREADS": "2", "OMP_WAIT_POLICY": "passive"}
            env |= {"NUMBA_THREADING_LAYER": part} if part in LAYERS else {}
            env |= {"LODKIT_CACHE_DIR": os.path.join(cache, part)} if options.cold else {}
            worst |= subprocess.run(command, env=env, check=False).returncode
    return 1 if worst else 0


if __name__ == "__main__":
    sys.exit(main())
