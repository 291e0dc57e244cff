"""lodkit.embedding_bags: bits of single calls, gradients, shared tables, what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from samples import ALL_TYPES

import lodkit
from lodkit import DTypeError, Features, LoDLevelError, LoDMismatchError, LoDTensor, RowIndexError, SelectedRows, Tape
from lodkit.jit import settings

rng = np.random.default_rng(0)
#: Ten tables are two groups.
WIDTHS = (4, 5, 4, 4, 4, 4, 4, 4, 4, 4, 4)


def draw(bags, longest, widths=WIDTHS, dtype=np.float32):
    tables = {f"t{k}": (8 * rng.standard_normal((20 + k, w))).astype(dtype) for k, w in enumerate(widths)}
    columns = {}
    for name, table in tables.items():
        lengths = rng.integers(0, longest + 1, bags)
        columns[name] = LoDTensor(rng.integers(0, len(table), lengths.sum()), [lengths])
    return tables, columns


def single_calls(tables, columns, weights=None, **attrs):
    """The columns of each table by a call of its own."""
    weights = weights or {}
    return np.concatenate(
        [
            lodkit.embedding_bag(t, columns[n], weights.get(n), **attrs).reshape(-1, t[0].size)
            for n, t in tables.items()
        ],
        axis=1,
    )


@pytest.mark.parametrize(
    ("pool", "dtype"),
    [
        *((pool, np.float32) for pool in ("sum", "mean", "max")),
        *((pool, np.float32) for pool in ("sqrt", "min", "prod", "logsumexp", "logmeanexp") if ALL_TYPES),
        ("mean", np.float16),
        *[("sum", np.int64)] * ALL_TYPES,
    ],
)
def test_bits_are_those_of_single_calls(pool, dtype):
    tables, columns = draw(7, 4, dtype=dtype)
    out = lodkit.embedding_bags(tables, columns, pool=pool, pad_value=2, padding_idx=2)
    np.testing.assert_array_equal(out, single_calls(tables, columns, pool=pool, pad_value=2, padding_idx=2))


@pytest.mark.parametrize(("bags", "longest"), [(1, 1), (300, 1), (1, 300), (2000, 40), (3, 70_000)])
@pytest.mark.parametrize("pool", ["sum", "mean", "max"])
def test_sizes_take_the_bits_of_single_calls(bags, longest, pool):
    """Groups of few numbers, tables by themselves, long segments; some tables of one batch one way, some another."""
    tables, columns = draw(bags, longest, (4, 5, 4))
    columns["t2"] = LoDTensor(np.zeros(bags, np.int32), [[1] * bags])
    out = lodkit.embedding_bags(tables, columns, pool=pool)
    np.testing.assert_array_equal(out, single_calls(tables, columns, pool=pool))


def test_threads_change_no_bits(monkeypatch):
    tables, columns = draw(400, 9)
    alone = lodkit.embedding_bags(tables, columns, pool="mean")
    for name, value in (("parallel_from", 1), ("chunk_rows", 7), ("block_rows", 64)):
        monkeypatch.setattr(settings, name, value)
    joined = dict.fromkeys(tables, columns["t0"])
    np.testing.assert_array_equal(lodkit.embedding_bags(tables, columns, pool="mean"), alone)
    assert lodkit.embedding_bags(tables, joined).shape == (400, sum(WIDTHS))


@pytest.mark.parametrize("weight_type", [np.float32, np.float16])
def test_weights(weight_type):
    tables, columns = draw(5, 4)
    weights = {name: rng.random(len(column.values)).astype(weight_type) + 1 for name, column in columns.items()}
    for pool in ("sum", "mean"):
        out = lodkit.embedding_bags(tables, columns, weights, pool=pool)
        np.testing.assert_array_equal(out, single_calls(tables, columns, weights, pool=pool))


def test_order_is_that_of_the_tables():
    tables, columns = draw(4, 3)
    backwards = dict(reversed(columns.items()))
    expected = single_calls(tables, columns)
    np.testing.assert_array_equal(lodkit.embedding_bags(tables, backwards), expected)
    np.testing.assert_array_equal(lodkit.embedding_bags([*tables.values()], [*columns.values()]), expected)
    parts = lodkit.embedding_bags(tables, columns, as_dict=True)
    assert [*parts] == [*tables]
    np.testing.assert_array_equal(np.concatenate([*parts.values()], axis=1), expected)


def test_one_lod_tensor_has_all_columns():
    """Small and large: some of its columns have threads of their own."""
    for bags, longest in ((5, 3), (3000, 9)):
        tables, columns = draw(bags, longest, (4, 4, 5))
        lengths = [column.lengths() for column in columns.values()]
        ids = np.concatenate([column.values for column in columns.values()])
        joined = LoDTensor(ids, [[bags] * 3, np.concatenate(lengths)])
        np.testing.assert_array_equal(lodkit.embedding_bags(tables, joined), single_calls(tables, columns))
    with pytest.raises(LoDLevelError, match="for 2 tables give one of 2 levels"):
        lodkit.embedding_bags([np.ones((3, 2))] * 2, joined)
    uneven = LoDTensor([0, 0, 0], [[1, 2], [1, 1, 1]])
    with pytest.raises(LoDMismatchError, match=r"columns\[1\] has 2 bags, columns\[0\] 1"):
        lodkit.embedding_bags([np.ones((3, 2))] * 2, uneven)
    bad = LoDTensor([0, 1, 2, 9], [[2, 2], [1, 1, 1, 1]])
    with pytest.raises(RowIndexError, match=r"columns\['b'\]\[1\] = 9 is outside \[0, 3\)"):
        lodkit.embedding_bags({"a": np.ones((3, 2)), "b": np.zeros((3, 2))}, bad)


def test_layouts_of_tables():
    """Strided, read-only, big-endian, of one and three dimensions, without rows, without columns."""
    wide = rng.standard_normal((6, 6))
    locked = rng.standard_normal((6, 3))
    locked.setflags(write=False)
    tables = {
        "strided": wide[:, ::2],
        "plain": rng.standard_normal((6, 3)),
        "locked": locked,
        "turned": np.asfortranarray(rng.standard_normal((6, 3))),
        "swapped": rng.standard_normal((6, 3)).astype(">f8"),
        "vector": rng.standard_normal(6),
        "items": rng.standard_normal((6, 2, 3)),
        "narrow": np.empty((6, 0)),
    }
    columns = {name: LoDTensor(rng.integers(0, 6, 9), [[2, 0, 3, 4]]) for name in tables}
    tables["empty"], columns["empty"] = np.empty((0, 2)), LoDTensor(np.zeros(0, np.int64), [[0, 0, 0, 0]])
    out = lodkit.embedding_bags(tables, columns)
    parts = [lodkit.embedding_bag(t, columns[n]).reshape(4, -1) for n, t in tables.items() if len(t)]
    np.testing.assert_array_equal(out, np.concatenate([*parts, np.zeros((4, 2))], axis=1))
    none = {name: LoDTensor(np.zeros(0, np.int64), [[]]) for name in tables}
    assert lodkit.embedding_bags(tables, none).shape == (0, out.shape[1])


@pytest.mark.parametrize("is_sparse", [True, False])
def test_a_shared_table_has_one_gradient(is_sparse):
    items, users = lodkit.parameter(rng.standard_normal((6, 4))), lodkit.parameter(rng.standard_normal((5, 2)))
    tables = {"clicked": items, "user": users, "bought": items}
    columns = {
        "clicked": LoDTensor([2, 2, 5], [[2, 0, 1]]),
        "bought": LoDTensor([2, 0], [[0, 1, 1]]),
        "user": LoDTensor([1, 1, 4], [[1, 1, 1]]),
    }
    weights = {name: rng.random(len(column.values)) for name, column in columns.items()}
    factor = rng.standard_normal((3, 10))

    def loss(call, *args, **attrs):
        return (call(tables, columns, *args, **attrs) * factor).sum()

    for args in ((), (weights,)):
        for pool in ("sum", "mean"):
            with Tape() as tape:
                total = loss(lodkit.embedding_bags, *args, pool=pool, is_sparse=is_sparse)
            grads = tape.gradient(total, [items, users])
            with Tape() as tape:
                ids = [columns[n] for n in tables]
                ws = [args[0][n] if args else None for n in tables]
                parts = [
                    lodkit.embedding_bag(t, i, w, pool=pool) for t, i, w in zip(tables.values(), ids, ws, strict=True)
                ]
                total = (lodkit.concat_columns(*parts) * factor).sum()
            expected = tape.gradient(total, [items, users])
            for grad, other in zip(grads, expected, strict=True):
                assert isinstance(grad, SelectedRows) == is_sparse
                found = grad.to_dense() if is_sparse else grad
                np.testing.assert_allclose(found, other.to_dense(), rtol=1e-12, atol=1e-12)


def test_gradients_by_weights_and_of_parts():
    table = lodkit.parameter(np.arange(8.0).reshape(4, 2))
    weights = [lodkit.parameter(np.array([1.0, 2.0])), lodkit.parameter(np.array([3.0]))]
    columns = [LoDTensor([1, 3], [[1, 1]]), LoDTensor([2], [[1, 0]])]
    with Tape() as tape:
        parts = lodkit.embedding_bags([table, table], columns, weights, as_dict=True)
        total = parts[0].sum() + 10 * parts[1].sum()
    by_table, first, second = tape.gradient(total, [table, *weights])
    assert by_table.to_dense().tolist() == [[0, 0], [1, 1], [30, 30], [2, 2]]
    assert (first.tolist(), second.tolist()) == ([5.0, 13.0], [90.0])


def refused(error, match, tables, columns, weights=None, **attrs):
    with pytest.raises(error, match=match):
        lodkit.embedding_bags(tables, columns, weights, **attrs)


def test_errors_name_the_column():
    a, b = np.ones((3, 2)), np.ones((5, 4))
    tables, ids = {"a": a, "b": b}, LoDTensor([0, 1], [[1, 1]])
    good = {"a": ids, "b": ids}
    for bad in (-1, 3, 2**40):
        refused(RowIndexError, r"columns\['a'\]\[1\] = ", tables, {**good, "a": LoDTensor([0, bad], [[1, 1]])})
    refused(RowIndexError, r"columns\['b'\]\[0\] = 9", tables, {**good, "b": LoDTensor([9], [[1, 0]])})
    refused(RowIndexError, r"columns\['e'\]\[0\] = 0", {"a": a, "e": np.ones((0, 2))}, {"a": ids, "e": ids})
    refused(
        LoDMismatchError, r"columns\['b'\] has 1 bags, columns\['a'\] 2", tables, {**good, "b": LoDTensor([0], [[1]])}
    )
    refused(ValueError, r"columns lacks \['b'\]", tables, {"a": ids})
    refused(ValueError, r"columns has \['c'\], which tables lacks", tables, {**good, "c": ids})
    refused(ValueError, r"weights lacks \['b'\]", tables, good, {"a": np.ones(2)})
    refused(ValueError, r"there are 2 tables, and 1 columns", [a, b], [ids])
    refused(TypeError, "tables is a dictionary, and columns a list", tables, [ids, ids])
    refused(TypeError, "tables must be a dictionary", a, good)
    refused(TypeError, r"call features.pool", tables, Features.from_list([{1: [0]}]))
    refused(ValueError, "there are no tables", {}, {})
    refused(DTypeError, r"table of columns\['b'\] is float32", {"a": a, "b": b.astype(np.float32)}, good)
    refused(DTypeError, r"columns\['b'\] must be integers", tables, {**good, "b": LoDTensor([0.5], [[1, 0]])})
    refused(LoDLevelError, r"columns\['b'\] has lod_level 2", tables, {**good, "b": LoDTensor([0], [[1, 1], [1, 0]])})
    refused(TypeError, r"columns\['b'\] is ndarray", tables, {**good, "b": np.zeros(2, np.int64)})
    refused(RowIndexError, r"columns\['a'\]: padding_idx = 4", tables, good, padding_idx=4)
    refused(
        ValueError, r"columns\['a'\]: weights have a meaning", tables, good, dict.fromkeys("ab", np.ones(2)), pool="max"
    )
    refused(lodkit.LodkitError, r"columns\['b'\]: ", tables, good, {"a": np.ones(2), "b": np.ones(3)})
    refused(DTypeError, "mean", {"a": np.ones((3, 2), np.int64)}, {"a": ids}, pool="mean")


def test_numbers_of_tables_are_checked():
    table, ids = np.ones((3, 2)), LoDTensor([0], [[1]])
    for tables in ([], [1], [-1], [0, 2]):
        with pytest.raises(ValueError, match="must name every table"):
            lodkit.embedding_bag_columns(table, ids, tables=tables)
    with pytest.raises(TypeError, match="list of integers"):
        lodkit.embedding_bag_columns(table, ids, tables=[0.5])
    with pytest.raises(TypeError, match=r"columns\[0\] is ndarray"):
        lodkit.embedding_bag_columns(table, np.zeros(3, np.int64), tables=[0])
    for inputs in ((ids, ids), (table, ids, ids, ids)):
        with pytest.raises(TypeError, match="a LoDTensor is among the first"):
            lodkit.embedding_bag_columns(*inputs, tables=[0, 1][: len(inputs) // 2])
    nested = LoDTensor([0, 1], [[1, 1], [1, 1]])
    for columns in ((nested, nested), (ids, nested)):
        with pytest.raises(LoDLevelError, match="has lod_level 2"):
            lodkit.embedding_bag_columns(table, *columns, tables=[0, 0])
    with pytest.raises(LoDLevelError, match="has lod_level 2"):
        lodkit.embedding_bag_columns(table, nested, np.ones(2), tables=[0])
    assert lodkit.embedding_bag_columns(table, nested, tables=[0, 0]).shape == (1, 4)
    with pytest.raises(TypeError, match="1 tables and 2 columns"):
        lodkit.embedding_bag_columns(table, ids, tables=[0, 0])


@pytest.mark.parametrize("names", [10**20, "ab", ["a"], ["a", "b", "c"]])
def test_names_are_one_for_each_column(names):
    table, column = np.ones((3, 2)), LoDTensor([2, 0], [[2]])
    with pytest.raises(ValueError, match="names must be a list of 2 names"):
        lodkit.embedding_bag_columns(table, column, column, tables=[0, 0], names=names)
