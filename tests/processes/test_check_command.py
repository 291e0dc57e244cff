"""``python -m tests.check`` runs every step of one operator, ``.ci/run LANE`` one lane of the gate."""

from __future__ import annotations

import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).parents[2]


def run_check(*arguments):
    """Exit status and output."""
    command = [sys.executable, "-m", "tests.check", *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def test_every_step_runs_the_tests_of_a_published_name():
    status, text = run_check("SparseAdagrad", "-n", "0", "--collect-only")
    assert status == 0, text
    steps = text.split("\n== ")
    assert [step.partition(":")[0] for step in steps[1:4]] == ["uncompiled", "compiled", "cuda"]
    for step in steps[1:3]:
        assert "test_every_op.py::test_kernel_equals_definition[adagrad-0]" in step
        assert "names_run_operators[SparseAdagrad]" in step
        assert "sequence_cumsum" not in step
    assert "test_structure.py::test_every_family_has_a_benchmark" in steps[4]
    assert steps[-1].startswith("SparseAdagrad: passed")


def test_an_unknown_name_is_no_success():
    status, text = run_check("sequence_centr")
    assert status == 1
    assert "the nearest: sequence_center" in text


def run_lane(name):
    """Exit status and output of one lane of the gate, with this Python."""
    command, env = [ROOT / ".ci" / "run", name], {**os.environ, "PYTHON": sys.executable}
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


def test_one_lane_of_the_gate_runs_alone():
    status, text, errors = run_lane("README's examples")
    assert (status, errors) == (0, ""), text
    assert re.fullmatch(r"== README's examples\n== README's examples: \d+ s\n", text)


def test_an_unknown_lane_is_no_success():
    assert run_lane("readme") == (2, "", "no lane is named 'readme': .ci/run --list prints the names\n")
