"""What a release says of itself in several places agrees."""

from __future__ import annotations

import importlib.metadata
import pathlib
import re
import tomllib

import lodkit

ROOT = pathlib.Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def test_one_version():
    assert importlib.metadata.version("lodkit") == lodkit.__version__
    assert re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.M)[1] == lodkit.__version__
    assert f"version = {{{lodkit.__version__}}}" in (ROOT / "docs" / "citation.md").read_text()


def test_types_are_in_the_package():
    package = pathlib.Path(lodkit.__file__).parent
    for file in (
        "py.typed",
        "__init__.pyi",
        "_operators.pyi",
        "ops/__init__.pyi",
        "interop/torch/__init__.pyi",
        "registry/framework.proto",
    ):
        assert (package / file).exists(), file


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
    public = re.search(r"^Public is what .*?;", page, re.S | re.M)[0]
    assert set(re.findall(r"`lodkit\.([a-z]\w+)`", public)) == {*lodkit._MODULES}
