"""Columns of pyarrow, polars, pandas and duckdb as LoDTensors, and back."""

from __future__ import annotations

import gc

import numpy as np
import pytest

import lodkit
from lodkit import DTypeError, Features, LoDError, LoDTensor
from lodkit.interop.arrow import columns

pa = pytest.importorskip("pyarrow")
LISTS = [[1.0, 2.0], [], [3.0], [4.0, 5.0, 6.0]]
NESTED = [[[1, 2], []], [], [[3], [4, 5], [6]]]


def numpy_of(array):
    """The values buffer of a pyarrow array of lists, as a NumPy array."""
    while not pa.types.is_primitive(array.type):
        array = array.values
    return array.to_numpy(zero_copy_only=True)


@pytest.mark.parametrize("kind", [pa.list_, pa.large_list], ids=["list", "large_list"])
@pytest.mark.parametrize("numbers", ["int8", "uint16", "int64", "uint64", "float16", "float32", "float64"])
def test_lists_of_pyarrow(kind, numbers):
    array = pa.array(NESTED, kind(kind(pa.from_numpy_dtype(numbers))))
    t = LoDTensor.from_arrow(array)
    assert (t.to_list(), t.lod_level, t.dtype) == (NESTED, 2, numbers)
    assert np.shares_memory(t.values, numpy_of(array))
    for start in range(4):
        assert LoDTensor.from_arrow(array[start:]).to_list() == NESTED[start:]
        assert LoDTensor.from_arrow(array[start : start + 1]).to_list() == NESTED[start : start + 1]


def test_items_are_lists_of_fixed_size():
    x = LoDTensor(np.arange(24.0, dtype=np.float32).reshape(4, 2, 3), [[1, 0, 3]])
    array = pa.array(x)
    assert array.type == pa.large_list(pa.list_(pa.list_(pa.float32(), 3), 2))
    assert LoDTensor.from_arrow(array).equals(x)
    assert LoDTensor.from_arrow(array[1:]).equals(x[1:])
    assert LoDTensor.from_arrow(pa.array([[1.0, 2.0], [3.0, 4.0]], pa.list_(pa.float64(), 2))).values.shape == (2, 2)
    levels = pa.array([[[1], [2, 3]], [[], [4]]], pa.list_(pa.list_(pa.int64()), 2))
    assert LoDTensor.from_arrow(levels[1:]).to_list() == [[[], [4]]]


def test_booleans_are_copied_numbers_stay_level_0():
    t = LoDTensor.from_arrow(pa.array([[True, False], [], [True]])[1:])
    assert (t.to_list(), t.dtype) == ([[], [True]], bool)
    assert pa.array(LoDTensor(np.array([True, False]), [[1, 1]])).to_pylist() == [[True], [False]]
    labels = LoDTensor.from_arrow(pa.array([3, 4, 5])[1:])
    assert (labels.to_list(), labels.lod_level) == ([4, 5], 0)
    assert LoDTensor.from_arrow(pa.array([[], []])).lod_level == 1


def test_a_tensor_is_an_array_of_pyarrow():
    t = LoDTensor(np.arange(6.0), [[2, 1], [3, 1, 2]])
    array = pa.array(t)
    array.validate(full=True)
    assert array.equals(t.to_arrow())
    assert array.type == pa.large_list(pa.large_list(pa.float64()))
    assert array.to_pylist() == t.to_list()
    assert np.shares_memory(numpy_of(array), t.values)
    small = pa.array(t, type=pa.list_(pa.list_(pa.float64())))
    assert small.type == pa.list_(pa.list_(pa.float64()))
    assert small.to_pylist() == t.to_list()
    table = pa.table({"x": t, "label": [0, 1]})
    assert columns(table)["x"].equals(t)


@pytest.mark.parametrize(
    ("values", "wanted"),
    [([1.5, 2.0], "float32"), ([1, 300], "int32"), ([1, 200], "uint8"), ([True, False], "int8"), ([1, -2], "float64")],
)
def test_a_type_that_is_asked_for_is_given(values, wanted):
    array = pa.array(LoDTensor(values, [[2]]), type=pa.list_(pa.type_for_alias(wanted)))
    assert array.type == pa.list_(pa.type_for_alias(wanted))
    assert array.to_pylist() == [values]


@pytest.mark.parametrize(("values", "wanted"), [([1, 300], "int8"), ([1, -2], "uint64"), ([1.5], "int64")])
def test_a_type_that_does_not_hold_the_numbers_is_not_given(values, wanted):
    t = LoDTensor(values, [[len(values)]])
    schema, array = t.__arrow_c_array__(pa.list_(pa.type_for_alias(wanted)).__arrow_c_schema__())
    assert pa.Array._import_from_c_capsule(schema, array).to_pylist() == [values]


def test_chunks_are_joined_by_one_copy():
    whole = pa.array(LISTS)
    chunked = pa.chunked_array([whole[:1], whole[1:1], whole[1:]])
    assert LoDTensor.from_arrow(chunked).to_list() == LISTS
    one = pa.chunked_array([whole])
    assert np.shares_memory(LoDTensor.from_arrow(one).values, numpy_of(whole))
    none = LoDTensor.from_arrow(pa.chunked_array([], pa.list_(pa.list_(pa.float32(), 2))))
    assert (none.lod_level, none.shape, none.dtype) == (1, (0, 2), np.float32)


def test_nulls():
    array = pa.array([[1, 2], None, [3]])
    with pytest.raises(LoDError, match=r"x\[1\] is null; read null lists as empty ones with nulls='empty'"):
        LoDTensor.from_arrow(array)
    assert LoDTensor.from_arrow(array, nulls="empty").to_list() == [[1, 2], [], [3]]
    assert LoDTensor.from_arrow(array[2:]).to_list() == [[3]]
    mask = pa.array([False, True, False])
    hiding = pa.ListArray.from_arrays(pa.array([0, 2, 3, 5]), pa.array([1, 2, None, 4, 5]), mask=mask)
    assert LoDTensor.from_arrow(hiding, nulls="empty").to_list() == [[1, 2], [], [4, 5]]
    chunked = pa.chunked_array([array[:1], pa.array([[[1][0]], [None]])])
    with pytest.raises(LoDError, match=r"x\[2\]\[0\] is null, and a value must not be"):
        LoDTensor.from_arrow(chunked, nulls="empty")
    assert LoDTensor.from_arrow(pa.array([None, None], pa.list_(pa.null())), nulls="empty").to_list() == [[], []]


def random_lists(random, count, depth):
    """An array of nested lists of all list types, some of them null though they hide values; slices of slices."""
    if not depth:
        return pa.array(random.integers(0, 100, count), pa.int64())
    lengths = random.integers(0, 4, count)
    child = random_lists(random, int(lengths.sum()) + 3, depth - 1)
    start = int(random.integers(0, 3))
    offsets = np.concatenate([[0], np.cumsum(lengths)]) + start
    null = pa.array(random.random(count) < 0.2)
    if random.random() < 0.5:
        return pa.LargeListArray.from_arrays(pa.array(offsets), child, mask=null)
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), child[: offsets[-1]], mask=null)


def without_nulls(lists):
    return [without_nulls(x) if isinstance(x, list) else [] if x is None else x for x in lists]


@pytest.mark.parametrize("seed", range(100))
def test_any_nested_lists_with_nulls_and_slices(seed):
    random = np.random.default_rng(seed)
    array = random_lists(random, int(random.integers(0, 12)), 1 + seed % 4)
    cut = array[int(random.integers(0, len(array) + 1)) :][: int(random.integers(0, len(array) + 1))]
    for x in (array, cut, pa.chunked_array([cut, array, cut])):
        t = LoDTensor.from_arrow(x, nulls="empty")
        assert t.to_list() == without_nulls(x.to_pylist())
        assert LoDTensor(t.values, lod=t.lod()).equals(t)
        assert t.lod_level == 1 + seed % 4


def test_words_with_and_without_a_dictionary():
    texts = [["b", "a"], [], ["a", "ü"]]
    for array in (
        pa.array(texts),
        pa.array(texts, pa.large_list(pa.large_string())),
        pa.array(texts, pa.list_(pa.string_view())),
        pa.array([["a long word of " + w for w in ws] for ws in texts], pa.list_(pa.string_view())),
        pa.array(texts, pa.list_(pa.dictionary(pa.int8(), pa.string()))),
        pa.array(texts, pa.list_(pa.dictionary(pa.uint32(), pa.large_string()))),
    ):
        for cut in (array, array[1:]):
            ids, words = LoDTensor.from_arrow(cut, dictionary=True)
            assert [[words[i] for i in s] for s in ids.to_list()] == cut.to_pylist()
            assert ids.dtype == np.int64
        with pytest.raises(DTypeError, match="not words; pass dictionary=True"):
            LoDTensor.from_arrow(array)
    one = pa.chunked_array([pa.array(["x", "y"]).dictionary_encode()])
    other = pa.chunked_array([*one.chunks, pa.array(["z", "y"]).dictionary_encode()])
    ids, words = LoDTensor.from_arrow(other, dictionary=True)
    assert (ids.to_list(), words) == ([0, 1, 2, 1], ["x", "y", "z"])
    with pytest.raises(LoDError, match=r"x\[1\] is null"):
        LoDTensor.from_arrow(pa.array(["x", None]).dictionary_encode(), dictionary=True)
    numbers = pa.DictionaryArray.from_arrays(pa.array([1, 0, 1], pa.int8()), pa.array([2.5, 3.5]))
    assert LoDTensor.from_arrow(numbers).values.tolist() == [3.5, 2.5, 3.5]
    assert LoDTensor.from_arrow(pa.array([True, False]).dictionary_encode()).values.tolist() == [True, False]


@pytest.mark.parametrize(
    ("array", "text"),
    [
        (pa.array([[{"a": 1}]]), "not records; pass one field"),
        (pa.array([[(1, 2.0)]], pa.map_(pa.int64(), pa.float64())), "not maps; Features.from_arrow"),
        (pa.array([[0]], pa.list_(pa.time64("us"))), "not times of day; cast to int64"),
        (pa.array([[0]], pa.list_(pa.time32("s"))), "not times of day; cast to int32"),
        (pa.array([[1]], pa.list_view(pa.int64())), "not list views; cast to lists"),
        (pa.array([[b"x"]]), "not bytes"),
        (pa.array([[1]], pa.list_(pa.decimal128(3, 1))), "not decimals; cast to float64"),
    ],
    ids=lambda x: str(getattr(x, "type", "")),
)
def test_types_that_are_no_numbers(array, text):
    with pytest.raises(DTypeError, match=text):
        LoDTensor.from_arrow(array)


def test_tables():
    table = pa.table({"label": [0, 1, 2], "ids": [[1, 2], [], [3]], "words": [["a"], ["b", "a"], []]})
    with pytest.raises(DTypeError, match="not words"):
        columns(table)
    found = columns(table.slice(1), dictionary=True)
    assert found["label"].to_list() == [1, 2]
    assert found["ids"].to_list() == [[], [3]]
    ids, words = found["words"]
    assert [[words[i] for i in s] for s in ids.to_list()] == [["b", "a"], []]
    assert LoDTensor.from_arrow(table.select(["ids"])).to_list() == [[1, 2], [], [3]]
    assert LoDTensor.from_arrow(table.to_batches()[0].select(["ids"])).to_list() == [[1, 2], [], [3]]
    with pytest.raises(TypeError, match=r"this table has 3 \(label, ids, words\)"):
        LoDTensor.from_arrow(table)


def test_a_column_does_not_keep_the_others():
    before = pa.total_allocated_bytes()
    table = pa.table({"big": pa.array(range(1 << 20)), "small": pa.array([0] * (1 << 20), pa.int8())})
    small = columns(table)["small"]
    del table
    gc.collect()
    assert pa.total_allocated_bytes() - before < 3 << 20
    assert not small.values.any()


def test_null_records_raise():
    records = pa.array([{"a": [1]}, None, {"a": [2]}])
    for array in (records, records[1:]):
        with pytest.raises(LoDError, match="a record is null; drop it first"):
            LoDTensor.from_arrow(array)
    assert LoDTensor.from_arrow(records[2:]).to_list() == [[2]]


def test_parquet(tmp_path):
    pq = pytest.importorskip("pyarrow.parquet")
    t = LoDTensor(np.arange(1000, dtype=np.float32), [np.full(100, 10)])
    pq.write_table(pa.table({"x": t}), tmp_path / "x.parquet", row_group_size=30)
    column = pq.read_table(tmp_path / "x.parquet")["x"]
    assert LoDTensor.from_arrow(column).equals(t)


def test_polars():
    pl = pytest.importorskip("polars")
    t = LoDTensor(np.arange(6.0), [[2, 1], [3, 1, 2]])
    for series in (pl.Series(t), pl.from_arrow(t)):
        assert series.to_list() == t.to_list()
        assert LoDTensor.from_arrow(series).equals(t)
        assert LoDTensor.from_arrow(series[1:]).equals(t[1:])
        assert np.shares_memory(LoDTensor.from_arrow(series).values, t.values)
    x = LoDTensor(np.arange(12, dtype=np.int16).reshape(4, 3), [[1, 3]])
    assert pl.Series(x).dtype == pl.List(pl.Array(pl.Int16, 3))
    assert LoDTensor.from_arrow(pl.Series(x)).equals(x)
    nulls = pl.Series([[1], None, [2, 3]])
    assert LoDTensor.from_arrow(nulls, nulls="empty").to_list() == [[1], [], [2, 3]]
    for dtype in (pl.String, pl.Categorical, pl.Enum(["a", "b"])):
        ids, words = LoDTensor.from_arrow(pl.Series([["b"], [], ["a", "b"]], dtype=pl.List(dtype)), dictionary=True)
        assert [[words[i] for i in s] for s in ids.to_list()] == [["b"], [], ["a", "b"]]
    with pytest.raises(TypeError, match=r"got LazyFrame; pass .collect\(\)"):
        LoDTensor.from_arrow(pl.DataFrame({"x": [[1]]}).lazy())
    frame = pl.DataFrame({"label": [1, 2], "x": [[1.0], [2.0, 3.0]]})
    assert {name: t.to_list() for name, t in columns(frame).items()} == {"label": [1, 2], "x": [[1], [2, 3]]}
    assert LoDTensor.from_arrow(frame.select("x")).to_list() == [[1], [2, 3]]


def test_pandas():
    pd = pytest.importorskip("pandas", minversion="3")
    t = LoDTensor.from_arrow(pd.Series(LISTS))
    assert t.to_list() == LISTS
    array = pa.array(LISTS)
    series = pd.Series(array, dtype=pd.ArrowDtype(array.type))
    t = LoDTensor.from_arrow(series)
    assert t.to_list() == LISTS
    assert np.shares_memory(t.values, numpy_of(array))
    assert pd.Series.from_arrow(t)[3].tolist() == [4, 5, 6]
    frame = columns(pd.DataFrame({"label": [1, 2, 3, 4], "x": series}))
    assert (frame["label"].to_list(), frame["x"].to_list()) == ([1, 2, 3, 4], LISTS)


def test_duckdb():
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect() as db:
        t = LoDTensor.from_arrow(db.sql("select [1, 2]::bigint[] as x union all select []"))
        assert t.to_list() == [[1, 2], []]
        many = LoDTensor.from_arrow(db.sql("select range(i % 3) as x from range(10000) t(i) order by i"))
        assert many.lengths().tolist() == [i % 3 for i in range(10000)]
        with pytest.raises(TypeError, match=r"pass a relation, .sql\(...\)"):
            LoDTensor.from_arrow(db)
        found = columns(db.sql("select 7 as label, [[1.5::float], []] as x"))
        assert (found["label"].to_list(), found["x"].to_list()) == ([7], [[[1.5], []]])
        assert found["x"].dtype == np.float32
        fixed = LoDTensor.from_arrow(db.sql("select [1, 2]::integer[2] as x"))
        assert fixed.values.tolist() == [[1, 2]]
        rows = pa.table({"x": LoDTensor([1, 2, 3], [[2, 1]])})
        assert db.sql("select sum(len(x)) from rows").fetchall() == [(3,)]
        assert rows.num_rows == 2


def test_values_of_pytorch():
    torch = pytest.importorskip("torch")
    t = LoDTensor(np.arange(3.0), [[2, 1]])
    values = torch.arange(3.0)
    over = LoDTensor._wrap(values, t._lod)
    array = pa.array(over)
    assert array.to_pylist() == [[0, 1], [2]]
    assert numpy_of(array).ctypes.data == values.data_ptr()
    assert LoDTensor._wrap(values.bfloat16(), t._lod).to_awkward().to_list() == [[0, 1], [2]]
    with pytest.raises(TypeError, match="requires grad"):
        pa.array(LoDTensor._wrap(torch.ones(3, requires_grad=True), t._lod))


def test_features_go_to_other_libraries():
    features = Features.from_list([{1: [10, 11], 3: [101]}, {}])
    array = pa.array(features)
    array.validate(full=True)
    assert array.type == pa.map_(pa.int64(), pa.list_(pa.int64()))
    assert array.to_pylist() == [[(1, [10, 11]), (3, [101])], []]
    assert np.shares_memory(Features.from_arrow(array).values.values, features.values.values)
    pl = pytest.importorskip("polars")
    assert pl.Series(features).to_list() == features.to_list()
    assert Features.from_arrow(pa.table({"f": features})["f"]) == features
    assert lodkit.concat([features, features]) == Features.from_arrow(pa.chunked_array([array, array]))


def test_columns_of_nothing_but_nulls():
    with pytest.raises(LoDError, match=r"x\[0\] is null"):
        LoDTensor.from_arrow(pa.nulls(3))
    with pytest.raises(LoDError, match=r"x\[0\]\[0\] is null"):
        LoDTensor.from_arrow(pa.array([[None], []]))
    assert LoDTensor.from_arrow(pa.array([[None], []])[1:]).to_list() == [[]]
