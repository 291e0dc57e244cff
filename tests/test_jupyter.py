"""Jupyter's views: well-formed, small, in the notebook's own colours, with words for screen readers."""

from __future__ import annotations

import re
import subprocess
import sys
import xml.etree.ElementTree as ET

import numpy as np
import pytest

import lodkit
from lodkit import Features, GrowingTable, LoDTensor, SelectedRows, Tape, VarDesc
from lodkit.optim import SGD, Adam
from lodkit.registry import operators
from lodkit.registry.docstrings import sections
from lodkit.registry.listing import without_gradients
from lodkit.tape.calls import SHOWN


def elements(html, name):
    """The elements of that name, SVG's or HTML's; raises unless the markup is well-formed."""
    return [e for e in ET.fromstring(f"<all>{html}</all>").iter() if e.tag.rpartition("}")[2] == name]


def readable(html):
    """No colour of its own, a title for each picture, headers with a scope; nothing loaded from elsewhere."""
    for picture in elements(html, "svg"):
        first = picture[0]
        assert picture.get("role") == "img"
        assert first.tag.endswith("title")
        assert first.text
    for header in elements(html, "th"):
        assert header.get("scope") in ("row", "col")
    for table in elements(html, "table"):
        assert len({len(row) for row in table.iter("tr")}) == 1
    marked_up = re.sub(r"<(code|pre)\b.*?</\1>", "", html, flags=re.DOTALL)
    colours = re.findall(r'(?:fill|stroke|color|background)\s*[:=]\s*"?([^";}\s]+)', marked_up)
    assert set(colours) <= {"none", "currentColor", "inherit"}
    assert not re.search(r"#[0-9a-fA-F]{3,6}\b", re.sub(r"&#x?\w+;", "", html))
    assert not re.search(r"<link|<img|src=|href=|@import|<[^>]* on\w+=", html)
    return html


def text_of(html):
    html = re.sub("<style>.*?</style>", "", html)
    return " ".join(" ".join(ET.fromstring(f"<all>{html}</all>").itertext()).split())


@pytest.fixture(scope="module")
def table():
    grown = GrowingTable(3, capacity=16)
    grown.lookup([5, -7, 10**12])
    grown.update(lodkit.adagrad, SelectedRows([1], np.ones((1, 3), np.float32), 16), "moment", lr=0.1)
    return grown


@pytest.fixture(scope="module")
def tape():
    weight = np.ones((4, 3))
    with Tape() as tape:
        hidden = lodkit.tanh(lodkit.embedding_bag(np.ones((9, 4)), LoDTensor([1, 2], [[2, 0]]), pool="mean"))
        np.multiply(hidden, 2).sum() + lodkit.mean(lodkit.fc(hidden, weight))
    return tape


def test_an_operator_has_a_page():
    html = readable(lodkit.ctc_loss._repr_html_())
    text = text_of(html)
    assert "ctc_loss(logits: LoDTensor, labels: LoDTensor" in text
    assert "Return the negative log-likelihood of the labels" in text
    assert "zero_infinity bool If True, 0 replaces an infinite loss" in text
    assert "LoDMismatchError Logits and labels have different numbers of sequences." in text
    assert ">>> ctc_loss(logits, labels).round(4)" in text
    assert re.search(r"cpu \(logits=LoDTensor, labels=LoDTensor\) kernels/\w+/ctc_loss.py:\d+", text)


@pytest.mark.parametrize("name", lodkit.OPS)
def test_every_page_has_documentation_and_an_example(name):
    op = lodkit.OPS[name]
    html = readable(op._repr_html_())
    assert {"example", "kernels"} <= {e.text for e in elements(html, "summary")}
    assert sections(op)[1]["Examples"].startswith(">>> ")
    assert len(html) < 20_000


def test_the_table_of_operators_is_compact_and_can_be_searched():
    html = lodkit.OPS._repr_html_()
    assert len(html) < 60_000
    script = html.partition("<script>")[2].partition("</script>")[0]
    readable(html)
    shown = [e.find("code").text for e in elements(html, "th") if e.get("scope") == "row"]
    assert shown == [*without_gradients(lodkit.OPS)]
    assert "relu" in shown
    assert "relu_grad" not in shown
    assert "kernels/" not in html
    assert not {"<", "&"} & {*script}  # well-formed
    (field,) = (e for e in elements(html, "label"))
    assert field.get("hidden")  # a script shows it, so that there is none where scripts do not run


DEVICES = """
import sys, lodkit
lodkit.OPS._repr_html_(), repr(lodkit.OPS)
told = {name: op.devices() for name, op in lodkit.OPS.items()}
assert not {"numba", "lodkit.kernels.cpu.embedding"} & {*sys.modules}
for name, op in lodkit.OPS.items():
    op._load_all()
    assert set(told[name]) == {device for device, _ in op.kernels}, name
"""


def test_devices_are_those_of_the_kernels_and_told_without_loading_them():
    subprocess.run([sys.executable, "-c", DEVICES], check=True)


def test_the_table_shows_an_operator_of_ones_own(monkeypatch):
    monkeypatch.setattr(operators, "OPS", type(lodkit.OPS)())

    @operators.op
    def twice(x: lodkit.Dense | LoDTensor, y: lodkit.Dense | None = None, /):
        """Return `x` twice, where x < 3 & y > 2."""

    twice.kernel("cpu")(lambda x, y=None: x)
    html = readable(operators.OPS._repr_html_())
    assert "twice Return `x` twice, where x < 3 & y > 2. x: Dense | LoDTensor, y? cpu" in text_of(html)
    assert repr(operators.OPS) == "1 operator\n  twice  Return `x` twice, where x < 3 & y > 2."
    assert repr(type(lodkit.OPS)()) == "0 operators"


def test_the_text_of_the_table_has_every_operator_once():
    text = repr(lodkit.OPS)
    assert len(text) < 6_000
    assert max(map(len, text.splitlines())) <= 110
    words = re.findall(r"\w+", text.partition("\n")[2])
    for name in without_gradients(lodkit.OPS):
        assert name in words


def test_search_finds_names_and_first_lines():
    assert [*lodkit.OPS.search("ctc loss")] == ["ctc_loss", "ctc_loss_grad"]
    assert "edit_distance" in lodkit.OPS.search("Levenshtein")
    assert next(iter(lodkit.OPS.search("sequence reverse"))) == "sequence_reverse"
    assert "sequence_pool" in lodkit.OPS.search("empty sequence logmeanexp"), "in the text of its parameters"
    assert not lodkit.OPS.search("zebra crossing")
    readable(lodkit.OPS.search("ctc")._repr_html_())


def test_a_tape_lists_its_calls(tape):
    assert repr(tape) == (
        "Tape(7 calls)\n"
        "  %1: float64[2, 4] = embedding_bag(table: float64[9, 4], ids: int64[2], lod_level 1)\n"
        "  %2: float64[2, 4] = tanh(%1)\n"
        "  %3: float64[2, 4] = np.multiply(%2, x=2)\n"
        "  %4: float64 scalar = np.sum(%3)\n"
        "  %5: float64[2, 3] = fc(%2, weight: float64[4, 3])\n"
        "  %6: float64[1] = mean(%5)\n"
        "  %7: float64[1] = np.add(%4, %6)"
    )
    with Tape() as empty:
        assert repr(empty) == "Tape(open, 0 calls)"
    assert "<svg" not in readable(empty._repr_html_())


def test_a_tape_names_variables_apart():
    a, b = np.ones(2), np.zeros(2)
    with Tape() as tape:
        lodkit.relu(a), lodkit.relu(b), lodkit.relu(a)
        lodkit.merge_selected_rows(SelectedRows([1, 1], np.ones((2, 1)), 5))
    lines = repr(tape).splitlines()
    assert [line.partition(" = ")[2] for line in lines[1:4]] == [
        "relu(x: float64[2])",
        "relu(x2: float64[2])",
        "relu(x)",
    ]
    assert "SelectedRows float64[2, 1]" in lines[4]


def test_a_tape_is_drawn(tape):
    html = readable(tape._repr_html_())
    (svg,) = elements(html, "svg")
    drawn = [e.text for e in svg.iter() if e.tag.endswith("text") and e.get("font-weight")]
    calls = ["embedding_bag", "tanh", "np.multiply", "np.sum", "fc", "mean", "np.add"]
    assert sorted(drawn) == sorted(["table", "ids", "weight", *calls])
    boxes = [e for e in svg.iter() if e.tag.endswith("rect")]
    assert len(boxes) == 7
    places = [(float(e.get("x")), float(e.get("y")), float(e.get("width"))) for e in boxes]
    for i, (x, y, width) in enumerate(places):
        assert x >= 0
        assert x + width <= float(svg.get("width"))
        for x2, y2, width2 in places[:i]:
            assert y != y2 or x2 + width2 < x or x + width < x2, "boxes overlap"
    assert svg[0].text.startswith("Graph of 7 calls: embedding_bag, tanh")


def test_a_long_tape_is_cut():
    x = np.ones(2)
    with Tape() as tape:
        for _ in range(500):
            x = lodkit.tanh(x)
    assert len(repr(tape)) < 2_000
    assert repr(tape).startswith("Tape(500 calls)")
    html = readable(tape._repr_html_())
    assert len(html) < 12_000
    assert "the first 30 are drawn" in html


def test_a_tape_of_many_variables_lists_what_it_draws():
    with Tape() as tape:
        for _ in range(45):
            ids = LoDTensor([1, 2, 3], [[2, 1]])
            lodkit.embedding_bag(np.ones((1000, 16), np.float32), ids, np.ones(3, np.float32))
    html = tape._repr_html_()
    readable(html)
    assert len(html) < 25_000
    assert html.count("<rect") == SHOWN
    assert repr(tape).count("= embedding_bag(") == SHOWN
    assert f"the first {SHOWN} are drawn" in html


def test_tapes_of_recurrences_are_drawn():
    x = LoDTensor(np.ones((6, 2)), [[2, 1, 3]])

    def step(inputs, memories, static):
        state = lodkit.tanh(inputs[0] + memories[0])
        return (state,), (state,)

    with Tape() as tape:
        lodkit.dynamic_rnn(step, x, np.zeros((3, 2)))
        lodkit.max_sequence_len(lodkit.lod_rank_table(x))
    readable(tape._repr_html_())
    with Tape() as tape:
        lodkit.max_sequence_len(lodkit.lod_rank_table(x))
    assert "max_sequence_len" in readable(tape._repr_html_())
    table = lodkit.lod_rank_table(x)
    with Tape() as tape:
        lodkit.max_sequence_len(table)
    assert repr(tape).endswith("%1: int64[1] = max_sequence_len(table: RankTable[3])")
    readable(tape._repr_html_())


def test_a_tape_that_was_written_to_can_be_shown():
    w = np.ones(3)
    with Tape() as tape:
        y = lodkit.tanh(w)
        y += 1
        lodkit.relu(y, out=np.empty(3))
    assert "np.add" in repr(tape)
    readable(tape._repr_html_())


def test_distinct_rows_are_counted():
    s = SelectedRows([1, 3, 1], np.ones((3, 2)), 4)
    assert "2 of 4 rows · 3 entries" in readable(s._repr_html_())
    assert "2 of 4 rows · float64" in s.merge()._repr_html_()


def test_descriptions():
    desc = VarDesc.of(LoDTensor(np.zeros((3, 4), np.float32), [[1, 2]]), "x<1>").unknown_batch()
    text = text_of(readable(desc._repr_html_()))
    assert text.endswith("name type dtype dims lod_level persistable x<1> LOD_TENSOR float32 any x 4 1 no")


def test_features():
    rng = np.random.default_rng(0)
    lengths = rng.integers(0, 6, 200)
    keys = rng.integers(0, 40, lengths.sum())
    counts = rng.integers(0, 4, lengths.sum())
    lists = Features(lengths, keys, counts, rng.random(counts.sum()))
    maps = Features(lengths, keys, counts, rng.random(counts.sum()), rng.integers(0, 9, counts.sum()))
    scalars = Features(lengths, keys, None, np.arange(len(keys)))
    for features in (lists, maps, scalars, lists[:0], Features([0], [], [], np.zeros(0))):
        assert len(readable(features._repr_html_())) < 10_000
    few = Features([2, 2, 1], [7, 9, 7, 7, 8], [2, 1, 1, 3, 1], np.arange(8))
    text = text_of(few._repr_html_())
    assert "3 examples · 3 keys · list values" in text
    assert "7 2 6 min 1, median 2, max 3 In 2 of the first 3 examples" in text


def test_optimizers():
    table, weight = np.zeros((100, 8), np.float32), np.zeros((8, 2))
    groups = [
        {"params": {"table": table}, "lazy": True, "states": "touched"},
        {"params": {"weight": weight}, "lr": lambda step: 0.1},
    ]
    optimizer = Adam(groups, lr=0.01)
    optimizer.step([SelectedRows([1, 2], np.ones((2, 8), np.float32), 100), np.ones((8, 2))])
    text = text_of(readable(optimizer._repr_html_()))
    assert "Adam 1 step · operator adam · 2 groups" in text
    assert "table float32 (100, 8) 0.01 moment1, moment2 (of touched rows) 144 B 1 corrected_epsilon=True" in text
    assert "weight float64 (8, 2) schedule moment1, moment2 256 B 1" in text
    assert "0 steps · operator sgd" in readable(SGD({"w": weight}, lr=1)._repr_html_())


def test_growing_tables(table):
    html = readable(table._repr_html_())
    assert "3 of 15 rows have keys · rows of (3,) float32 · 192 B · states: moment" in html
    assert "-7: [-0.1, -0.1, -0.1]" in html
    readable(GrowingTable(2, capacity=2)._repr_html_())


def test_vocabularies():
    vocab = lodkit.vocabulary([["<b>", "cat"], ["the"] * 30, [f"w{i}" for i in range(50)]], padding="<pad>")
    text = text_of(readable(vocab._repr_html_()))
    assert "Vocabulary of 55 words, the first 12" in text
    assert "0 <pad> padding 1 <unknown> unknown 2 the" in text


def test_tensors_are_readable_too():
    for x in (LoDTensor(np.arange(15), [[3, 1, 2], [3, 2, 4, 1, 2, 3]]), LoDTensor([1, 2]), LoDTensor(None, [[1, 2]])):
        readable(x._repr_html_())
    html = LoDTensor(np.arange(15), [[3, 1, 2], [3, 2, 4, 1, 2, 3]])._repr_html_()
    assert "3 sequences; lengths at level 0: [3, 1, 2]; level 1: [3, 2, 4, 1, 2, 3]" in html
