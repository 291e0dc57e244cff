"""A LoDTensor, or SelectedRows, in the constructors of other libraries: the right thing, or an error with the way."""

from __future__ import annotations

import re

import numpy as np
import pytest

import lodkit
from lodkit import LoDTensor, SelectedRows

VALUES = {
    "t": LoDTensor(np.array([1.0, 2.0, 3.0]), [[2, 0, 1]]),
    "n": LoDTensor(np.array([1.0, 2.0, 3.0]), [[1, 0, 1], [2, 1]]),
    "s": SelectedRows([3, 1], np.array([[1.0, 2.0], [3.0, 4.0]]), 5),
}
LISTS = {"t": [[1.0, 2.0], [], [3.0]], "n": [[[1.0, 2.0]], [], [[3.0]]]}
#: Library, call, the values that it takes.
RIGHT = [
    ("polars", "polars.Series(x).to_list()", "tn"),
    ("polars", "polars.DataFrame({'x': x})['x'].to_list()", "tn"),
    ("pyarrow", "pyarrow.array(x).to_pylist()", "tn"),
    ("pyarrow", "pyarrow.table({'x': x})['x'].to_pylist()", "tn"),
    ("pandas", "[[list(map(float, s)) for s in pandas.Series.from_arrow(x)]][0]", "t"),
    ("awkward", "awkward.from_iter(x).to_list()", "tn"),
    ("numpy", "[s.tolist() if hasattr(s, 'tolist') else s.to_list() for s in list(x)]", "t"),
    ("numpy", "[s.to_list() for s in x]", "n"),
    ("torch", "[s.tolist() for s in torch.nested.nested_tensor(list(x), layout=torch.jagged).unbind()]", "t"),
]
#: Library, call, the values that it refuses, the error, and what its message names.
REFUSED = [
    ("numpy", "numpy.asarray(x)", "tn", TypeError, "t.to_list()"),
    ("numpy", "numpy.array(x)", "tn", TypeError, ".to_padded()"),
    ("numpy", "numpy.array(x, dtype=object)", "tn", TypeError, ".values (all rows)"),
    ("pandas", "pandas.Series(x)", "tn", TypeError, "pd.Series(t.to_list())"),
    ("pandas", "pandas.DataFrame({'x': x})", "tn", TypeError, "pd.Series(t.to_list())"),
    ("pandas", "pandas.DataFrame({'a': [1, 2, 3]}).assign(x=x)", "tn", TypeError, "pd.Series(t.to_list())"),
    ("awkward", "awkward.Array(x)", "tn", BufferError, "t.to_awkward()"),
    ("torch", "torch.tensor(x)", "tn", BufferError, "t.to_torch()"),
    ("torch", "torch.as_tensor(x)", "tn", BufferError, "t.to_torch()"),
    ("torch", "torch.from_dlpack(x)", "tn", BufferError, "t.to_padded()"),
    ("numpy", "numpy.asarray(x)", "s", TypeError, ".to_dense()"),
    ("numpy", "list(x)", "s", TypeError, "zip(s.rows, s.value)"),
    ("pandas", "pandas.Series(x)", "s", TypeError, "use .rows and .value"),
    ("pandas", "pandas.DataFrame({'a': [1, 2]}).assign(x=x)", "s", TypeError, "SelectedRows"),
    ("pyarrow", "pyarrow.array(x)", "s", TypeError, "s.to_dense()"),
    ("awkward", "awkward.Array(x)", "s", BufferError, "s.to_dense()"),
    ("torch", "torch.tensor(x)", "s", BufferError, "s.to_torch()"),
    ("torch", "torch.nested.nested_tensor(list(x))", "s", TypeError, "zip(s.rows, s.value)"),
]


@pytest.mark.parametrize(("library", "call", "name"), [(a, b, name) for a, b, names in RIGHT for name in names])
def test_what_is_right(library, call, name):
    module = pytest.importorskip(library)
    assert eval(call, {library: module, "x": VALUES[name]}) == LISTS[name]


@pytest.mark.parametrize(
    ("library", "call", "name", "error", "way"), [(a, b, x, e, w) for a, b, names, e, w in REFUSED for x in names]
)
def test_what_is_refused_names_the_way(library, call, name, error, way):
    module = pytest.importorskip(library)
    with pytest.raises(error, match=re.escape(way)):
        eval(call, {library: module, "x": VALUES[name]})


def test_the_ways_lead_there():
    t, s = VALUES["t"], VALUES["s"]
    pd = pytest.importorskip("pandas")
    assert pd.Series(t.to_list()).tolist() == LISTS["t"]
    series = pd.Series(list(s.value), s.rows)
    assert series[1].tolist() == [3.0, 4.0]
    assert [(int(row), value.tolist()) for row, value in zip(s.rows, s.value, strict=True)] == [
        (3, [1, 2]),
        (1, [3, 4]),
    ]
    assert pytest.importorskip("awkward").Array(t.to_awkward()).to_list() == LISTS["t"]
    assert [x.tolist() for x in t.to_torch().unbind()] == LISTS["t"]
    assert s.to_torch().to_dense().tolist() == s.to_dense().tolist()


def test_rows_that_do_not_iterate_are_as_before_elsewhere():
    s = VALUES["s"]
    assert len(s) == 2
    assert not np.iterable(s)
    assert lodkit.norm(s).shape == (1,)
    assert isinstance(lodkit.sum(s, s), SelectedRows)
