"""What people see: reprs, and Jupyter's pictures."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest

from lodkit import LoDTensor, SelectedRows
from lodkit.lod.repr_html import picture


@pytest.fixture
def articles():
    return LoDTensor(np.arange(15), [[3, 1, 2], [3, 2, 4, 1, 2, 3]])


@pytest.fixture
def big():
    lengths = np.arange(5000) % 37
    return LoDTensor(np.zeros((lengths.sum(), 64), np.float32), [lengths])


def test_a_small_tensor_is_shown_whole(articles):
    assert repr(articles) == (
        "LoDTensor([[[0, 1, 2], [3, 4], [5, 6, 7, 8]], [[9]], [[10, 11], [12, 13, 14]]],\n"
        "          recursive_sequence_lengths=[[3, 1, 2], [3, 2, 4, 1, 2, 3]], shape=(15,), dtype=int64)"
    )
    short = "LoDTensor([[1], [2]], recursive_sequence_lengths=[[1, 1]], shape=(2,), dtype=int64)"
    assert repr(LoDTensor([1, 2], [[1, 1]])) == short
    assert repr(LoDTensor([1.5, 2])) == "LoDTensor([1.5, 2.], shape=(2,), dtype=float64)"
    assert repr(LoDTensor(None, [[1, 2]])) == "LoDTensor(None, [[1, 2]])"
    assert repr(LoDTensor(np.empty((0, 3)), [[], []])).startswith("LoDTensor([], recursive")
    assert "[[0., 10.], [20., 3.]]" in repr(LoDTensor([[0.0, 10.0], [20, 3]], [[2]]))


def test_a_big_tensor_is_summed_up(big):
    text = repr(big)
    assert text.startswith("LoDTensor(5000 sequences, 89920 x 64 float32, lod_level=1, 23.1 MB, cpu, padding")
    assert "min 0, median 18, max 36" in text
    assert "(50%)" in text
    assert "<1> 1 rows: [[0., 0., ..., 0., 0.]]" in text
    assert len(text) < 2000


@pytest.mark.parametrize("dtype", ["float16", "complex64", "bool", "datetime64[s]"])
def test_any_type_is_shown(dtype):
    for rows in (2, 2000):
        t = LoDTensor(np.zeros((rows, 3), np.int64).astype(dtype), [[rows]])
        assert dtype in repr(t)
        assert t._repr_html_()


def test_selected_rows():
    s = SelectedRows([73, 84], [[1.0, 2.0], [3.0, 4.0]], 100)
    assert repr(s) == "SelectedRows(rows=[73, 84], value=[[1., 2.], [3., 4.]], height=100)"
    many = SelectedRows(np.arange(1000), np.zeros((1000, 8), np.float32), 10**6)
    assert len(repr(many)) < 300
    assert "height=1000000" in repr(many)
    for x in (s, many, SelectedRows([], np.zeros((0, 2)), 0)):
        static(x._repr_html_())
    assert "1000 of 1000000 rows" in many._repr_html_()


def static(html):
    """Well-formed, small, no script, nothing loaded."""
    ET.fromstring(html.replace("<br>", "<br/>"))
    assert len(html.encode()) < 10_000
    assert not re.search(r"<script|javascript|\bon\w+=|<link|<img|src=|href=", html)
    return html


def test_html_is_small_and_static(articles, big):
    lengths = [[1], [40], [50] * 40, [3] * 2000, [1] * 6000]
    values = np.arange(6000)
    deep = LoDTensor(values, lengths)
    for t in (articles, big, deep, LoDTensor(values), LoDTensor(None, lengths), big[:0]):
        static(t._repr_html_())
    html = big._repr_html_()
    assert "min 0, median 18, max 36" in html
    assert "padding avoided" in html
    assert "<td>136</td>" in html  # of them empty


def bars(svg, kind):
    return len(re.findall(r"M\d+ \d+" + kind, svg))


def test_the_picture_is_the_seeds(articles):
    svg = picture(articles.with_values(np.zeros((15, 9))))
    assert bars(svg, r"v16") == 15
    assert [e.text for e in ET.fromstring(svg).iter() if e.tag.endswith("text")] == list("312324123")
    videos = picture(LoDTensor(np.zeros((6, 4, 4)), [[3, 1, 2]]))
    assert bars(videos, r"v10h10v-10z") == 6


def test_bars_are_grouped_by_sequence_and_sub_sequence(articles):
    x = [int(m) for m in re.findall(r"M(\d+) \d+v16", picture(articles.with_values(np.zeros((15, 9)))))]
    steps = np.diff(x)
    assert steps.min() == 6
    assert set(np.flatnonzero(steps == 14) + 1) == {3, 5, 12}
    assert set(np.flatnonzero(steps > 14) + 1) == {9, 10}


def test_a_big_picture_is_cut(big):
    svg = picture(big)
    assert "…" in svg
    assert bars(svg, "v16") <= 60
    assert "…" not in picture(LoDTensor(np.arange(60)))
    assert "0" in picture(LoDTensor(np.arange(2), [[0, 2, 0]]))


@pytest.mark.parametrize(
    "t",
    [
        LoDTensor(np.full(100, -1 / 3 - 1e-300j), [[60, 40]]),
        LoDTensor(np.ones(1), [[1]] * 200),
        SelectedRows([1], np.full((1, 20_000), -1 / 3 - 1e-300j), 3),
    ],
)
def test_reprs_stay_below_ten_kilobytes_whatever_is_in_them(t):
    assert len(repr(t)) < 10_000
    assert len(t._repr_html_()) < 10_000
