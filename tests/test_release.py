"""What a release says of itself in several places agrees."""

from __future__ import annotations

import importlib.metadata
import pathlib
import re
import shutil
import subprocess
import tomllib

import pytest

import lodkit

PACKAGE = pathlib.Path(lodkit.__file__).parent
ROOT = pathlib.Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def test_one_version():
    assert importlib.metadata.version("lodkit") == lodkit.__version__
    assert re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.M)[1] == lodkit.__version__
    assert f"version = {{{lodkit.__version__}}}" in (ROOT / "docs" / "citation.md").read_text()
    assert f"\nversion: {lodkit.__version__}\n" in (ROOT / "CITATION.cff").read_text()


def test_pull_requests_run_on_every_python_that_is_named():
    named = [line.rpartition(" ")[2] for line in PROJECT["classifiers"] if re.search(r"Python :: 3\.\d+$", line)]
    workflow = (ROOT / ".github" / "workflows" / "pull-request.yml").read_text()
    assert re.findall(r'"(3\.\d+)"', re.search(r"python: \[(.*)\]", workflow)[1]) == named


def test_types_are_in_the_package():
    for file in ("py.typed", "registry/framework.proto"):
        assert (PACKAGE / file).exists(), file


def test_stubs_are_what_the_source_makes(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "docs")
    import generate_stubs

    if not any((PACKAGE / path).exists() for path in generate_stubs.STUBS):
        pytest.skip("this checkout is not installed, and an installation makes its stubs")
    for path, text in generate_stubs.STUBS.items():
        assert (PACKAGE / path).read_text() == text(), f"{path} is stale: run python docs/generate_stubs.py"


def test_no_stub_is_in_git():
    if not (ROOT / ".git").exists() or not shutil.which("git"):
        pytest.skip("this is no git checkout")
    listed = subprocess.run(["git", "ls-files", "*.pyi"], cwd=ROOT, capture_output=True, text=True, check=True)
    assert listed.stdout == ""


def test_the_oldest_that_is_allowed_is_what_the_gate_tries():
    bounds = dict(re.findall(r"(\w+)>=([\d.]+)", " ".join(PROJECT["dependencies"])))
    gate = (ROOT / ".ci" / "run").read_text()
    for name, oldest in bounds.items():
        assert f'"{name}=={oldest}.*"' in gate, f"{name} {oldest}"


def test_the_page_names_what_was_tried():
    tried = re.findall(r":: Python :: (3\.\d+)", " ".join(PROJECT["classifiers"]))
    assert PROJECT["requires-python"] == f">={tried[0]}"
    assert f"Python {tried[0]} to {tried[-1]}" in (ROOT / "docs" / "reliability.md").read_text()


def test_the_page_lists_the_public_modules():
    page = (ROOT / "docs" / "reliability.md").read_text()
    public = re.search(r"^Public names are .*?\. ", page, re.S | re.M)[0]
    assert set(re.findall(r"`lodkit\.([a-z]\w+)`", public)) == {*lodkit._MODULES}
