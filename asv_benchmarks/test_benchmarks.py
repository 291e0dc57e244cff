"""Every benchmark still runs, with the first of each of its parameters."""

from __future__ import annotations

import importlib
import inspect
import json
import pathlib
import re
import sys

import pytest

ROOT = pathlib.Path(__file__).parent
sys.path.insert(0, str(ROOT))
SUITES = [
    suite
    for file in sorted([*ROOT.glob("benchmarks/[!_]*.py"), *ROOT.glob("questions/[!_]*.py")])
    for _, suite in inspect.getmembers(importlib.import_module(f"{file.parent.name}.{file.stem}"), inspect.isclass)
    if suite.__module__ == f"{file.parent.name}.{file.stem}"
]


@pytest.mark.jit
@pytest.mark.parametrize("suite", SUITES, ids=lambda suite: f"{suite.__module__}.{suite.__name__}")
def test_runs(suite):
    bench, args = suite(), [values[0] for values in getattr(suite, "params", [])]
    runs = [run for name, run in inspect.getmembers(bench, inspect.ismethod) if name.split("_")[0] in KINDS]
    assert runs
    assert not any("raise " in inspect.getsource(run) for run in runs), "asv skips what setup refuses only"
    try:
        try:
            getattr(bench, "setup", lambda *args: None)(*args)
        except NotImplementedError as error:
            pytest.skip(str(error))
        for run in runs:
            run(*args)
    finally:
        getattr(bench, "teardown", lambda *args: None)(*args)


@pytest.mark.parametrize(
    "suite", [s for s in SUITES if s.__module__.startswith("questions.")], ids=lambda s: s.__name__
)
def test_questions_are_questions(suite):
    """The pages show the title, as far as it is short; the group's docstring says which data."""
    titles = [getattr(x, "pretty_name", "") for name, x in vars(suite).items() if name.split("_")[0] in KINDS]
    assert titles
    assert all(title.endswith("?") and len(title) < 45 for title in titles), titles
    assert inspect.getmodule(suite).__doc__


def test_recorded_results_name_the_cpu_alone():
    """Neither the host, nor its user, nor a path; every CPU's machine.json has results beside it."""
    files = sorted(ROOT.glob("results/cpu-*/*.json"))
    results = {file.parent for file in files if file.name != "machine.json"}
    assert results, "on a quiet machine: python asv_benchmarks/record.py; commit what it adds to asv_benchmarks/results"
    assert results == {file.parent for file in files if file.name == "machine.json"}
    for file in files:
        recorded = json.loads(file.read_text())
        about = recorded if file.name == "machine.json" else recorded["params"]
        assert about["machine"] == file.parent.name == f"cpu-{about['cpu']}"
        assert set(about) <= {"machine", "cpu", "os", "version", "python", "numpy", "numba"}
        assert about["os"] == "Linux"
        assert not re.search(r"/(home|root|tmp|usr|work)\b", file.read_text())


def test_limits_go_by_the_level_that_holds_what_is_touched(tmp_path, monkeypatch):
    limits = importlib.import_module("limits")
    for at, (kind, size) in enumerate((("Data", "32K"), ("Instruction", "32K"), ("Unified", "1M"), ("Unified", "8M"))):
        (tmp_path / f"index{at}").mkdir()
        (tmp_path / f"index{at}" / "type").write_text(kind + "\n")
        (tmp_path / f"index{at}" / "size").write_text(size + "\n")
    sizes = limits.cache_sizes(tmp_path)
    assert sizes == (32 << 10, 1 << 20, 8 << 20)
    assert limits.cache_sizes(tmp_path / "none") == limits.USUAL_BYTES
    monkeypatch.setattr(limits, "cache_sizes", lambda: sizes)
    assert [limits.level_of(n) for n in (1, 32 << 10, (32 << 10) + 1, 8 << 20, 9 << 20)] == [0, 0, 1, 2, 3]
    monkeypatch.setattr(limits, "bandwidth", (4e9, 3e9, 2e9, 1e9).__getitem__)
    assert limits.least_milliseconds(2_000_000, 9 << 20) == pytest.approx(2)
    assert limits.least_milliseconds(2_000_000, 1 << 20) == pytest.approx(2 / 3)


KINDS = ("time", "timeraw", "peakmem", "track")
