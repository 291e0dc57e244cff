"""The values that docs/coming-from.md speaks of, and results as nested lists."""

from __future__ import annotations

import doctest
import itertools
import json
import pathlib
import re
from functools import cache

import numpy as np
import pytest

import lodkit
from lodkit.registry.peers import find_code, list_peers

PAGE = pathlib.Path(__file__).parents[1] / "docs" / "coming-from.md"
ANSWERS = {peer.name: peer.answer for peer in list_peers()}
#: Names in rows that are values of a library -> the library, and the value.
OF_LIBRARIES = {
    "pd": ("pandas", "pandas"),
    "pl": ("polars", "polars"),
    "series": ("pandas", "pandas.Series([[1.0, 2.0], [3.0]])"),
    "column": ("pyarrow", "pyarrow.array([[1], [2, 3]])"),
    "a": ("awkward", "awkward.Array([[1.0, 2.0], []])"),
    "tensor": ("torch", "torch.ones(3)"),
    "matrix": ("scipy.sparse", "scipy.sparse.csr_array(np.eye(3))"),
    "to_scipy": ("scipy.sparse", "None"),
    "to_arrow": ("pyarrow", "None"),
    "to_awkward": ("awkward", "None"),
    "to_torch": ("torch", "None"),
    "lodkit.interop.torch": ("torch", "None"),
}


@cache
def _read_page():
    """The values that the page makes."""
    values = {}
    for block in re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL):
        for example in doctest.DocTestParser().get_examples(block):
            if "search" not in example.source:
                exec(example.source, values)
    return values


def values_for(code):
    """Names for a row's code: the page's values, and those of libraries, which skip where the library is missing."""
    values = dict(_read_page())  # rows do not write to what others read
    values |= {name: values[name].copy() for name in ("table", "table32", "x", "dense")}
    values |= {"json": json, "itertools": itertools, "rng": np.random.default_rng(0), "words": ["to"], "loss": 1.0}
    values["vocab"] = lodkit.vocabulary([["to", "be"]])
    for name, (library, value) in OF_LIBRARIES.items():
        if re.search(rf"\b{re.escape(name)}\b", code):
            module = pytest.importorskip(library)
            values[name] = eval(value, {"np": np, library.partition(".")[0]: _top(library, module)})
    return values


def _top(library, module):
    return __import__(library.partition(".")[0]) if "." in library else module


def run_ours(name):
    """The result of the first call in a row."""
    code = find_code(ANSWERS[name])[0]
    return eval(code, values_for(code))


def plain(x):
    """A result as nested lists of numbers, which libraries give as arrays, lists or series; None is NaN."""
    if hasattr(x, "is_nested") and x.is_nested:
        x = list(x.unbind())
    for method in ("to_list", "tolist", "to_pylist"):
        if hasattr(x, method):
            x = getattr(x, method)()
    if isinstance(x, list | tuple):
        return [plain(part) for part in x]
    return float("nan") if x is None else x


def assert_same(ours, theirs):
    """Compare nested lists, numbers to 6 digits."""
    ours, theirs = plain(ours), plain(theirs)
    if isinstance(theirs, list):
        assert isinstance(ours, list)
        assert len(ours) == len(theirs), (ours, theirs)
        for a, b in zip(ours, theirs, strict=True):
            assert_same(a, b)
    else:
        np.testing.assert_allclose(ours, theirs, rtol=1e-6)
