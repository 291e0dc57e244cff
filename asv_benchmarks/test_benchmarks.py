"""Every benchmark still runs, with the first of each of its parameters."""

from __future__ import annotations

import importlib
import inspect
import pathlib
import sys

import pytest

from lodkit import jit

ROOT = pathlib.Path(__file__).parent
sys.path.insert(0, str(ROOT))
SUITES = [
    suite
    for file in sorted((ROOT / "benchmarks").glob("[!_]*.py"))
    for _, suite in inspect.getmembers(importlib.import_module(f"benchmarks.{file.stem}"), inspect.isclass)
    if suite.__module__ == f"benchmarks.{file.stem}"
]


@pytest.mark.jit
@pytest.mark.parametrize("suite", SUITES, ids=lambda suite: f"{suite.__module__}.{suite.__name__}")
def test_runs(suite, monkeypatch):
    """By the serial twins: that the parallel ones give the same is for test_every_op."""
    monkeypatch.setattr(jit.settings, "parallel_from", 1 << 60)
    bench, args = suite(), [values[0] for values in getattr(suite, "params", [])]
    runs = [run for name, run in inspect.getmembers(bench, inspect.ismethod) if name.split("_")[0] in KINDS]
    assert runs
    assert not any("raise " in inspect.getsource(run) for run in runs), "asv skips what setup refuses only"
    try:
        try:
            bench.setup(*args)
        except NotImplementedError as error:
            pytest.skip(str(error))
        for run in runs:
            run(*args)
    finally:
        getattr(bench, "teardown", lambda *args: None)(*args)


KINDS = ("time", "timeraw", "peakmem", "track")
