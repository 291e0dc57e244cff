"""What the notebooks in docs/notebooks hold: outputs of their own code, small, without errors and traces of a machine.

tests/notebooks runs them.
"""

from __future__ import annotations

import importlib.util
import json
import pathlib
import re

import pytest

DOCS = pathlib.Path(__file__).parents[1] / "docs"
FILES = sorted((DOCS / "notebooks").glob("*.ipynb"))
MACHINE = (
    r"(?<![\w.])/(?:home|root|tmp|work|usr|var|opt|Users|mnt|private)/|site-packages|ipykernel_\d|[A-Z]:\\\\|file://"
)


@pytest.fixture(scope="module")
def script():
    """docs/run_notebooks.py."""
    spec = importlib.util.spec_from_file_location("run_notebooks", DOCS / "run_notebooks.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(params=FILES, ids=lambda file: file.stem)
def file(request):
    return request.param


@pytest.fixture
def cells(file):
    return json.loads(file.read_text())["cells"]


def outputs(cells):
    return [output for cell in cells for output in cell.get("outputs", ())]


def test_there_are_six():
    assert len(FILES) == 6


def test_outputs_belong_to_the_code(script, file, cells):
    notebook = json.loads(file.read_text())
    stale = f"{file.name} was edited: run python docs/run_notebooks.py {file.stem}"
    assert notebook["metadata"]["lodkit"]["digest"] == script.digest(notebook), stale
    counts = [cell["execution_count"] for cell in cells if cell["cell_type"] == "code"]
    assert counts == [*range(1, len(counts) + 1)], stale


def test_an_edit_is_noticed(script, file):
    notebook = json.loads(file.read_text())
    first = next(cell for cell in notebook["cells"] if cell["cell_type"] == "code")
    first["source"] = "".join(first["source"]).replace("lodkit", "lodkit ", 1)
    assert notebook["metadata"]["lodkit"]["digest"] != script.digest(notebook)


def test_there_is_no_error_and_no_warning(cells):
    assert outputs(cells)
    for output in outputs(cells):
        assert output["output_type"] != "error"
        assert output.get("name") != "stderr", output["text"]


def test_files_are_small_and_say_nothing_of_a_machine(file):
    text = file.read_text()
    assert len(text) < 300_000
    plain = re.sub(r'"image/png": "[^"]*"', "", text)
    assert not re.search(MACHINE, plain), re.search(MACHINE, plain)
    assert set(json.loads(text)["metadata"]) == {"kernelspec", "language_info", "lodkit"}


def test_pictures_have_alternative_texts(cells):
    for cell in cells:
        for output in cell.get("outputs", ()):
            if "image/png" in output.get("data", {}):
                told = output["metadata"]["image/png"]["alt"]
                assert len(told) > 20
                assert cell["metadata"]["mystnb"]["image"]["alt"] == told


def test_timings_name_their_cpu(cells):
    varying = [cell for cell in cells if "varies" in cell["metadata"].get("tags", ())]
    printed = "".join("".join(output.get("text", "")) for output in outputs(varying))
    if re.search(r"\d ms\b|a second", printed):
        assert any("get_host_cpu_name" in "".join(cell["source"]) for cell in cells)


def test_notebooks_are_linked_and_their_links_lead_somewhere(file, cells):
    assert "".join(cells[0]["source"]).startswith("# ")
    for page in (DOCS / "index.md", DOCS.parent / "README.md"):
        assert f"notebooks/{file.name})" in page.read_text(), page.name
    found = []
    for cell in cells:
        if cell["cell_type"] == "markdown":
            found += re.findall(r"\]\(([^)#:]+)(?:#[^)]+)?\)", "".join(cell["source"]))
    assert found
    for target in found:
        assert (file.parent / target).exists(), target
