"""Pictures show what is there, are read on white and on black, and need matplotlib only when they are drawn."""

from __future__ import annotations

import doctest
import pickle
import subprocess
import sys

import numpy as np
import pytest

import lodkit
from lodkit import LoDTensor, SelectedRows, plot

BATCH = LoDTensor([10, 11, 12, 13, 14, 15, 16], [[2, 0, 1], [3, 0, 4]])
BIG = LoDTensor(np.zeros((50_000, 4), np.float32), [np.arange(1000) % 100 + np.arange(1000) // 500])
DRAWN = [(plot.structure, BATCH), (plot.lengths, BATCH), (plot.rows, SelectedRows([1, 3, 1], np.ones((3, 2)), 4))]


@pytest.fixture(autouse=True)
def matplotlib(request):
    """Matplotlib without a screen; figures are closed."""
    if "without" in request.node.name:
        yield
        return
    found = pytest.importorskip("matplotlib")
    found.use("Agg")
    yield found
    from matplotlib import pyplot

    pyplot.close("all")


def bars(ax):
    """Left end, right end and height of each bar."""
    return [(round(p.get_x(), 2), round(p.get_x() + p.get_width(), 2), p.get_height()) for p in ax.patches]


def test_lengths_are_counted():
    ax = plot.lengths(BATCH, level=0)
    assert [h for _, _, h in bars(ax)] == [1, 1, 1]
    assert ax.get_title() == "3 sequences, level 0: min 0, median 1, max 2"
    assert ax.get_xlabel() == "length, in sequences of level 1"
    assert plot.lengths(BATCH).get_xlabel() == "length, in rows"


def test_many_lengths_share_bars_of_equal_width():
    lengths = BIG.lengths()
    found = bars(plot.lengths(BIG))
    assert len(found) <= 51
    assert sum(h for _, _, h in found) == 1000
    for left, right, height in found:
        assert height == ((lengths > left) & (lengths < right)).sum()


def test_structure_is_to_scale():
    ax = plot.structure(BATCH)
    by_level = {y: [b for b, p in zip(bars(ax), ax.patches, strict=True) if round(p.get_y()) == y] for y in (0, 1, 2)}
    assert [(round(a), round(b)) for a, b, _ in by_level[2]] == [(0, 3), (3, 7)]  # in rows; the empty one is a line
    assert [(round(a), round(b)) for a, b, _ in by_level[1]] == [(0, 3), (3, 7)]
    assert len(by_level[0]) == 7
    assert len(ax.lines) == 2
    assert [text.get_text() for text in ax.texts] == ["2", "1", "3", "4", *map(str, range(10, 17))]
    assert [label.get_text() for label in ax.get_yticklabels()] == ["level 0", "level 1", "rows"]


def test_a_big_structure_is_cut():
    ax = plot.structure(BIG)
    assert len(ax.patches) < 200
    assert ax.get_xlabel() == "row; the first 48 of 50,000"
    assert max(right for _, right, _ in bars(ax)) <= 49


@pytest.mark.parametrize("height", [4, 1000, 10_000_001])
def test_rows_are_counted_where_they_lie(height):
    listed = np.random.default_rng(0).integers(0, height, 300)
    ax = plot.rows(SelectedRows(listed, np.ones((300, 2), np.float32), height))
    found = bars(ax)
    assert len(found) <= 101
    assert sum(h for _, _, h in found) == 300
    for left, right, count in found:
        assert count == ((listed > left) & (listed < right)).sum()
    assert ax.get_title().startswith(f"300 entries for {len(np.unique(listed))} of {height:,} rows: 2.4 kB instead of ")


@pytest.mark.parametrize(("draw", "value"), DRAWN, ids=lambda x: getattr(x, "__name__", ""))
def test_axes_are_made_or_given(matplotlib, draw, value):
    from matplotlib import pyplot

    made = draw(value)
    assert made.figure in map(pyplot.figure, pyplot.get_fignums())  # pyplot.show shows it
    figure, given = pyplot.subplots()
    assert draw(value, ax=given) is given
    assert pyplot.get_fignums() == [made.figure.number, figure.number]
    assert given.get_title() == made.get_title()
    figure.draw_without_rendering()


@pytest.mark.parametrize(("draw", "value"), DRAWN, ids=lambda x: getattr(x, "__name__", ""))
def test_screen_readers_are_told(draw, value):
    ax = draw(value)
    data, metadata = ax.figure._repr_mimebundle_()
    assert not data
    assert metadata["image/png"]["alt"] == ax.get_label()
    assert ax.get_title() in ax.get_label()
    assert pickle.loads(pickle.dumps(ax.figure))


def luminance(color):
    parts = np.array([int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    return np.where(parts <= 0.03928, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4) @ [0.2126, 0.7152, 0.0722]


def contrast(*colors):
    """WCAG's ratio."""
    dark, light = sorted(map(luminance, colors))
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("page", ["#ffffff", "#111111"])
def test_colours_are_read_on_white_and_black(page):
    for color, least in [(plot.INK, 4.2), *((color, 3) for color in plot.COLORS)]:
        assert contrast(page, color) >= least, color
        assert color == plot.INK or contrast("#000000", color) >= 4.5  # of the lengths inside
    ax = plot.lengths(BATCH)
    assert ax.figure.get_facecolor()[3] == ax.get_facecolor()[3] == 0
    texts = [ax.title, ax.xaxis.label, ax.yaxis.label, *ax.get_xticklabels(), *ax.get_yticklabels()]
    assert {text.get_color() for text in texts} == {plot.INK}


def test_examples_run_where_matplotlib_is_installed():
    """The lane of doctests, which may lack it, skips them."""
    for draw in (plot.lengths, plot.structure, plot.rows):
        text = draw.__doc__.replace("# doctest: +SKIP", "")
        example = doctest.DocTestParser().get_doctest(text, vars(plot), draw.__name__, None, 0)
        assert doctest.DocTestRunner().run(example) == (0, len(example.examples))


def test_what_is_empty_is_drawn():
    for value in (BATCH[:0], LoDTensor([1.5, 2.0]), LoDTensor(None, [[2, 0]]), LoDTensor(np.zeros((2, 3, 3)), [[2]])):
        plot.structure(value).figure.draw_without_rendering()
    for draw, value in ((plot.lengths, BATCH[:0]), (plot.rows, SelectedRows([], np.zeros((0, 2)), 0))):
        draw(value).figure.draw_without_rendering()


def test_errors_name_the_remedy():
    for draw in (plot.lengths, plot.structure):
        with pytest.raises(
            TypeError, match=r"expected a LoDTensor to draw, got list; LoDTensor.from_nested\(x\) makes"
        ):
            draw([[1, 2], [3]])
    with pytest.raises(TypeError, match="expected a SelectedRows to draw, got LoDTensor"):
        plot.rows(BATCH)
    with pytest.raises(lodkit.LoDLevelError):
        plot.lengths(BATCH, level=2)


def test_without_matplotlib_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    for draw, value in DRAWN:
        with pytest.raises(ImportError, match=r'lodkit.plot needs matplotlib: pip install "lodkit\[plot\]"'):
            draw(value)


def test_import_without_drawing_loads_no_matplotlib():
    code = "import sys, lodkit; lodkit.plot.rows; assert 'matplotlib' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
