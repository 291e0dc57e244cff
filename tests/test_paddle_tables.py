"""Paddle's own values: tables and ids, SelectedRows, arrays of tensors, numbers in slots."""

from __future__ import annotations

import numpy as np
import pytest
from inferred import described, run_as_inferred

import lodkit
from lodkit import LoDTensor, SelectedRows, VarDesc
from lodkit.paddle import SlotError, infer_op, run_op

W = np.arange(12.0).reshape(6, 2)


def gradient(run, source, by):
    with lodkit.Tape() as tape:
        source = tape.watch(source) if isinstance(source, np.ndarray) else source
        out = run(source)
    return tape.gradient(out, [source], output_gradients=by)[0]


def test_a_sum_of_selected_rows_lists_each_row_once():
    a, b = SelectedRows([1, 0, 1], [[1.0], [2.0], [3.0]], 4), SelectedRows([3, 0], [[5.0], [7.0]], 4)
    for xs, expected in (([a, b], [[9.0], [4.0], [0.0], [5.0]]), ([a], [[2.0], [4.0], [0.0], [0.0]])):
        out = run_as_inferred("sum", {"X": xs})["Out"]
        assert len(set(out.rows.tolist())) == len(out.rows)
        np.testing.assert_array_equal(out.to_dense(), expected)
    dense = run_as_inferred("sum", {"X": [a, np.ones((4, 1))]})["Out"]
    np.testing.assert_array_equal(dense, [[3.0], [5.0], [1.0], [1.0]])
    grad = gradient(lambda x: run_op("sum", {"X": [x, b]})["Out"], a, np.array([[1.0], [2.0], [3.0]]))
    np.testing.assert_array_equal(grad, [[2.0], [1.0], [2.0]])


def test_arrays_of_tensors_are_added_element_by_element():
    out = run_op("sum", {"X": [[np.ones(2), np.ones(1)], [np.ones(2)]]})["Out"]
    assert [x.tolist() for x in out] == [[2.0, 2.0], [1.0]]
    with pytest.raises(SlotError, match=r"X\[1\] is no array of tensors"):
        run_op("sum", {"X": [[np.ones(2)], np.ones(2)]})


@pytest.mark.parametrize("name", ["lookup_table", "lookup_table_v2"])
def test_a_table_of_selected_rows_has_a_row_for_every_id(name):
    table, ids = SelectedRows([4, 0, 7], [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], 10), np.array([0, 4, 0])
    ids = ids[:, None] if name == "lookup_table" else ids
    out = run_as_inferred(name, {"W": table, "Ids": LoDTensor(ids, [[1, 2]])})["Out"]
    np.testing.assert_array_equal(out.values, [[3, 4], [1, 2], [3, 4]])
    padded = run_op(name, {"W": table, "Ids": ids}, {"padding_idx": 4})["Out"]
    np.testing.assert_array_equal(padded, [[3, 4], [0, 0], [3, 4]])
    grad = gradient(lambda w: run_op(name, {"W": w, "Ids": ids}, {"padding_idx": 4})["Out"], table, np.ones((3, 2)))
    # Of the value, row by row.
    np.testing.assert_array_equal(grad, [[0, 0], [2, 2], [0, 0]])
    missing = np.where(ids == 4, 5, ids)
    np.testing.assert_array_equal(run_op(name, {"W": table, "Ids": missing}, {"padding_idx": 5})["Out"][1], [0, 0])
    with pytest.raises(lodkit.RowIndexError, match=r"ids\[1\] = 5 is no row of x; add the row"):
        run_op(name, {"W": table, "Ids": missing})
    with pytest.raises(lodkit.RowIndexError, match="10"):
        run_op(name, {"W": table, "Ids": ids + 10})


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.uint8, bool, np.int32, np.int64, np.float16])
@pytest.mark.parametrize("padding_idx", [-1, 2])
def test_tables_of_every_type(dtype, padding_idx):
    table, attrs = np.array([[1, 0], [3, 1], [5, 7]]).astype(dtype), {"padding_idx": padding_idx}
    out = run_as_inferred("lookup_table", {"W": table, "Ids": np.array([[1], [2]])}, attrs)["Out"]
    assert out.dtype == dtype
    np.testing.assert_array_equal(out, table[[1, 2]] * np.array([[1], [padding_idx == -1]]))


def test_several_ids_a_row_are_pooled_side_by_side():
    ids = LoDTensor(np.array([[[4], [3]], [[2], [1]], [[0], [4]]]), [[2, 0, 1]])
    slots = {"W": W, "Ids": ids}
    out = run_as_inferred("fused_embedding_seq_pool", slots)["Out"]
    np.testing.assert_array_equal(out, [[12, 14, 8, 10], [0, 0, 0, 0], [0, 1, 8, 9]])
    unknown = {slot: desc.unknown_batch() for slot, desc in described(slots).items()}
    assert infer_op("fused_embedding_seq_pool", unknown)["Out"].dims == (-1, 4)


@pytest.mark.parametrize("is_sparse", [False, True])
def test_the_table_of_several_ids_a_row_has_a_gradient(is_sparse):
    ids = LoDTensor(np.array([[[4], [3]], [[2], [1]], [[0], [4]]]), [[2, 0, 1]])
    attrs = {"padding_idx": 3, "is_sparse": is_sparse}

    def pooled(table):
        return run_op("fused_embedding_seq_pool", {"W": table, "Ids": ids}, attrs)["Out"]

    np.testing.assert_array_equal(pooled(W)[0], [12, 14, 2, 3])
    grad = gradient(pooled, W.copy(), np.arange(1.0, 13).reshape(3, 4))
    grad = grad.to_dense() if is_sparse else grad
    np.testing.assert_array_equal(grad, [[9, 10], [3, 4], [1, 2], [0, 0], [12, 14], [0, 0]])


def test_ids_of_several_variables_are_split_together():
    ids = [np.array([[0], [2]]), np.array([[6], [2]]), np.empty((0, 1), np.int64)]
    out = run_as_inferred("split_ids", {"Ids": ids}, {"num_outputs": 3})["Out"]
    assert [part.tolist() for part in out] == [[[0], [6]], [], [[2]]]


def test_selected_rows_are_split_in_their_order():
    rows, value = [0, 5, 7, 4, 9, 7], np.arange(6.0)[:, None]
    parts = run_as_inferred("split_ids", {"Ids": SelectedRows(rows, value, 20)}, {"num_outputs": 3})["Out"]
    assert [p.rows.tolist() for p in parts] == [[0, 9], [7, 4, 7], [5]]
    assert [p.value.ravel().tolist() for p in parts] == [[0, 4], [2, 3, 5], [1]]
    assert {p.height for p in parts} == {20}
    with pytest.raises(SlotError, match="one variable of SelectedRows, got 2"):
        run_op("split_ids", {"Ids": [parts[0], parts[1]]}, {"num_outputs": 3})


@pytest.mark.parametrize("shape", [(3,), (1, 3), (3, 1)])
def test_offsets_of_any_shape(shape):
    x, y = LoDTensor(np.ones((3, 2)), [[3]]), np.array([0, 1, 3], np.int32).reshape(shape)
    out = run_as_inferred("lod_reset", {"X": x, "Y": y})["Out"]
    assert out.recursive_sequence_lengths() == [[1, 2]]


@pytest.mark.parametrize("shape", [(1, 2), (2, 1)])
def test_a_beam_reads_what_is_before_as_it_lies(shape):
    lengths = [[1, 1], [1, 1]]
    ids, scores = np.array([[4, 2], [2, 1]]), np.array([[0.5, 0.3], [0.6, 0.3]], np.float32)
    before = {"pre_ids": np.array([1, 2]).reshape(shape), "pre_scores": np.array([0.1, 0.2], np.float32).reshape(shape)}
    slots = {**before, "ids": LoDTensor(ids, lengths), "scores": LoDTensor(scores, lengths)}
    out = run_as_inferred("beam_search", slots, {"beam_size": 1, "end_id": 0})
    assert out["selected_ids"].values.tolist() == [[4], [2]]


@pytest.mark.parametrize(
    ("x", "y", "axis", "shape"),
    [
        ((2, 1), (2,), -1, (2, 2)),
        ((2, 1), (2,), 0, (2, 1)),
        ((2, 3, 4), (3, 1), 1, (2, 3, 4)),
        ((2, 3), (1,), -1, (2, 3)),
    ],
)
def test_factors_repeat_from_an_axis_on(x, y, axis, shape):
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=x), rng.normal(size=y)
    placed = y if axis == -1 else y.reshape((1,) * axis + y.shape + (1,) * (x.ndim - axis - y.ndim))
    out = run_as_inferred("elementwise_mul", {"X": x, "Y": y}, {"axis": axis})["Out"]
    assert out.shape == shape
    np.testing.assert_allclose(out, x * placed)
    by = rng.normal(size=shape)
    by_x = gradient(lambda x: run_op("elementwise_mul", {"X": x, "Y": y}, {"axis": axis})["Out"], x, by)
    by_y = gradient(lambda y: run_op("elementwise_mul", {"X": x, "Y": y}, {"axis": axis})["Out"], y, by)
    for i in np.ndindex(x.shape):
        moved = np.zeros_like(x)
        moved[i] = 1
        np.testing.assert_allclose(by_x[i], (by * moved * placed).sum())
    for i in np.ndindex(y.shape):
        moved = np.zeros_like(y)
        moved[i] = 1
        np.testing.assert_allclose(by_y[i], (by * x * moved.reshape(placed.shape)).sum())


def test_the_factor_of_fewer_axes_is_placed():
    x, y = np.array([1.0, 2.0, 3.0]), np.arange(9.0).reshape(3, 3)
    out = run_as_inferred("elementwise_mul", {"X": x, "Y": y}, {"axis": 0})["Out"]
    np.testing.assert_array_equal(out, x[:, None] * y)
    with pytest.raises(lodkit.ShapeMismatchError, match="exchange x and y"):
        lodkit.elementwise_mul(x, y, axis=0)


def test_factors_that_do_not_repeat_are_refused():
    for y, axis in ((np.ones(4), -1), (np.ones((3, 2)), -1), (np.ones(2), 1), (np.ones(2), 2), (np.ones(2), -2)):
        with pytest.raises(lodkit.ShapeMismatchError, match="elementwise_mul"):
            run_op("elementwise_mul", {"X": np.ones((2, 3)), "Y": y}, {"axis": axis})
    with pytest.raises(lodkit.LodkitError):
        run_op("elementwise_mul", {"X": LoDTensor(np.ones((1, 3)), [[1]]), "Y": np.ones((2, 3))})


def test_numbers_in_slots_take_the_place_of_attributes():
    x, bounds = np.array([-3.0, 0.5, 3.0]), {"Min": np.array([-1.0]), "Max": np.array([[2.0]])}
    out = run_as_inferred("scale", {"X": x, "ScaleTensor": np.array([2.0])}, {"scale": 5.0, "bias": 1.0})["Out"]
    np.testing.assert_array_equal(out, [-5, 2, 7])
    for attrs in ({"min": 0.0, "max": 0.1}, {}):
        np.testing.assert_array_equal(run_as_inferred("clip", {"X": x, **bounds}, attrs)["Out"], [-1, 0.5, 2])
    np.testing.assert_array_equal(run_op("clip", {"X": x, "Min": bounds["Min"]}, {"max": 0.0})["Out"], [-1, 0, 0])
    with pytest.raises(SlotError, match="clip needs the attribute max, or the input Max"):
        run_op("clip", {"X": x}, {"min": 0.0})
    with pytest.raises(SlotError, match=r"ScaleTensor of scale must be one number, got shape \(2,\)"):
        run_op("scale", {"X": x, "ScaleTensor": np.ones(2)})


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_integers_are_scaled_by_numbers_without_fractions(dtype):
    x = np.array([3, -2], dtype)
    for attrs, expected in (
        ({"scale": 2.5}, [6, -4]),
        ({"scale": -1.9, "bias": 1.9}, [-2, 3]),
        ({"scale": np.float32(0.5), "bias": 0}, [0, 0]),
    ):
        out = run_as_inferred("scale", {"X": x}, attrs)["Out"]
        assert out.dtype == dtype and out.tolist() == expected
    out = run_op("scale", {"X": x}, {"scale": 2.0, "bias": 1.0, "bias_after_scale": False})["Out"]
    assert out.tolist() == [8, -2]
    rows = run_op("scale", {"X": SelectedRows([1], [[3]], 4)}, {"scale": 2.5})["Out"]
    assert rows.value.tolist() == [[6]]
    with pytest.raises(
        ValueError, match=r"scale = 2\.5 of int64; pass a whole number of it, or x\.astype\(np\.float64\)"
    ):
        lodkit.scale(np.array([3]), scale=2.5)
    for number in (np.inf, np.nan, 2.0**70):
        with pytest.raises(ValueError, match=r"scale = .* of int64"):
            run_op("scale", {"X": np.array([3])}, {"scale": number})


def test_integers_are_clipped_by_bounds_without_fractions():
    for x in (np.array([-3, 0, 9], np.int32), SelectedRows([1, 1, 2, 0], [-1, -2, 9, 0], 4)):
        out = run_as_inferred("clip", {"X": x}, {"min": -1.9, "max": 2.5})["Out"]
        values = out.to_dense()[[1, 0, 2]] if isinstance(x, SelectedRows) else out
        assert values.dtype == x.dtype and values.tolist() == [-1, 0, 2]
    with pytest.raises(ValueError, match=r"clip_by_value: max = 2\.5 of int64; pass a whole number"):
        lodkit.clip_by_value(np.array([3]), min=0.0, max=2.5)


def test_arrays_of_tensors_are_assigned():
    array = [LoDTensor(np.ones((3, 1)), [[1, 2]]), LoDTensor(np.zeros((2, 1)), [[2, 0]])]
    copies = run_as_inferred("assign", {"X": array})["Out"]
    assert all(copy.equals(x) and copy.values is not x.values for copy, x in zip(copies, array, strict=True))
    (copy,) = run_op("assign", {"X": [np.ones(2)]})["Out"]
    assert copy.tolist() == [1, 1]
    assert run_op("assign", {"X": [1.0, 2.0]})["Out"].tolist() == [1, 2]
    grad = gradient(lambda x: run_op("assign", {"X": [x, np.ones(2)]})["Out"][0], np.ones(2), np.array([3.0, 4.0]))
    assert grad.tolist() == [3, 4]


def test_descriptions_of_arrays_are_summed_and_assigned():
    element = VarDesc.of(np.ones((2, 3)))
    array = infer_op("assign", {"X": [element, element]})["Out"]
    assert array.type.name == "LOD_TENSOR_ARRAY"
    assert infer_op("assign", {"X": array})["Out"] == array
    assert infer_op("sum", {"X": [array, array]})["Out"] == array


@pytest.mark.parametrize("x", [np.ones((2, 3)), LoDTensor(np.ones((2, 3)), [[2]])])
def test_elements_behind_the_end_have_no_rows(x):
    array = run_op("write_to_array", {"X": x, "I": np.array([2])})["Out"]
    assert len(array) == 3 and array[2] is x
    assert [len(element) for element in array[:2]] == [0, 0] and array[0].shape == (0, 3)
    longer = run_as_inferred("write_to_array", {"X": x, "I": np.array([4]), "Out": array})["Out"]
    assert len(longer) == 5 and longer[2] is x and longer[4] is x
    assert run_op("lod_array_length", {"X": longer})["Out"].tolist() == [5]
    for index in (-1, 1 << 40):
        with pytest.raises(lodkit.RowIndexError, match="write_to_array: index"):
            run_op("write_to_array", {"X": x, "I": np.array([index])})
    with pytest.raises(lodkit.RowIndexError, match=r"index 2 is outside \[0, 1\)"):
        lodkit.write_to_array(x, index=2)


TABLE = SelectedRows([4, 0], [[1.0, 2.0], [3.0, 4.0]], 10)
ON_DEVICES = [
    ("hash", {"X": np.array([[5, 1, 2], [8, 3, 4]], np.int32)}, {"num_hash": 2, "mod_by": 1000}),
    ("sum", {"X": [TABLE, TABLE]}, {}),
    ("lookup_table", {"W": TABLE, "Ids": np.array([[4], [7]])}, {"padding_idx": 7}),
    ("lookup_table", {"W": np.ones((3, 2), np.int8), "Ids": np.array([[1], [2]])}, {"padding_idx": 2}),
    ("fused_embedding_seq_pool", {"W": W, "Ids": LoDTensor(np.array([[4, 3], [2, 1]])[..., None], [[2]])}, {}),
    ("split_ids", {"Ids": [np.array([[0], [2]]), np.array([[6], [2]])]}, {"num_outputs": 3}),
    ("elementwise_mul", {"X": np.ones((2, 1)), "Y": np.array([2.0, 3.0])}, {}),
    ("scale", {"X": np.array([3, 4]), "ScaleTensor": np.array([2.5])}, {}),
    ("clip", {"X": np.array([3.0, -4.0]), "Min": np.array([-1.0])}, {"max": 1.0}),
    ("write_to_array", {"X": np.ones((2, 3)), "I": np.array([2])}, {}),
]


@pytest.mark.parametrize(("name", "inputs", "attrs"), ON_DEVICES)
def test_values_are_the_same_on_every_device(name, inputs, attrs, place):
    expected = run_op(name, inputs, attrs)["Out"]
    there = {s: [*map(place.to, x)] if isinstance(x, list) else place.to(x) for s, x in inputs.items()}
    out = run_op(name, there, attrs)["Out"]
    for got, wanted in zip(out, expected, strict=True) if isinstance(expected, list) else [(out, expected)]:
        lodkit.testing.assert_equal(place.home(got), wanted)
