"""Generated files are current, links lead somewhere, and what pages show runs."""

from __future__ import annotations

import doctest
import importlib.util
import itertools
import pathlib
import re
import subprocess
import sys

import numpy as np
import pytest
from conftest import with_all_types

import lodkit
from lodkit.registry import operators

DOCS = pathlib.Path(__file__).resolve().parents[1] / "docs"
PACKAGE = pathlib.Path(lodkit.__file__).resolve().parent
# Scripts of docs import each other, as a run of one of them does.
sys.path.insert(0, str(DOCS))


def script(name):
    """A script of docs, as a module."""
    spec = importlib.util.spec_from_file_location(name, DOCS / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


#: Texts of the pages of operators, which the site makes.
OPERATORS = {file: text() for file, text in script("generate_operators").GENERATED.items()}


@pytest.mark.parametrize(
    "name",
    [
        "render_benchmarks",
        "render_peers",
        "render_rooms",
        "render_types",
        "render_speeds",
        "draw_shrinking_steps",
        "draw_front_page",
    ],
)
def test_generated_files_are_current(name):
    for file, text in script(name).GENERATED.items():
        assert file.read_text() == text(), f"{file} is stale: run python docs/{name}.py"


def test_every_operator_is_on_one_page():
    script("generate_operators").check_pages()
    pages = "".join(text for file, text in OPERATORS.items() if file.parent != DOCS)
    headings = re.findall(r"^##+ ([a-z]\w+)$", pages, re.M)
    assert sorted(headings) == sorted(lodkit.OPS)


def test_a_family_without_a_page_is_told_what_to_write(monkeypatch):
    module = script("generate_operators")
    monkeypatch.delattr(sys.modules["lodkit.ops.sequence_center"], "DOCS_PAGE")
    with pytest.raises(LookupError, match=r"imports of .*lodkit/ops/sequence_center.py.*: DOCS_PAGE = one of"):
        module.check_pages()
    assert "sequence_center" not in module.index()
    module.GROUPS = [*module.GROUPS, module.Group("more", "More", "More operators.")]
    monkeypatch.undo()
    with pytest.raises(LookupError, match="no module of lodkit/ops has DOCS_PAGE = 'more'"):
        module.check_pages()


def test_every_kind_that_a_signature_names_has_kernels():
    """The page of operators says so once, for all."""
    for name, op in lodkit.OPS.items():
        op._load_all()
        kinds = [op.inputs[x] for i, x in enumerate(op.inputs) if i in op._varying]
        keys = itertools.product(*(["None" if kind is type(None) else kind.__name__ for kind in of] for of in kinds))
        for key in keys:
            assert {("cpu", key), ("cuda", key)} <= set(op.kernels), name


def test_every_public_name_is_on_a_page_of_the_interface():
    listed = re.findall(r"::\s+lodkit\.([\w.]+)", "".join(page.read_text() for page in DOCS.glob("api/*.md")))
    missing = {*lodkit.__all__} - {*lodkit.OPS} - {name.partition(".")[0] for name in listed}
    assert not missing, f"give these a directive in docs/api: {sorted(missing)}"


PAGES = [*sorted({*DOCS.rglob("*.md"), *OPERATORS}), DOCS.parent / "README.md"]


def text_of(page):
    """The text of a page, of operators' as the site makes it."""
    return OPERATORS[page] if page in OPERATORS else page.read_text()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(DOCS.parent).as_posix())
def test_links_lead_somewhere(page):
    for target, anchor in re.findall(r"\]\(([^)#:]+)(#[^)]+)?\)", text_of(page)):
        file = (page.parent / target).resolve()
        assert file in OPERATORS or file.exists(), target
        if anchor:
            headings = re.findall(r"^#+ (.*)", text_of(file), re.M)
            assert anchor[1:] in [heading.lower().replace(" ", "-") for heading in headings], target + anchor


#: Pages whose code compiles for a second and more.
LONG = {
    *("attention", "bad-input", "beam-search", "compressed-tables", "crf", "ctc", "distributed", "features"),
    *("interop", "number-types", "recurrence-examples", "recurrent-layers", "serving", "tagging"),
}


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, marks=[with_all_types] * (page.stem in LONG), id=page.stem)
        for page in sorted({*DOCS.glob("*.md")} - {*OPERATORS})
        if page.stem not in ("adding-an-operator", "adding-an-optimizer")
    ],
)
def test_what_a_page_shows_runs(page):
    assert all(block.startswith(">>> ") for block in re.findall(r"```python\n(.*)", page.read_text()))
    assert not doctest.testfile(str(page), module_relative=False).failed


def test_the_page_of_caffe2_counts_its_names():
    assert f"There are {len(lodkit.caffe2.OPERATORS)} of them" in (DOCS / "caffe2.md").read_text()


def table(page, heading):
    """The cells of the table below a heading."""
    section = (DOCS / page).read_text().split(f"\n## {heading}\n")[1].split("\n## ")[0]
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in section.splitlines() if line.startswith("|")
    ]
    return rows[2:]


def test_the_page_of_optimizers_has_every_one():
    records = {name for name, op in lodkit.OPS.items() if hasattr(op.definition, "optimizer")}
    rows = {*re.findall(r"^\| `(\w+)` \|", (DOCS / "optimizers.md").read_text().partition("\n## ")[0], re.M)}
    assert rows == records, f"give these a row in the first table of docs/optimizers.md: {sorted(records - rows)}"


def test_the_optimizer_that_the_page_adds_is_the_one_that_is_there():
    blocks = re.findall(r"```text\n(.*?)```", (DOCS / "adding-an-optimizer.md").read_text(), re.DOTALL)
    files = ("ops/adam_optimizers.py", "kernels/common/optimizer_steps.py")
    for file, block in zip(files, blocks, strict=True):
        assert block.strip() in (PACKAGE / file).read_text(), f"the page differs from lodkit/{file}"


def test_paddles_operator_types_are_where_the_page_says():
    listed = set()
    for types, native, there in table("paddle.md", "Operator types"):
        names = re.findall(r"`(\w+)`", types.split("(")[0])
        listed.update(names)
        assert set(re.findall(r"`(\w+)`", native)) <= set(lodkit.OPS)
        assert bool(native) == (there != "not yet"), names
        for name in names:
            published = name in lodkit.paddle.TYPES
            assert published == (there == "yes"), f"{name} is {'there' if published else 'not there'}: say so"
            assert name not in lodkit.OPS or there != "not yet", f"{name} is there natively: say so"
    assert listed >= set(lodkit.paddle.TYPES), f"add {sorted(set(lodkit.paddle.TYPES) - listed)}"


def test_paddles_methods_have_the_names_on_the_page():
    of = {"t": lodkit.LoDTensor, "s": lodkit.SelectedRows, "lodkit": lodkit}
    found = 0
    for _, ours in table("paddle.md", "LoDTensor and SelectedRows"):
        for code in re.findall(r"`([^`]*)`", ours):
            for owner, *names in re.findall(r"\b(t|s|lodkit)\.(\w+)(?:\.(\w+))?", code):
                value = of[owner]
                for name in filter(None, names):
                    value = getattr(value, name, None)
                    found += 1
                    assert value is not None, code
    assert found > 30


def test_the_table_of_the_gate_has_every_lane():
    lanes = subprocess.run([DOCS.parent / ".ci" / "run", "--list"], capture_output=True, text=True, check=True).stdout
    of_the_page = [name.strip() for names, _ in table("CONTRIBUTING.md", "The gate") for name in names.split(";")]
    assert sorted(of_the_page) == sorted(lanes.splitlines())


def write_the_worked_example(folder):
    """The package that adding-an-operator.md writes, from its own blocks."""
    page = (DOCS / "adding-an-operator.md").read_text()
    blocks = re.findall(r"`mykernels/([\w/]+)\.py`.*?```python\n(.*?)```", page, re.DOTALL)
    assert len(blocks) == 2
    for name, text in blocks:
        file = folder / "mykernels" / f"{name}.py"
        file.parent.mkdir(parents=True)
        file.write_text(text)


@pytest.mark.parametrize(
    ("item", "dtype"), [((), np.float32), ((3,), np.float64), ((16,), np.float16), ((37,), np.float32)], ids=str
)
def test_the_worked_example_works(tmp_path, monkeypatch, place, item, dtype):
    write_the_worked_example(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    for name in [name for name in sys.modules if name.split(".")[0] == "mykernels"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(operators, "OPS", operators.Registry(lodkit.OPS))
    ops = importlib.import_module("mykernels.ops.sequence_normalize")
    rows = (np.random.default_rng(0).random((9, *item)) + 0.5).astype(dtype)
    close = {"rtol": 2e-3 if dtype == np.float16 else 1e-5}
    for level in (0, 1):
        x = lodkit.LoDTensor(rows, [[2, 0, 1], [4, 0, 5]])
        expected = ops.sequence_normalize.definition(x, level=level)
        grad = np.ones_like(rows) + rows
        by_x = ops.sequence_normalize_grad.definition(x, expected.values, grad, level=level)
        on_device = x.with_values(place.to(rows))
        got = ops.sequence_normalize(on_device, level=level)
        np.testing.assert_allclose(place.home(got).values, expected.values, **close)
        got = ops.sequence_normalize_grad(on_device, place.to(expected.values), place.to(grad), level=level)
        np.testing.assert_allclose(place.home(got).values, by_x.values, atol=close["rtol"], **close)
        infer = ops.sequence_normalize.infer(lodkit.VarDesc.of(x), level=level)
        assert infer.covers(lodkit.VarDesc.of(expected))
    with lodkit.Tape() as tape:
        y = ops.sequence_normalize(x)
    assert tape.gradient(y, [x])[0].same_lod(x)
    assert doctest.testmod(ops).failed == 0
