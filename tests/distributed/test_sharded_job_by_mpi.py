"""``mpirun python -m lodkit --distributed``: the same losses on any number of ranks, and errors are printed once."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest
from mpirun import environment, mpirun

pytestmark = [pytest.mark.mpi, pytest.mark.jit]


def job(ranks, *options):
    command = [mpirun(), "-n", str(ranks), sys.executable, "-m", "lodkit", "--distributed", *options]
    return subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=200, check=False)


def losses(printed):
    return re.findall(r"epoch +(\d+)/\d+  loss (\S+) .*test accuracy (\S+) %", printed)


def test_losses_and_states_are_those_of_one_process(tmp_path):
    texts = tmp_path / "texts.tsv"
    texts.write_text("".join(f"{'ab'[i % 2]}\tthe word {'left' if i % 2 else 'right'} w{i % 7}\n" for i in range(80)))
    options = ["--data", str(texts), "--dim", "8", "--batch", "12"]
    alone = job(1, *options, "--epochs", "4")
    assert alone.returncode == 0, alone.stderr
    assert len(losses(alone.stdout)) == 4
    begun = job(4, *options, "--epochs", "2", "--save", str(tmp_path / "saved"))
    resumed = job(3, *options, "--epochs", "4", "--resume", str(tmp_path / "saved"))
    found = losses(begun.stdout) + losses(resumed.stdout)
    assert [line[1:] for line in found] == [line[1:] for line in losses(alone.stdout)], begun.stderr + resumed.stderr


def test_errors_are_told_once(tmp_path):
    done = job(3, "--data", str(tmp_path / "absent.tsv"))
    assert done.returncode == 2
    assert done.stderr.count("error: ") == 1
    assert "absent.tsv: No such file" in done.stderr
