"""Datasets of Hugging Face, and xarray: columns in and out."""

from __future__ import annotations

import numpy as np
import pytest

import lodkit
from lodkit import LoDTensor
from lodkit.interop import arrow


@pytest.fixture
def datasets():
    return pytest.importorskip("datasets")


@pytest.fixture
def dataset(datasets):
    columns = {"x": [[1, 2], [], [3]], "label": [0, 1, 2], "words": [["a", "b"], ["a"], []]}
    return datasets.Dataset.from_dict(columns)


def test_columns_of_a_dataset(dataset):
    assert LoDTensor.from_arrow(dataset["x"]).to_list() == [[1, 2], [], [3]]
    found = arrow.columns(dataset, dictionary=True)
    assert found["x"].to_list() == [[1, 2], [], [3]]
    assert found["label"].values.tolist() == [0, 1, 2]
    ids, words = found["words"]
    assert (ids.to_list(), words) == ([[0, 1], [0], []], ["a", "b"])
    assert LoDTensor.from_arrow(dataset.select_columns(["x"]).data).to_list() == [[1, 2], [], [3]]


def test_rows_are_those_that_the_dataset_has_now(dataset):
    """Its table still has all of them."""
    chosen = dataset.select([2, 0])
    assert LoDTensor.from_arrow(chosen["x"]).to_list() == [[3], [1, 2]]
    assert arrow.columns(chosen.select_columns(["x", "label"]))["label"].values.tolist() == [2, 0]
    kept = dataset.filter(lambda row: len(row["x"]) > 0)
    assert LoDTensor.from_arrow(kept["x"]).to_list() == [[1, 2], [3]]
    shuffled = dataset.shuffle(seed=3)
    assert LoDTensor.from_arrow(shuffled["x"]).to_list() == shuffled["x"][:]


@pytest.mark.parametrize("format", [None, "numpy", "arrow", "pandas"])
def test_the_format_of_a_dataset_does_not_matter(dataset, format):
    one = dataset.with_format(format).select_columns(["x"])
    assert LoDTensor.from_arrow(one).to_list() == [[1, 2], [], [3]]
    assert one.format["type"] == format


def test_batches_of_a_dataset(dataset):
    tables = dataset.remove_columns("words").with_format("arrow").iter(batch_size=2)
    assert [arrow.columns(table)["x"].to_list() for table in tables] == [[[1, 2], []], [[3]]]
    streamed = dataset.remove_columns("words").to_iterable_dataset()
    with pytest.raises(TypeError, match=r"IterableDataset is read in batches: .*iter\(batch_size=1000\)"):
        arrow.columns(streamed)
    tables = streamed.with_format("arrow").iter(batch_size=2)
    assert [arrow.columns(table)["x"].to_list() for table in tables] == [[[1, 2], []], [[3]]]


def test_a_dictionary_of_datasets_names_one(datasets, dataset):
    with pytest.raises(TypeError, match=r"DatasetDict has several datasets; pass one, x\['train'\]"):
        arrow.columns(datasets.DatasetDict(train=dataset))


def test_out_to_a_dataset(datasets):
    import pyarrow

    t = LoDTensor(np.arange(6.0).reshape(3, 2), [[2, 0, 1]])
    made = datasets.Dataset(pyarrow.table({"x": t, "label": [1, 2, 3]}))
    assert made["x"][:] == t.to_list()
    assert LoDTensor.from_arrow(made["x"]).equals(t)
    with pytest.raises(TypeError, match=r"t\.to_list\(\)"):
        datasets.Dataset.from_dict({"x": t})


def test_arrays_of_xarray_are_arrays():
    """Their Arrow table has a row for each number."""
    xarray = pytest.importorskip("xarray")
    x = xarray.DataArray(np.arange(6.0).reshape(2, 3), dims=("sequence", "step"))
    assert LoDTensor.from_nested(x).to_list() == [[0, 1, 2], [3, 4, 5]]
    assert LoDTensor.from_lengths(x.values.ravel(), xarray.DataArray([2, 4])).to_list() == [[0, 1], [2, 3, 4, 5]]
    with pytest.raises(TypeError, match=r"got DataArray; pass values\.to_numpy\(\)"):
        LoDTensor(x, [[1, 1]])


def test_contiguous_ragged_arrays_of_xarray():
    """The convention of CF for files: rows of all sequences, and the number of rows of each."""
    xarray = pytest.importorskip("xarray")
    t = LoDTensor(np.arange(3.0), [[2, 0, 1]])
    size = ("sequence", t.lengths(), {"sample_dimension": "row"})
    found = xarray.Dataset({"x": ("row", t.values), "row_size": size})
    back = LoDTensor.from_lengths(found["x"].to_numpy(), found["row_size"].to_numpy())
    assert back.equals(t)
    assert lodkit.sequence_pool(back).tolist() == [1, 0, 2]
