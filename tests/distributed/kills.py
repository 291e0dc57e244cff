"""Kill a rank of a running job at random moments, as often as asked, and look what is left: ``kills.py --times 50``.

Each job has another number of ranks than the one before, goes on from its checkpoint, and saves after every step; rank
and moment follow the seed as far as the system lets them. After each kill ``mpirun`` must end within seconds and name
the rank, no rank may live on, no step whose end was printed may be lost, and the newest checkpoint must have the bits
that an undisturbed run has after that step.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import zlib

from mpirun import ENVIRONMENT, mpirun

from lodkit.distributed import Checkpoint, NoCheckpointError

JOB = pathlib.Path(__file__).with_name("programs") / "kill_job.py"
RANKS = [2, 4, 3, 1]
STARTED, ENDED = 60, 20  # seconds in which a job must have started, and one whose rank was killed must have ended


class Job:
    """A job, and what it has printed."""

    def __init__(self, ranks, directory, steps, keep=2):
        command = [mpirun(), "-n", str(ranks), sys.executable, JOB, directory, str(steps), str(keep)]
        out = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
        self.process = subprocess.Popen([*map(str, command)], env={**os.environ, **ENVIRONMENT}, **out)
        self.lines = []
        self._reader = threading.Thread(target=lambda: self.lines.extend(self.process.stdout), daemon=True)
        self._reader.start()

    def found(self, pattern):
        """Groups of the lines that match, numbers."""
        matches = (re.fullmatch(pattern, line.strip()) for line in [*self.lines])
        return [tuple(map(int, match.groups())) for match in matches if match]

    def end(self, seconds):
        """The exit status; an error where it takes longer."""
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"the job hangs:\n{self.text()}") from None
        finally:
            self.process.kill()
            self._reader.join(ENDED)

    def text(self):
        return "".join(self.lines)


def undisturbed(directory, steps):
    """The bits after each step of a run that nobody kills."""
    job = Job(2, directory, steps, keep=0)
    assert job.end(300) == 0, job.text()
    return dict(bits(path) for path in directory.glob("checkpoint-*"))


def bits(directory):
    """The step of a checkpoint, and checksums of all its arrays."""
    found = Checkpoint(directory)
    found.verify()
    values, states = found.table()
    arrays = {"values": values, **states}
    return found.tables["table"]["iteration"], {name: zlib.crc32(array) for name, array in arrays.items()}


def killed(job, ranks, moment, rank):
    """Kill a rank of a job at a moment after all have started; False where the job had ended before."""
    limit = time.monotonic() + STARTED
    while len(job.found(r"rank (\d+) (\d+)")) < ranks and job.process.poll() is None:
        assert time.monotonic() < limit, f"the job does not start:\n{job.text()}"
        time.sleep(0.01)
    time.sleep(moment)
    pids = dict(job.found(r"rank (\d+) (\d+)"))
    if job.process.poll() is not None:
        assert job.end(ENDED) == 0, job.text()
        return False
    with contextlib.suppress(ProcessLookupError):  # the rank has ended, mpirun not yet
        os.kill(pids[rank], signal.SIGKILL)
    status = job.end(ENDED)
    if status == 0:
        return False
    assert "signal 9" in job.text(), job.text()
    assert f"rank {rank}" in job.text().partition("signal 9")[0].splitlines()[-1], job.text()
    limit = time.monotonic() + ENDED
    while alive := [pid for pid in pids.values() if lives(pid)]:
        assert time.monotonic() < limit, f"processes {alive} live on"
        time.sleep(0.01)
    return True


def lives(pid):
    """Whether a process runs: not one that has ended and of which only its status is left."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--times", type=int, default=50)
    options.add_argument("--steps", type=int, default=80, help="of a job, before another starts anew")
    options.add_argument("--seed", type=int, default=0)
    chosen = options.parse_args()
    draw, counts = random.Random(chosen.seed), collections.Counter()
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        expected = undisturbed(folder / "undisturbed", chosen.steps)
        directory, printed = folder / "killed", 0
        while counts["kills"] < chosen.times:
            ranks = RANKS[counts["jobs"] % len(RANKS)]
            job = Job(ranks, directory, chosen.steps)
            counts["kills"] += killed(job, ranks, draw.uniform(0, 1.5), draw.randrange(ranks))
            counts["jobs"] += 1
            printed = max([printed, *(step for (step,) in job.found(r"step (\d+)"))])
            counts["drafts"] += sum(not (path / "manifest.json").exists() for path in directory.glob("checkpoint-*"))
            try:
                step, found = bits(directory)
            except NoCheckpointError:
                step = 0
            assert step >= printed, f"step {printed} was printed, the newest checkpoint is of step {step}"
            assert step == 0 or found == expected[step], f"step {step}: other bits than without kills"
            counts["steps"] += step - counts["last"]
            counts["last"] = step
            if step == chosen.steps:
                shutil.rmtree(directory)
                printed = counts["last"] = 0
    print(
        f"{counts['kills']} kills of {counts['jobs']} jobs, {counts['drafts']} in the middle of a save; "
        f"{counts['steps']} steps: nothing printed was lost, all bits as without kills"
    )


if __name__ == "__main__":
    main()
