"""SelectedRows from and to sparse COO tensors: flags, memory, leaks."""

from __future__ import annotations

import gc
import resource
import sys

import numpy as np
import pytest

from lodkit import SelectedRows

torch = pytest.importorskip("torch")


def rows(count=4):
    return SelectedRows(np.arange(count)[::-1].copy(), np.ones((count, 2), np.float32), 2 * count)


def test_flags():
    x = rows()
    assert not x.to_torch().is_coalesced()
    assert x.merge().to_torch().is_coalesced()
    made = SelectedRows.from_torch(x.to_torch().coalesce())
    assert made.is_merged
    assert not SelectedRows.from_torch(x.to_torch()).is_merged
    with pytest.raises(ValueError, match="read-only"):
        made.rows[0] = 1


def test_a_value_that_is_read_only():
    x = rows()
    x.value.flags.writeable = False
    assert x.to_torch().to_dense().sum() == 8


def test_values_are_shared_and_rows_are_not():
    x = rows()
    tensor = x.to_torch()
    x.value[0] = 7
    assert tensor._values()[0].tolist() == [7.0, 7.0]
    tensor._indices()[0, 0] = 0
    assert x.rows.tolist() == [3, 2, 1, 0]
    back = SelectedRows.from_torch(tensor)
    tensor._indices()[0, 0] = 99
    assert back.rows.tolist() == [0, 2, 1, 0]
    del tensor, x
    gc.collect()
    assert back.value.tolist() == [[7.0, 7.0], [1.0, 1.0], [1.0, 1.0], [1.0, 1.0]]


def test_nothing_leaks():
    x = rows(100)
    before = sys.getrefcount(x.value)
    for _ in range(1000):
        SelectedRows.from_torch(x.to_torch())
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(10_000):
        SelectedRows.from_torch(x.to_torch())
    gc.collect()
    now = sys.getrefcount(x.value)  # an assert would hold one itself
    assert now == before
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - peak < 4096  # kilobytes
