"""What a release says of itself in several places agrees."""

from __future__ import annotations

import importlib
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
RECIPE = ROOT / "recipe" / "recipe.yaml"
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
PROJECT = PYPROJECT["project"]
SECTIONS = ["Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"]


def test_the_changelog_has_sections():
    versions = re.split(r"^## ", (ROOT / "CHANGELOG.md").read_text(), flags=re.M)[1:]
    for version in versions:
        heading, _, text = version.partition("\n")
        assert re.fullmatch(r"\d+\.\d+\.\d+(rc\d+)? \((unreleased|not published|\d{4}-\d\d-\d\d)\)", heading), heading
        before, *sections = re.split(r"^### (.*)\n", text, flags=re.M)
        assert not before.strip(), f"{heading}: put this into a section: {before:.80}"
        names = [name for name in sections[::2] if not name.startswith("Upgrading from ")]
        assert names == [name for name in SECTIONS if name in names], f"{heading}: sections in the order {SECTIONS}"
        assert all(
            re.match(r"\n- \S", body) for name, body in zip(sections[::2], sections[1::2], strict=True) if name in names
        )
    assert "### Upgrading from " in versions[0], "say what users must change"


def read_recipe(part):
    """Requirements of a part of the recipe for conda-forge: names -> bounds."""
    block = re.search(rf"^  {part}:\n((?:    - .*\n)+)", RECIPE.read_text(), re.M)[1]
    return dict(re.findall(r"^    - (\S+) ?(.*)$", block, re.M))


def read_requirements(lines):
    """Requirements of pyproject.toml in the same form."""
    return dict(re.match(r"([\w-]+)(?:\[.*\])?(.*)", line).groups() for line in lines)


def test_the_recipe_of_conda_asks_for_what_the_project_asks_for():
    oldest = PROJECT["requires-python"].removeprefix(">=")
    assert f'\n  python_min: "{oldest}"\n' in RECIPE.read_text()
    python = {"python": ">=${{ python_min }}"}
    assert read_recipe("run") == {**python, **read_requirements(PROJECT["dependencies"])}
    built_by = read_requirements(PYPROJECT["build-system"]["requires"])
    assert read_recipe("host") == {"python": "${{ python_min }}.*", "pip": "", **built_by}
    torch = read_requirements(PROJECT["optional-dependencies"]["torch"])["torch"]
    assert read_recipe("run_constraints") == {"pytorch": torch}
    assert f"license: {PROJECT['license']}\n" in RECIPE.read_text()
    for module in re.findall(r"^        - (lodkit[\w.]*)$", RECIPE.read_text(), re.M):
        assert importlib.import_module(module)


def test_one_version():
    assert importlib.metadata.version("lodkit") == lodkit.__version__, "install it again: pip install -e ."
    assert re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.M)[1] == lodkit.__version__
    assert f"version = {{{lodkit.__version__}}}" in (ROOT / "docs" / "citation.md").read_text()
    assert f"\nversion: {lodkit.__version__}\n" in (ROOT / "CITATION.cff").read_text()
    assert f'\n  version: "{lodkit.__version__}"\n' in RECIPE.read_text()


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
