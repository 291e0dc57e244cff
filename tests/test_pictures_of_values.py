"""What Jupyter's picture of a LoDTensor shows: the values of small rows, bars of others."""

from __future__ import annotations

import re

import numpy as np
import pytest

from lodkit import LoDTensor


@pytest.mark.parametrize(
    ("values", "shown"),
    [
        (np.array([7, -300, 12]), ["7", "-300", "12"]),
        (np.array([[0.5, np.nan], [1 / 3, -np.inf], [2.0, 1e-8]]), ["0.5", "nan", "0.3333", "-inf", "2", "1e-08"]),
        (np.array([True, False, True]), ["True", "False", "True"]),
        (np.array([1.5, 2.5, 3.5], ">f4"), ["1.5", "2.5", "3.5"]),
        (np.arange(300.0).reshape(100, 3)[::40], ["0", "1", "2", "120", "121", "122", "240", "241", "242"]),
        (np.array([1, 12_345_678, 2]), []),
        (np.ones((3, 5)), []),
        (np.ones((3, 2, 2)), []),
        (np.ones((3, 0)), []),
    ],
)
def test_a_picture_shows_the_values_of_small_rows(values, shown):
    html = LoDTensor(values, [[2, 0, 1]])._repr_html_()
    svg = html.partition("<table>")[0]
    texts = re.findall(r"<text [^>]*>([^<]*)</text>", svg)
    assert texts == ["2", "0", "1", *shown]


def test_a_picture_of_many_rows_has_bars():
    texts = re.findall(r"<text ", LoDTensor(np.arange(25), [[25]])._repr_html_().partition("<table>")[0])
    assert len(texts) == 1
