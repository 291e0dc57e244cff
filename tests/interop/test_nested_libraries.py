"""LoDTensor.from_nested and lodkit.vocabulary of pandas, polars, Arrow, awkward and PyTorch."""

from __future__ import annotations

import re

import numpy as np
import pytest

import lodkit
from lodkit import DTypeError, LoDTensor

NESTED = [[1, 2], [3], []]
DEEP = [[[1], [2, 3]], [], [[]]]
TEXTS = [["the", "cat"], [], ["the"]]


def test_series_of_lists():
    pd = pytest.importorskip("pandas")
    for x in (pd.Series(NESTED), pd.Series(NESTED, index=[5, 5, 1]), pd.Series([np.array(r, int) for r in NESTED])):
        assert LoDTensor.from_nested(x).to_list() == NESTED
    assert LoDTensor.from_nested(pd.Series(DEEP)).to_list() == DEEP
    assert LoDTensor.from_nested([pd.Series(row, dtype="int64") for row in NESTED]).to_list() == NESTED
    assert LoDTensor.from_nested(pd.Series([1.5, 2.5])).lod_level == 0
    assert LoDTensor.from_nested(pd.Series([1, 2], dtype="Int64")).values.tolist() == [1, 2]
    assert LoDTensor.from_nested(pd.Index([1, 2])).values.tolist() == [1, 2]
    assert LoDTensor.from_nested(pd.DataFrame({"x": NESTED})["x"]).to_list() == NESTED


def test_what_series_do_not_nest():
    pd = pytest.importorskip("pandas")
    for x, error, message in (
        (pd.DataFrame({"x": NESTED}), TypeError, r'pass one column, x\["name"\]'),
        (pd.Series(["the cat"]), DTypeError, r"lodkit\.vocabulary"),
        (pd.Series(TEXTS), DTypeError, r"lodkit\.vocabulary"),
        (pd.Series([[1], None]), lodkit.LoDError, "fill missing lists"),
        (pd.Series([[1, None]]), DTypeError, "missing value"),
    ):
        with pytest.raises(error, match=message):
            LoDTensor.from_nested(x)


def test_columns_of_arrow():
    pa = pytest.importorskip("pyarrow")
    column = pa.array(NESTED)
    for x in (
        column,
        pa.chunked_array([column[:1], column[1:]]),
        list(column),
        pa.array(NESTED, pa.large_list(pa.int8())),
    ):
        assert LoDTensor.from_nested(x).to_list() == NESTED
    assert LoDTensor.from_nested(pa.array(DEEP)).to_list() == DEEP
    assert LoDTensor.from_nested([pa.array(row, pa.int64()) for row in NESTED]).to_list() == NESTED
    assert np.shares_memory(LoDTensor.from_nested(column).values, column.values.to_numpy())
    assert LoDTensor.from_nested(column, dtype="float32").dtype == np.float32
    with pytest.raises(TypeError, match="pass one column"):
        LoDTensor.from_nested(pa.table({"x": column}))
    with pytest.raises((TypeError, DTypeError)):
        LoDTensor.from_nested(pa.array(TEXTS))
    with pytest.raises(lodkit.LodkitError):
        LoDTensor.from_nested(pa.array([[1], None]))


def test_a_series_of_arrow_lists():
    pd, pa = pytest.importorskip("pandas"), pytest.importorskip("pyarrow")
    x = pd.Series(NESTED, dtype=pd.ArrowDtype(pa.list_(pa.int64())))
    assert LoDTensor.from_nested(x).to_list() == NESTED


def test_series_of_polars():
    pl = pytest.importorskip("polars")
    assert LoDTensor.from_nested(pl.Series(NESTED)).to_list() == NESTED
    assert LoDTensor.from_nested(pl.Series(DEEP)).to_list() == DEEP
    assert LoDTensor.from_nested(pl.Series([1, 2])).values.tolist() == [1, 2]
    assert LoDTensor.from_nested([pl.Series(row, dtype=pl.Int64) for row in NESTED]).to_list() == NESTED
    with pytest.raises(TypeError, match="pass one column"):
        LoDTensor.from_nested(pl.DataFrame({"x": NESTED}))


def test_awkward_arrays():
    ak = pytest.importorskip("awkward")
    assert LoDTensor.from_nested(ak.Array(NESTED)).to_list() == NESTED
    assert LoDTensor.from_nested(ak.Array(DEEP)).to_list() == DEEP


def test_tensors_of_pytorch():
    torch = pytest.importorskip("torch")
    rows = [torch.tensor(row, dtype=torch.int64) for row in NESTED]
    found = LoDTensor.from_nested(rows)
    assert found.to_list() == NESTED
    for x in (torch.ones(2, 3), [[torch.tensor(1.0), torch.tensor(2.0)], []], [[torch.ones(2), torch.ones(2)], []]):
        try:
            LoDTensor(torch.ones(1))
        except TypeError:
            pytest.skip("LoDTensors hold no tensors here")
        found = LoDTensor.from_nested(x)
        assert isinstance(found.values, torch.Tensor)
        assert found.lod_level == 1
        assert found.astype("float64").values.dtype == torch.float64
        assert not np.shares_memory(found.copy().values.numpy(), found.values.numpy())
    x = LoDTensor(torch.ones(2).requires_grad_() * 2, [[2]])
    assert x.copy().values.requires_grad
    assert x.astype(torch.bfloat16).values.dtype is torch.bfloat16
    assert x.astype("float64").values.requires_grad
    assert LoDTensor.from_nested([x.values, x.values]).values.requires_grad
    with pytest.raises(lodkit.LoDError, match="rows differ in shape"):
        LoDTensor.from_nested([[torch.ones(2), torch.ones(3)]])
    with pytest.raises(TypeError, match=r"SelectedRows\.from_torch"):
        LoDTensor.from_nested(torch.ones(2, 3).to_sparse())


def test_nested_tensors():
    torch = pytest.importorskip("torch")
    x = torch.nested.nested_tensor([torch.ones(2, 3), torch.zeros(1, 3)], layout=torch.jagged)
    assert LoDTensor.from_nested(x).recursive_sequence_lengths() == [[2, 1]]


def test_scipy():
    sparse = pytest.importorskip("scipy.sparse")
    with pytest.raises(TypeError, match=r"LoDTensor\.from_scipy"):
        LoDTensor.from_nested(sparse.eye_array(3))


@pytest.mark.parametrize("library", ["pandas", "pyarrow", "polars", "awkward", "numpy"])
def test_vocabularies_of_columns(library):
    module = pytest.importorskip(library)
    make = {
        "pandas": lambda x: module.Series(x),
        "pyarrow": lambda x: module.array(x),
        "polars": lambda x: module.Series(x),
        "awkward": lambda x: module.Array(x),
        "numpy": lambda x: module.array(x, dtype=object),
    }[library]
    vocab = lodkit.vocabulary(make(TEXTS))
    assert vocab == lodkit.vocabulary(TEXTS)
    assert vocab(make(TEXTS)).equals(vocab(TEXTS))
    assert vocab([make(["the"]), make(["cat"])]).to_list() == [[vocab["the"]], [vocab["cat"]]]


@pytest.mark.parametrize(
    ("library", "kind", "remedy"),
    [
        ("pandas", "DataFrame", 'pass one column, x["name"]'),
        ("polars", "DataFrame", 'pass one column, x["name"]'),
        ("polars", "LazyFrame", 'pass one column, x.collect()["name"]'),
        ("pyarrow", "table", 'pass one column, x["name"]'),
    ],
)
def test_the_names_of_columns_are_no_words(library, kind, remedy):
    x = getattr(pytest.importorskip(library), kind)({"name": ["the", "cat"]})
    for take in (lodkit.vocabulary, lodkit.Vocabulary(["name"])):
        with pytest.raises(TypeError, match=re.escape(remedy)):
            take(x)
    assert len(lodkit.vocabulary(eval(remedy.partition(", ")[2], {"x": x}))) == 3


def test_words_of_tensors():
    torch = pytest.importorskip("torch")
    vocab = lodkit.vocabulary(TEXTS)
    assert vocab.words(torch.tensor([[1, 2]])) == [["the", "cat"]]
