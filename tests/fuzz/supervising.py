"""Worker processes: forked, watched, replaced when they die."""

from __future__ import annotations

import dataclasses
import json
import mmap
import os
import re
import select
import signal
import struct
import tempfile
import time
import traceback

from numba.core import event

from .running import Finding, run_case, settle

_STATE = struct.Struct("qd")  # case and time of its start


@dataclasses.dataclass
class Options:
    """What a lane was told."""

    seed: int
    seconds: float
    jobs: int = 2
    limit: float = 5.0
    pattern: str = ""
    cases: int = 1 << 60
    first: bool = False
    kinds: str = ""
    load: tuple = ()


class Patience(event.Listener):
    """Tells the clock of a worker that it compiles, which takes seconds and is no hang."""

    def __init__(self, worker):
        self.worker, self.depth = worker, 0  # callees are compiled within their callers

    def on_start(self, event):
        self.depth += 1
        self.worker.note(time.monotonic() + 600)

    def on_end(self, event):
        self.depth -= 1
        self.worker.note(time.monotonic() + (600 if self.depth else 0))


class Worker:
    """A forked process that runs the cases ``first``, ``first + step``, ...; it says what it found through a pipe."""

    def __init__(self, options, first, step, keep=None):
        self.step, self.keep = step, keep
        self.state = mmap.mmap(-1, mmap.PAGESIZE)
        self.errors = tempfile.TemporaryFile()  # noqa: SIM115
        reader, writer = os.pipe()
        self.overdue = False
        self.number = first
        self.note(time.monotonic())
        self.process = os.fork()
        if not self.process:
            os.close(reader)
            os.dup2(self.errors.fileno(), 2)
            try:
                self._work(options, first, os.fdopen(writer, "w", buffering=1))
            except BaseException:
                traceback.print_exc()
                os._exit(3)
            os._exit(0)
        os.close(writer)
        self.reader, self.buffer = reader, b""

    def _work(self, options, number, pipe):
        settle()
        event.register("numba:compile", Patience(self))
        seen = set()
        while number < options.cases:
            self.number = number
            self.note(time.monotonic())
            found, error = run_case(options.seed, number, options.pattern, self.keep)
            if error is not None:
                message = f"{type(error).__name__}: {error}"
                pattern = re.sub(r"-?\d[\d.e+]*", "N", message)[:300]
                if pattern not in seen:
                    seen.add(pattern)
                    print(json.dumps(["message", number, message[:600]]), file=pipe)
            if found:
                print(json.dumps(["finding", number, found.kind, found.target, found.detail]), file=pipe)
            number += self.step

    def note(self, started):
        """Tell the supervisor the case, and when it started."""
        self.state[: _STATE.size] = _STATE.pack(self.number, started)

    def case(self):
        return _STATE.unpack(self.state[: _STATE.size])

    def lines(self):
        """What it said since; None when it is dead."""
        data = os.read(self.reader, 1 << 16)
        if not data:
            return None
        *lines, self.buffer = (self.buffer + data).split(b"\n")
        return [json.loads(line) for line in lines]

    def death(self):
        """How it died: a finding, None if it ended by itself."""
        _, status = os.waitpid(self.process, 0)
        os.close(self.reader)
        self.errors.seek(0)
        text = self.errors.read().decode(errors="replace")
        trace = re.findall(r'File "(?:.*/)?((?:lodkit|tests)/[^"]*)", line (\d+) in (\S+)', text)
        lines = [f"{file}:{line} {name}" for file, line, name in trace if "tests/fuzz" not in file]
        where = " <- ".join(lines[:3]) or text[-300:]
        if self.overdue:
            return Finding("hang", "", where)
        if os.WIFSIGNALED(status):
            return Finding(f"crash by {signal.Signals(os.WTERMSIG(status)).name}", "", where)
        return Finding("harness", "", text[-2000:]) if status else None

    def stop_if_late(self, limit):
        """Stop a case that takes longer than ``limit`` seconds; by force if it does not listen."""
        late = time.monotonic() - self.case()[1] - limit
        if late > 0 and not self.overdue:
            self.overdue = True
            os.kill(self.process, signal.SIGABRT)  # faulthandler tells where it is
        elif late > 5:
            os.kill(self.process, signal.SIGKILL)

    def kill(self):
        os.kill(self.process, signal.SIGKILL)
        os.waitpid(self.process, 0)
        os.close(self.reader)


class Lane:
    """Runs cases until the time is over; collects findings and messages."""

    def __init__(self, options):
        self.options = options
        self.findings = {}  # key -> case, finding
        self.messages = {}  # pattern -> case, message
        self.counts = {}  # key -> times that it was found
        self.ran = 0

    def run(self):
        options = self.options
        end = time.monotonic() + options.seconds
        workers = [Worker(options, i, options.jobs) for i in range(options.jobs)]
        while workers and time.monotonic() < end and not (options.first and self.findings):
            ready, _, _ = select.select([w.reader for w in workers], [], [], 0.2)
            for worker in [*workers]:
                if worker.reader in ready:
                    lines = worker.lines()
                    if lines is None:
                        workers.remove(worker)
                        workers += self._replaced(worker)
                        continue
                    self._take(lines)
                worker.stop_if_late(options.limit)
        for worker in workers:
            self.ran = max(self.ran, worker.case()[0])
            worker.kill()
        return self

    def _replaced(self, worker):
        number, _ = worker.case()
        self.ran = max(self.ran, number)
        found = worker.death()
        if found is None:
            return []
        found.target = _target(self.options, number)
        self._note(number, found)
        return [Worker(self.options, number + worker.step, worker.step)]

    def _take(self, lines):
        for what, number, *rest in lines:
            if what == "message":
                self.messages.setdefault(re.sub(r"-?\d[\d.e+]*", "N", rest[0])[:300], (number, rest[0]))
            else:
                self._note(number, Finding(*rest))

    def _note(self, number, found):
        if found.kind != "harness" and not re.match(self.options.kinds, found.kind):
            return
        self.findings.setdefault(found.key, (number, found))
        self.counts[found.key] = self.counts.get(found.key, 0) + 1


def _target(options, number):
    from .cases import make

    return make(options.seed, number, options.pattern, keep=()).call.name


def once(options, number, keep=None):
    """The finding of one case in a process of its own, None if there is none."""
    worker = Worker(dataclasses.replace(options, cases=number + 1), number, 1, keep)
    found = None
    while True:
        ready, _, _ = select.select([worker.reader], [], [], 0.2)
        if not ready:
            worker.stop_if_late(options.limit)
            continue
        lines = worker.lines()
        if lines is None:
            break
        for what, _, *rest in lines:
            found = Finding(*rest) if what == "finding" else found
    dead = worker.death()
    if dead:
        dead.target = _target(options, number)
    return dead or found
