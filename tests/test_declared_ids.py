"""Ids that a launcher declares: it gets them plain however they are given, and plans hand plain ones on as they are."""

from __future__ import annotations

import numpy as np
import pytest
from calls import functions_of

import lodkit
from lodkit import Dense, LoDTensor
from lodkit.lod import values_of
from lodkit.registry import Ids, operators

FLAT = np.array([3, 1, 4, 1, 5])
TABLE, WEIGHTS = np.ones((50, 16), np.float32), np.ones(5, np.float32)
#: Ids of every layout and type that is taken.
TAKEN = {
    "int64": FLAT,
    "int32": FLAT.astype(np.int32),
    "uint8": FLAT.astype(np.uint8),
    "strided": np.repeat(FLAT, 2)[::2],
    "reversed": FLAT[::-1].copy()[::-1],
    "of the other byte order": FLAT.astype(">i8"),
    "of none": np.zeros(0),
}


@pytest.fixture
def own_operators(monkeypatch):
    """Operators of a test are registered for that test."""
    monkeypatch.setattr(operators, "OPS", operators.Registry(lodkit.OPS))


@pytest.fixture
def count(own_operators):
    """An operator over ids whose launcher notes what it gets, and another over ids in a LoDTensor."""
    got = []

    @lodkit.op(rowwise=True)
    def double(ids: Dense, /, *, times: int = 2) -> Dense:
        """Double."""
        return times * ids

    @lodkit.op
    def count(ids: LoDTensor, /, *, times: int = 2) -> Dense:
        """Count."""
        return times * ids.lengths()

    @double.kernel("cpu", "cuda")
    def double_ids(on, ids: Ids, /, *, times, out=None):
        got.append(ids)
        return np.multiply(ids, times, out=out)

    @count.kernel("cpu", "cuda")
    def count_ids(on, ids: Ids, /, *, times, out=None):
        flat, bags = ids
        got.append(flat)
        return np.multiply(bags.lengths(), times, out=out)

    return double, count, got


def check_plain(got, flat):
    """Compare the only array that a launcher got with ids, and forget it."""
    (array,) = got
    got.clear()
    assert type(array) is np.ndarray and array.dtype is np.dtype(np.int64) and array.flags.c_contiguous
    np.testing.assert_array_equal(array, flat)
    return array


@pytest.mark.parametrize("name", TAKEN)
def test_a_launcher_gets_plain_ids(count, name):
    double, count, got = count
    flat = TAKEN[name]
    bags = LoDTensor(flat, [[2, len(flat) - 2] if len(flat) else [0]])
    for _ in range(3):
        for x, op in ((flat, double), (bags, double), (bags, count)):
            result = op(x)
            made = check_plain(got, flat)
            assert (made is flat) == (name == "int64")
            np.testing.assert_array_equal(values_of(result), 2 * (bags.lengths() if op is count else flat))
            op.select(x)(values_of(x) if op is double else x, times=2)
            check_plain(got, flat)
            op(x, out=np.empty_like(values_of(result)))
            check_plain(got, flat)


def test_ids_in_lists_columns_and_tables(count):
    double, count, got = count
    for _ in range(2):
        double(FLAT.tolist()), check_plain(got, FLAT)
        double(7), check_plain(got, 7)
        double(FLAT.reshape(1, 5).T[:, ::-1]), check_plain(got, FLAT[:, None])
        count(LoDTensor(FLAT[:, None], [[2, 3]])), check_plain(got, FLAT)
        count(LoDTensor(FLAT[:, None].astype(np.int32), [[1, 1], [2, 3]])), check_plain(got, FLAT)


def test_tensors_are_ids(count):
    torch = pytest.importorskip("torch")
    double, count, got = count
    for kind in (torch.int64, torch.int32):
        flat = torch.tensor(FLAT.tolist(), dtype=kind)
        for _ in range(4):
            assert double(flat).tolist() == [6, 2, 8, 2, 10]
            made = check_plain(got, FLAT)
            assert np.shares_memory(made, flat.numpy()) == (kind is torch.int64)
            assert count(LoDTensor(flat, [[2, 3]])).tolist() == [4, 6]
            check_plain(got, FLAT)


def test_other_ids_are_refused_each_time(count):
    double, count, got = count
    double(FLAT), count(LoDTensor(FLAT, [[2, 3]]))
    got.clear()
    for _ in range(2):
        with pytest.raises(lodkit.DTypeError, match="ids must be integers, not float64"):
            double(FLAT / 2)
        with pytest.raises(lodkit.DTypeError, match="ids must be integers, not bool"):
            count(LoDTensor(FLAT > 2, [[2, 3]]))
        with pytest.raises(lodkit.LoDLevelError, match="count needs ids with lod_level >= 1; attach lengths"):
            count(LoDTensor(FLAT))
        with pytest.raises(lodkit.LoDLevelError, match=r"count takes one id a row, got ids of shape \(5, 2\)"):
            count(LoDTensor(np.stack([FLAT, FLAT], 1), [[2, 3]]))
    assert not got


def test_a_selected_kernel_of_rows_refuses_sequences():
    bags = LoDTensor(FLAT, [[2, 3]])
    kernel = lodkit.OPS["lookup_table"].select(TABLE, bags)
    np.testing.assert_array_equal(kernel(TABLE, FLAT.astype(np.int32)), TABLE[FLAT])
    with pytest.raises(TypeError, match=r"a LoDTensor is not an array; use \.values"):
        kernel(TABLE, bags)


def test_ids_that_may_be_none_of_an_operator_without_attributes(own_operators):
    @lodkit.op
    def pick(values: Dense, positions: Dense | None = None, /) -> Dense:
        """Rows at positions, or all of them."""
        return values if positions is None else values[positions]

    @pick.kernel("cpu", "cuda")
    def pick_rows(on, values, ids: Ids, /):
        assert ids is None or ids.dtype == np.int64
        return values if ids is None else values[ids]

    for _ in range(2):
        np.testing.assert_array_equal(pick(FLAT), FLAT)
        np.testing.assert_array_equal(pick(FLAT, np.array([2, 0])), FLAT[[2, 0]])
        np.testing.assert_array_equal(pick(FLAT, np.array([2, 0], np.int32)), FLAT[[2, 0]])


def test_attributes_may_have_any_names(own_operators):
    @lodkit.op
    def add_names(ids: Dense, /, *, function: int, convert_ids: int, launch: int) -> Dense:
        """Add attributes that are called like what a compiled launcher names."""
        return ids + (function + convert_ids + launch)

    @add_names.kernel("cpu", "cuda")
    def add_to_ids(on, ids: Ids, /, *, function, convert_ids, launch):
        return ids + (function + convert_ids + launch)

    for kind in (np.int64, np.int32):
        found = add_names(np.array([1, 2], kind), function=10, convert_ids=20, launch=30)
        np.testing.assert_array_equal(found, [61, 62])


def test_ids_are_no_inputs_of_any_number(own_operators):
    @lodkit.op
    def first_of(*many: Dense) -> Dense:
        """Return the first."""
        return many[0]

    with pytest.raises(ValueError, match="many: Ids is for one input, and first_of takes any number of many; convert"):

        @first_of.kernel("cpu", "cuda")
        def find_first(on, *many: Ids):
            return many[0]


def test_ids_are_declared_by_launchers_of_several_devices(count):
    double, *_ = count

    def double_here(ids: Ids, /, *, times):
        return ids

    with pytest.raises(ValueError, match=r"ids: Ids is for launchers of several .*, got .cpu.; annotate"):
        double.kernel("cpu")(double_here)


@pytest.mark.jit
@pytest.mark.parametrize("kind", [np.int64, np.int32])
def test_a_call_by_ids_passes_few_functions(kind):
    flat, converts = FLAT.astype(kind), kind is np.int32
    bags = LoDTensor(flat, [[2, 0, 3]])
    assert len(functions_of(lambda: lodkit.embedding_bag(TABLE, bags))) <= 3 + 2 * converts
    assert len(functions_of(lambda: lodkit.embedding_bag(TABLE, bags, WEIGHTS))) <= 4 + 2 * converts
    assert len(functions_of(lambda: lodkit.lookup_table(TABLE, flat))) <= 6 + 4 * converts
