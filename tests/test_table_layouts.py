"""Tables that kernels cannot read in place: transposed, slices of columns, of foreign byte order."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

import lodkit
from lodkit import LoDTensor

HEIGHT, WIDTH = 20_000, 16
TABLE = np.random.default_rng(0).normal(size=(HEIGHT, WIDTH)).astype(np.float32)
IDS = LoDTensor([3, 19_999, 7, 3, 0, 7], [[3, 0, 2, 1]])
WEIGHTS = np.arange(6, dtype=np.float32) - 2

LAYOUTS = {
    "transposed": np.asfortranarray,
    "some columns": lambda x: np.concatenate([x, x], axis=1)[:, WIDTH:],
    "every second row": lambda x: np.repeat(x, 2, axis=0)[::2],
    "foreign byte order": lambda x: x.astype(x.dtype.newbyteorder()),
}

CALLS = {
    "lookup": lambda table: lodkit.lookup_table(table, IDS.values),
    "lookup of pairs": lambda table: lodkit.lookup_table(table, IDS.values.reshape(2, 3), padding_idx=7),
    "gather": lambda table: lodkit.gather(table, [-1, 2], wrap=True),
    "rows of matrices": lambda table: lodkit.gather(table.reshape(HEIGHT, 4, 4), [5, 5]),
    "max_grad": lambda table: lodkit.embedding_bag_grad(table, IDS, np.ones((4, WIDTH), "f4"), pool="max"),
    "prod_grad": lambda table: lodkit.embedding_bag_grad(
        table, IDS, np.ones((4, WIDTH), "f4"), pool="prod", padding_idx=7
    ),
    "weights": lambda table: lodkit.embedding_bag(table, IDS, WEIGHTS, pool="mean", padding_idx=7),
    "weights_grad": lambda table: lodkit.embedding_bag_weights_grad(
        table, IDS, np.ones((4, WIDTH), "f4"), WEIGHTS, pool="mean", padding_idx=7
    ),
    "absent padding": lambda table: lodkit.embedding_bag(table, IDS, padding_idx=9),
    **{
        pool: lambda table, pool=pool: lodkit.embedding_bag(table, IDS, pool=pool, padding_idx=3)
        for pool in ("sum", "max", "logsumexp")
    },
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("call", CALLS)
def test_few_rows_are_read_without_a_copy_of_all(call, layout):
    expected, table = CALLS[call](TABLE), LAYOUTS[layout](TABLE)
    CALLS[call](table)  # which may compile
    tracemalloc.start()
    try:
        found = CALLS[call](table)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < TABLE.nbytes / 4, "the table was copied"
    if isinstance(expected, lodkit.SelectedRows):
        np.testing.assert_array_equal(found.rows, expected.rows)
        found, expected = found.value, expected.value
    assert found.dtype.isnative
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_bad_id_is_named(layout):
    table = LAYOUTS[layout](TABLE)
    for bad in (-1, HEIGHT):
        for ids in (LoDTensor([1, bad, 2], [[2, 1]]), [1, bad, 2]):
            call = lodkit.embedding_bag if isinstance(ids, LoDTensor) else lodkit.lookup_table
            with pytest.raises(lodkit.RowIndexError, match=rf"\[1\] = {bad} is outside \[0, {HEIGHT}\)"):
                call(table, ids)


def test_halves_of_foreign_byte_order():
    halves = TABLE.astype(np.float16)
    found = lodkit.embedding_bag(halves.astype(halves.dtype.newbyteorder()), IDS)
    np.testing.assert_array_equal(found, lodkit.embedding_bag(halves, IDS))
