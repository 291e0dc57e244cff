"""An array of another library is refused with the conversion that works for its type."""

from __future__ import annotations

import re

import numpy as np
import pytest

import lodkit
from lodkit import LoDTensor, SelectedRows
from lodkit.arrays.remedies import CONVERSIONS, PROTOCOLS, conversion_of, remedy_for

DENSE = [[1.0, 2.0], [3.0, 4.0]]
LISTS = [[1, 2], [], [3]]


def of(library, make):
    return pytest.param(library, make, id=library)


def jax_like(array, module="jaxlib._jax", name="ArrayImpl"):
    """An array of a library that is not installed: of its module and name, with its protocol."""
    methods = {"__array__": lambda self, dtype=None, copy=None: np.asarray(array), "shape": (2, 2), "dtype": "float32"}
    methods["compute"] = methods["numpy"] = lambda self: np.asarray(array)
    methods["to_numpy"] = lambda self: np.asarray(array)
    return type(name, (), {"__module__": module, **methods})()


ARRAYS = [
    pytest.param("jax", lambda _: jax_like(DENSE), r"np.asarray\(x\)", id="jaxlib.ArrayImpl"),
    pytest.param("jax", lambda _: jax_like(DENSE, "jax", "Array"), r"np.asarray\(x\)", id="jax.Array"),
    pytest.param("tf", lambda _: jax_like(DENSE, "tensorflow.python", "EagerTensor"), r"x.numpy\(\)", id="tf"),
    pytest.param("xarray", lambda _: jax_like(DENSE, "xarray.core", "DataArray"), r"x.to_numpy\(\)", id="xarray"),
    pytest.param("dask", lambda _: jax_like(DENSE, "dask.array.core", "Array"), r"x.compute\(\)", id="dask"),
    pytest.param("other", lambda _: jax_like(DENSE, "other", "Thing"), r"np.asarray\(x\)", id="__array__"),
    pytest.param("array", lambda m: m.array("d", [1, 2]), r"np.asarray\(x\)", id="array.array"),
    pytest.param("pandas", lambda m: m.Series([1.0, 2.0]), r"x.to_numpy\(\)", id="pandas.Series"),
    pytest.param("pandas", lambda m: m.Index([1.0, 2.0]), r"x.to_numpy\(\)", id="pandas.Index"),
    pytest.param("pandas", lambda m: m.DataFrame(DENSE), r"x.to_numpy\(\)", id="pandas.DataFrame"),
    pytest.param("polars", lambda m: m.Series([1.0, 2.0]), r"x.to_numpy\(\)", id="polars.Series"),
    pytest.param("polars", lambda m: m.DataFrame({"a": [1.0]}), r"x.to_numpy\(\)", id="polars.DataFrame"),
    pytest.param("pyarrow", lambda m: m.array([1.0, 2.0]), r"x.to_numpy\(zero_copy_only=False\)", id="pyarrow.Array"),
    pytest.param("pyarrow", lambda m: m.chunked_array([[1.0]]), r"x.to_numpy\(\)", id="pyarrow.ChunkedArray"),
    pytest.param("awkward", lambda m: m.Array([1.0, 2.0]), r"np.asarray\(x\)", id="awkward flat"),
    pytest.param("scipy.sparse", lambda m: m.csr_array(DENSE), r"x.toarray\(\)", id="scipy.sparse"),
    pytest.param("scipy.sparse", lambda m: m.coo_matrix(DENSE), r"x.toarray\(\)", id="scipy.sparse matrix"),
    pytest.param("builtins", lambda _: (float(i) for i in range(3)), r"list\(x\)", id="generator"),
    pytest.param("builtins", lambda _: map(float, range(3)), r"list\(x\)", id="iterator"),
    pytest.param("builtins", lambda _: range(3), r"list\(x\)", id="range"),
    pytest.param("builtins", lambda _: {3.0, 1.0}, r"sorted\(x\)", id="set"),
    pytest.param("builtins", lambda _: frozenset([3.0, 1.0]), r"sorted\(x\)", id="frozenset"),
    pytest.param("builtins", lambda _: {1: 2.0}.values(), r"list\(x\)", id="dict_values"),
    pytest.param("builtins", lambda _: {1: 2.0}.keys(), r"list\(x\)", id="dict_keys"),
    pytest.param("collections", lambda m: m.deque([1.0]), r"list\(x\)", id="deque"),
    pytest.param("builtins", lambda _: memoryview(np.ones(2)), r"np.asarray\(x\)", id="memoryview"),
]
RAGGED = [
    pytest.param("pandas", lambda m: m.Series(LISTS), r"LoDTensor.from_nested\(x.tolist\(\)\)", id="pandas objects"),
    pytest.param("pandas", lambda m: _arrow_series(m), r"LoDTensor.from_arrow\(x\)", id="pandas of Arrow"),
    pytest.param("polars", lambda m: m.Series(LISTS), r"LoDTensor.from_arrow\(x\)", id="polars"),
    pytest.param("pyarrow", lambda m: m.array(LISTS), r"LoDTensor.from_arrow\(x\)", id="pyarrow.Array"),
    pytest.param(
        "pyarrow", lambda m: m.chunked_array([LISTS]), r"LoDTensor.from_arrow\(x\)", id="pyarrow.ChunkedArray"
    ),
    pytest.param("awkward", lambda m: m.Array(LISTS), r"LoDTensor.from_awkward\(x\)", id="awkward"),
    pytest.param("duckdb", lambda m: m.sql("select [1, 2] as a"), r"LoDTensor.from_arrow\(x\)", id="duckdb"),
]


def _arrow_series(pandas):
    pyarrow = pytest.importorskip("pyarrow")
    return pandas.Series(LISTS, dtype=pandas.ArrowDtype(pyarrow.list_(pyarrow.int64())))


def made_by(library, make):
    return make(pytest.importorskip(library) if library not in ("jax", "tf", "xarray", "dask", "other") else None)


def converted(message, x):
    """What the conversion in a message gives."""
    call = re.search(r"; pass (.*)$", message)[1]
    return eval(call, {"np": np, "LoDTensor": LoDTensor, "SelectedRows": SelectedRows, "x": x, "values": x})


@pytest.mark.parametrize(("library", "make", "remedy"), ARRAYS)
def test_an_array_is_refused_with_its_conversion(library, make, remedy):
    x = made_by(library, make)
    with pytest.raises(TypeError, match=f"relu: x must be a NumPy or CUDA array, got .*; pass {remedy}$") as caught:
        lodkit.relu(x)
    assert np.asarray(lodkit.relu(converted(str(caught.value), x))).ndim
    with pytest.raises(TypeError, match="values must be") as caught:
        LoDTensor(made_by(library, make))
    assert len(LoDTensor(converted(str(caught.value), made_by(library, make))))
    with pytest.raises(TypeError, match=r"as value, got .*; pass .*value"):
        SelectedRows([0, 1], made_by(library, make), 2)


@pytest.mark.parametrize(("library", "make", "remedy"), RAGGED)
def test_ragged_data_is_refused_with_its_conversion(library, make, remedy):
    x = made_by(library, make)
    for call in (lambda: lodkit.sequence_pool(x), lambda: LoDTensor(x)):
        with pytest.raises(TypeError, match=remedy.replace("x", "(x|values)")) as caught:
            call()
        method = re.search(r"from_\w+", str(caught.value))[0]
        if hasattr(LoDTensor, method):
            assert converted(str(caught.value), x).to_list() in (LISTS, [[[1, 2]]], [[1, 2]])


def test_tensors_that_are_not_dense():
    torch = pytest.importorskip("torch")
    sparse = torch.sparse_coo_tensor(torch.tensor([[1, 0]]), torch.ones(2, 2), (3, 2), check_invariants=True)
    with pytest.raises(TypeError, match=r"SelectedRows\.from_torch\(grad\)"):
        lodkit.sgd(np.ones((3, 2)), sparse, lr=0.1)
    lodkit.sgd(np.ones((3, 2), np.float32), SelectedRows.from_torch(sparse), lr=0.1)


def test_sparse_matrices_by_what_is_wanted():
    sparse = pytest.importorskip("scipy.sparse")
    x = sparse.csr_array(DENSE)
    assert remedy_for(x, "x") == "pass x.toarray()"
    assert remedy_for(x, "x", "SelectedRows") == "pass SelectedRows.from_scipy(x)"
    assert remedy_for(x, "x", "LoDTensor") == "pass the ids or the scores of LoDTensor.from_scipy(x)"
    with pytest.raises(TypeError, match=r"LoDTensor\.from_scipy\(ids\)"):
        lodkit.embedding_bag(np.ones((3, 2)), x)
    with pytest.raises(TypeError, match=r"SelectedRows\.from_scipy\(x\)"):
        lodkit.merge_selected_rows(x)


def test_values_of_lodkit_itself():
    t, s = LoDTensor([1.0, 2.0], [[2]]), SelectedRows([1], [[1.0]], 3)
    for x, remedy in ((t, r"values\.values"), (s, r"values\.to_dense\(\)"), ({"a": 1}, "each of its values")):
        with pytest.raises(TypeError, match=remedy):
            LoDTensor(x)


def test_others_are_told_what_is_taken():
    with pytest.raises(TypeError, match="got object; pass a NumPy array, a tensor of PyTorch, a CUDA array or a list"):
        LoDTensor(object())
    with pytest.raises(TypeError, match="got object; pass an array, a tensor of PyTorch or a list of numbers"):
        lodkit.relu(object())


@pytest.mark.parametrize("x", ["the cat", np.array(["the", "cat"])])
def test_words_are_told_to_become_ids(x):
    remedy = remedy_for(x, "x") if isinstance(x, str) else remedy_for(pytest.importorskip("pyarrow").array(x), "x")
    ids, vocabulary = re.fullmatch(r"pass (.*), with vocab = (.*)", remedy).groups()
    names = {"lodkit": lodkit, "x": x}
    names["vocab"] = eval(vocabulary, names)
    assert len(lodkit.relu(eval(ids, names))) == 2


def test_text_becomes_a_sequence_where_sequences_are_wanted():
    x = "the cat"
    with pytest.raises(TypeError, match=r"ids holds text \('the cat'\)") as caught:
        lodkit.embedding_bag(np.ones((4, 2)), x)
    code, ids = re.search(r"(words = .*); the ids are (.*)$", str(caught.value)).groups()
    names = {"lodkit": lodkit, "ids": x}
    exec(code, names)
    assert lodkit.embedding_bag(np.ones((4, 2)), eval(ids, names)).tolist() == [[2, 2]]


def test_a_number_is_told_to_be_a_list():
    for x in (3, np.float64(3.0)):
        with pytest.raises(TypeError, match=r"pass \[values\]$"):
            LoDTensor(x)


def test_every_line_of_the_table_is_a_template():
    for found in (*CONVERSIONS.values(), *PROTOCOLS.values()):
        assert callable(found) or "{}" in found or found.startswith("each")
    assert conversion_of(object()) is None


@pytest.mark.parametrize(
    ("ids", "remedy", "length"),
    [
        ([1, 2], "LoDTensor(ids, [lengths])", 1),
        ((1, 2), "LoDTensor(ids, [lengths])", 1),
        ([], "LoDTensor(ids, [lengths])", 1),
        (3, "LoDTensor([ids], [[1]])", 1),
        ([np.array([1, 2]), np.array([3])], "LoDTensor(values, [lengths]) or LoDTensor.from_nested(ids)", 2),
    ],
    ids=["list", "tuple", "empty list", "number", "list of arrays"],
)
def test_ids_without_sequences_are_told_what_makes_them(ids, remedy, length):
    table = np.ones((4, 1))
    with pytest.raises(TypeError, match=f"ids must be a LoDTensor, got .*; pass {re.escape(remedy)}$"):
        lodkit.embedding_bag(table, ids)
    names = {"LoDTensor": LoDTensor, "ids": ids, "lengths": [np.size(ids)] if length == 1 else None}
    assert len(lodkit.embedding_bag(table, eval(remedy.rpartition(" or ")[2], names))) == length


def test_lists_of_lists_are_taken_where_only_a_lod_tensor_can_be():
    expected = lodkit.embedding_bag(np.arange(4.0)[:, None], LoDTensor([1, 2, 3], [[2, 0, 1]]))
    for ids in ([[1, 2], [], [3]], ((1, 2), (), (3,))):
        np.testing.assert_array_equal(lodkit.embedding_bag(np.arange(4.0)[:, None], ids), expected)
    assert lodkit.sequence_softmax([[1.0], [2.0, 2.0]]).to_list() == [[1.0], [0.5, 0.5]]
    with pytest.raises(lodkit.LoDError, match=r"uneven|not a list"):
        lodkit.relu([[1.0], [2.0, 3.0]])
