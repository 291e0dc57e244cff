"""Every benchmark still runs, with the first of each of its parameters."""

from __future__ import annotations

import importlib
import inspect
import pathlib
import sys

import pytest

ROOT = pathlib.Path(__file__).parents[1] / "asv_benchmarks"
sys.path.insert(0, str(ROOT))
SUITES = [
    suite
    for file in sorted((ROOT / "benchmarks").glob("[!_]*.py"))
    for _, suite in inspect.getmembers(importlib.import_module(f"benchmarks.{file.stem}"), inspect.isclass)
    if suite.__module__ == f"benchmarks.{file.stem}"
]


@pytest.mark.jit
@pytest.mark.parametrize("suite", SUITES, ids=lambda suite: f"{suite.__module__}.{suite.__name__}")
def test_runs(suite):
    bench, args = suite(), [values[0] for values in getattr(suite, "params", [])]
    runs = [run for name, run in inspect.getmembers(bench, inspect.ismethod) if name.split("_")[0] in KINDS]
    assert runs
    try:
        bench.setup(*args)
        for run in runs:
            run(*args)
    except NotImplementedError as error:
        pytest.skip(str(error))
    finally:
        getattr(bench, "teardown", lambda *args: None)(*args)


KINDS = ("time", "timeraw", "peakmem", "track")
