"""Sizes that do not fit int64, and structure that nobody can write."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import check_locked, check_locked_array

import lodkit
from lodkit import LoDError, LoDTensor, SelectedRows
from lodkit.arrays.sizes import checked_size, size_product, size_products, total_size
from lodkit.lod.offsets import lengths_to_offsets

N = 1 << 61  # eight of these wrap round to 0
ZERO = np.zeros((N, 0), np.float16)  # which takes no memory
TALL = LoDTensor(ZERO, [[N]])
NESTED = LoDTensor(ZERO, [[1], [N]])
EIGHT = LoDTensor([0] * 8, [[8]])
GRAD = np.zeros((0, 0), np.float16)

WRAPS = {
    "gather_ranges": (lambda: lodkit.gather_ranges(ZERO, [[[0, N]] * 8]), "lengths of ranges"),
    "gather_ranges_grad": (lambda: lodkit.gather_ranges_grad(ZERO, [[[0, N]] * 8], GRAD), "lengths of ranges"),
    "lengths_gather": (lambda: lodkit.lengths_gather(ZERO, [N], [0] * 8), "segments with these ids"),
    "lengths_gather_grad": (lambda: lodkit.lengths_gather_grad(ZERO, [N], [0] * 8, GRAD), "segments with these ids"),
    "sequence_expand": (lambda: lodkit.sequence_expand(TALL, EIGHT), "level 0, .* selection of x"),
    "sequence_expand_grad": (lambda: lodkit.sequence_expand_grad(TALL, EIGHT, GRAD), "level 0, .* selection of x"),
    "sequence_slice": (lambda: lodkit.sequence_slice(TALL, EIGHT), "ranges from starts to stops"),
    "sequence_slice_grad": (lambda: lodkit.sequence_slice_grad(TALL, GRAD, EIGHT), "ranges from starts to stops"),
    "sequence_select": (lambda: lodkit.sequence_select(NESTED, EIGHT, level=0), "level 1, .* selection of x"),
    "sequence_select_grad": (
        lambda: lodkit.sequence_select_grad(NESTED, EIGHT, GRAD, level=0),
        "level 1, .* selection of x",
    ),
    "sequence_concat": (lambda: lodkit.sequence_concat(*[TALL] * 8), "lengths of all xs"),
    "sequence_concat_grad": (lambda: lodkit.sequence_concat_grad(GRAD, *[TALL] * 8), "lengths of all xs"),
    "merge_features": (lambda: lodkit.merge_features(*[TALL] * 8), "lengths of all xs"),
    "stack_features": (lambda: lodkit.stack_features(*[TALL] * 8), "level 1, of all xs"),
    "concat": (lambda: lodkit.concat([TALL] * 8), "lengths of all tensors"),
    "indices": (lambda: TALL[[0] * 8], r"level 0, of all that t\[indices\] takes"),
    "indices of structure": (lambda: LoDTensor(None, [[N, 5]])[[0] * 8 + [1]], r"t\[indices\]"),
    "lengths": (lambda: LoDTensor(None, [[N] * 8]), r"recursive_sequence_lengths\[0\] add up to"),
    "concat_selected_rows": (
        lambda: lodkit.concat_selected_rows(*[SelectedRows([0], np.ones((1, 1)), N)] * 8),
        "heights? of all parts",
    ),
    "match_matrix": (
        lambda: lodkit.match_matrix(
            LoDTensor(np.zeros((1 << 32, 0), "f4"), [[1 << 32]]),
            LoDTensor(np.zeros((1 << 32, 0), "f4"), [[1 << 32]]),
            np.zeros((0, 1, 0), "f4"),
        ),
        "rows of x",
    ),
}


@pytest.mark.parametrize("name", WRAPS)
def test_sums_that_do_not_fit_raise(name):
    """They wrapped round to 0 or to a few, and kernels wrote as many rows as there are."""
    call, what = WRAPS[name]
    with pytest.raises(LoDError, match=what) as error:
        call()
    assert error.match(r"(18446744073709551616|18446744073709551621), more than int64 holds \(9223372036854775807")


@pytest.mark.parametrize("widths", [(2**63 - 1, 0), (2**62, 0), (1, 2**63 - 1), (2**63 - 1, 2**63 - 1)])
def test_padding_that_does_not_fit_writes_nothing(widths):
    before, behind = widths
    buffer, data = np.full(16, 7.0), np.arange(8.0)
    with pytest.raises(LoDError, match=r"padding_width.*more than int64 holds"):
        lodkit.add_padding(data, [1, 4, 3, 0], padding_width=before, end_padding_width=behind, out=buffer[4:8])
    assert (buffer == 7).all()
    for remove in (lodkit.remove_padding, lodkit.gather_padding):
        with pytest.raises(LoDError, match="padding"):
            remove(data, [1, 4, 3, 0], padding_width=before, end_padding_width=behind)
    for result in lodkit.gather_padding(data[:0], [], padding_width=before, end_padding_width=0):
        assert result == 0


def test_sizes_are_exact_up_to_the_bound():
    most = 2**63 - 1
    assert total_size([most - 1, 1], "x") == total_size(np.array([most]), "x") == size_product((1, most), "x") == most
    assert size_products(np.array([most, 0]), 1, "x").tolist() == [most, 0]
    assert lengths_to_offsets(np.array([most, 0])).tolist() == [0, most, most]
    for call in (
        lambda: total_size([most, 1], "x"),
        lambda: total_size(np.array([most, most]), "x"),
        lambda: size_product((2, 1 << 62), "x"),
        lambda: size_products(np.array([3, 1 << 32]), np.array([3, 1 << 31]), "x"),
        lambda: checked_size(1 << 63, "x"),
        lambda: lengths_to_offsets(np.array([most, 1]), "x"),
    ):
        with pytest.raises(LoDError, match=r"^x (is|add up to) \d+, more than int64 holds"):
            call()
    with pytest.raises(LoDError, match=r"x\[1\] = -1 is negative"):
        lengths_to_offsets(np.array([3, -1]), "x")


def test_long_lengths_are_clipped_not_cut_short():
    """Lengths near the largest number: a start and a length did not add up."""
    x = LoDTensor(ZERO, [[N]])
    huge = np.iinfo(np.int64).max
    assert lodkit.sequence_slice(x, 1, huge, by="lengths", clip=True).lod() == [[0, N - 1]]
    with pytest.raises(lodkit.RowIndexError, match="is not inside sequence 0"):
        lodkit.sequence_slice(x, 1, huge, by="lengths")


@pytest.mark.parametrize("count", [3, 5000])  # copied, or handed over
def test_structure_cannot_be_made_writable(count):
    lengths, values = np.full(count, 2), np.zeros((2 * count, 1))
    t = LoDTensor(values, [[count], lengths])
    ids, rows = np.repeat(np.arange(count), 2), np.arange(count)[::-1]
    for x in (
        t,
        t[:],
        t[[0]],
        t.slice(0),
        t.drop_level(0),
        t.append_level(),
        LoDTensor(values, lod=t.lod()),
        LoDTensor.from_offsets(values, [0, 2 * count], np.arange(2 * count + 1), absolute=True),
        LoDTensor.from_segment_ids(values, ids),
        LoDTensor.from_uniform(values.reshape(count, 2)),
        LoDTensor.from_padded(values.reshape(count, 2), lengths),
        LoDTensor.from_nested([[1.0, 2.0], []] * count),
        lodkit.concat([t, t]),
        lodkit.lod_rank_table(t.drop_level(0)),
        SelectedRows(rows, values[:count], count),
        SelectedRows(np.repeat(rows, 2), values, count).merge(),
    ):
        check_locked(x)
    lengths[:], ids[:], rows[:] = -1, -1, -1  # what was given is nobody's structure
    assert t.lod()[1][-1] == 2 * count


def _handed(count):
    t = LoDTensor(np.zeros((2 * count, 1)), [[count], [2] * count])
    s, table = SelectedRows(np.arange(count), np.zeros((count, 1)), count), lodkit.lod_rank_table(t.drop_level(0))
    functions = {"offsets": t.offsets, "outer": lambda: t.offsets(0), "row_offsets": lambda: t.row_offsets(0)}
    return functions | {"rows": lambda: s.rows, "index": lambda: table.index, "running": lambda: table.running}


@pytest.mark.parametrize("count", [3, 5000])
@pytest.mark.parametrize("name", ["offsets", "outer", "row_offsets", "rows", "index", "running"])
@pytest.mark.filterwarnings("ignore:Setting the (shape|strides|dtype):DeprecationWarning")
def test_what_one_caller_got_is_not_what_others_get(name, count):
    """Shapes and dtypes change in place, whatever locks the numbers: files and exports were wrong afterwards."""
    handed = _handed(count)[name]
    expected = handed().copy()
    changes = (
        lambda a: setattr(a, "shape", (len(expected), 1)),
        lambda a: setattr(a, "strides", (0,)),
        lambda a: setattr(a, "dtype", np.float64),
        lambda a: a.__setstate__((1, (1,), np.dtype("f4"), False, bytes(4))),
    )
    for change in changes:
        array = handed()
        check_locked_array(array)
        change(array)
        if isinstance(array.base, np.ndarray):
            change(array.base)
        assert handed().dtype == np.int64
        np.testing.assert_array_equal(handed(), expected)


def test_files_and_exports_are_right_after_such_changes(tmp_path):
    t = LoDTensor(np.arange(4.0), [[1, 3]])
    t.offsets().__setstate__((1, (3, 1), np.dtype("f8"), False, bytes(24)))
    lodkit.save(tmp_path / "t.npz", t)
    assert lodkit.load(tmp_path / "t.npz").equals(t)
    arrow = pytest.importorskip("pyarrow")
    assert arrow.array(t).to_pylist() == [[0.0], [1.0, 2.0, 3.0]]


def test_no_rows_are_handed_out():
    s = SelectedRows([], np.zeros((0, 2)), 3)
    assert s.rows.shape == (0,) and s.rows.dtype == np.int64
    check_locked(s)
