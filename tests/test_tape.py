"""Gradients through several operators, and what a tape refuses."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import lodkit
from lodkit import LoDTensor, SelectedRows
from lodkit.registry import operators

rng = np.random.default_rng(0)


def model():
    table, weight, bias = map(lodkit.parameter, (rng.normal(size=(10, 4)), rng.normal(size=(4, 3)), np.zeros(3)))
    ids = LoDTensor(rng.integers(0, 10, 7), [[3, 0, 4]])
    return table, weight, bias, ids, np.array([0, 2, 1])


def loss_of(table, weight, bias, ids, labels):
    hidden = lodkit.tanh(lodkit.embedding_bag(table, ids, pool="mean"))
    return lodkit.mean(lodkit.softmax_with_cross_entropy(lodkit.fc(hidden, weight, bias), labels))


def test_gradients_of_a_model_equal_differences():
    table, weight, bias, ids, labels = model()
    with lodkit.Tape() as tape:
        loss = loss_of(table, weight, bias, ids, labels)
    grads = tape.gradient(loss, [table, weight, bias])
    assert isinstance(grads[0], SelectedRows)
    assert len(grads[0].rows) == 7
    for parameter, gradient in zip((table, weight, bias), grads, strict=True):
        dense = gradient.to_dense() if isinstance(gradient, SelectedRows) else gradient
        for place in list(np.ndindex(parameter.shape))[::3]:
            parameter[place] += 1e-6
            up = loss_of(table, weight, bias, ids, labels)[0]
            parameter[place] -= 2e-6
            down = loss_of(table, weight, bias, ids, labels)[0]
            parameter[place] += 1e-6
            assert abs(dense[place] - (up - down) / 2e-6) < 1e-7


def test_a_second_contribution_appends():
    table = lodkit.parameter(np.ones((5, 2)))
    with lodkit.Tape() as tape:
        a, b = lodkit.lookup_table(table, [1, 2]), lodkit.lookup_table(table, [2])
    gradient = tape.gradient([a, b], [table])[0]
    assert sorted(gradient.rows.tolist()) == [1, 2, 2]
    np.testing.assert_array_equal(gradient.to_dense()[2], [2, 2])


def test_dense_and_sparse_contributions_add():
    table = lodkit.parameter(np.ones((5, 2)))
    with lodkit.Tape() as tape:
        outs = [lodkit.lookup_table(table, [1]), lodkit.lookup_table(table, [1], is_sparse=False), lodkit.relu(table)]
    gradient = tape.gradient(outs, [table])[0]
    np.testing.assert_array_equal(gradient, [[1, 1], [3, 3], [1, 1], [1, 1], [1, 1]])


def test_a_lodtensor_and_its_values_are_one_variable():
    x = LoDTensor(np.ones((3, 2)), [[1, 2]])
    with lodkit.Tape() as tape:
        y = lodkit.sequence_pool(lodkit.tanh(x), pool="average")
        values = x.values
    by_tensor, by_values = tape.gradient(y, [x, values], output_gradients=np.ones((2, 2)))
    assert isinstance(by_tensor, LoDTensor)
    assert by_tensor.same_lod(x)
    np.testing.assert_array_equal(by_tensor.values, by_values)


def test_lodtensor_targets_take_plain_gradients():
    x = LoDTensor(np.ones((3, 2)), [[1, 2]])
    with lodkit.Tape() as tape:
        y = lodkit.relu(x)
    gradient = tape.gradient(y, [x], output_gradients=np.arange(6.0).reshape(3, 2))[0]
    np.testing.assert_array_equal(gradient.values, np.arange(6.0).reshape(3, 2))
    with pytest.raises(ValueError, match="output gradient of shape"):
        tape.gradient(y, [x], output_gradients=np.ones((2, 2)))


def test_no_path_and_no_gradient(monkeypatch):
    monkeypatch.setattr(operators, "OPS", operators.Registry(lodkit.OPS))

    @lodkit.op
    def plain_op(x: lodkit.Dense, /) -> lodkit.Dense:
        return x + 1

    plain_op.kernel("cpu")(lambda x: x + 1)
    x, other = lodkit.parameter(np.ones((3, 2))), lodkit.parameter(np.ones(2))
    with lodkit.Tape() as tape:
        y = lodkit.relu(x)
        ids = lodkit.lengths_to_segment_ids(np.array([1, 2]))
        z = plain_op(x)
    with pytest.raises(lodkit.LodkitError, match=r"sources\[0\], float64 of shape \(2,\), has no path to the target"):
        tape.gradient(y, [other])
    assert tape.gradient(y, [other], unconnected="none") == [None]
    assert tape.gradient(y, [other], unconnected="zero")[0].tolist() == [0, 0]
    assert len(ids) == 3
    with pytest.raises(lodkit.LodkitError, match="plain_op has no gradient"):
        tape.gradient(z, [x])


def test_asked_twice_and_after_closing():
    x = lodkit.parameter(np.ones(3))
    with lodkit.Tape() as tape:
        y = lodkit.mean(x)
        lodkit.mean(x)
    first, second = tape.gradient(y, [x]), tape.gradient(y, [x])
    np.testing.assert_array_equal(first, second)
    lodkit.mean(x)
    assert len(tape._calls) == 2


def test_a_tape_records_its_own_thread():
    x = np.ones(3)
    with lodkit.Tape() as tape:
        worker = threading.Thread(target=lambda: lodkit.mean(x))
        worker.start()
        worker.join()
    assert tape._calls == []


def test_out_is_the_variable_inside_a_tape():
    x = LoDTensor(np.ones((3, 2)), [[1, 2]])
    out = np.empty((2, 2))
    with lodkit.Tape() as tape:
        lodkit.sequence_pool(x, out=out)
    assert tape.gradient(out, [x])[0].same_lod(x)


def test_gradients_by_weights():
    table, ids = rng.normal(size=(5, 3)), LoDTensor([1, 2, 2], [[2, 1]])
    weights = lodkit.parameter([1.0, 2.0, 3.0])
    with lodkit.Tape() as tape:
        y = lodkit.embedding_bag(table, ids, weights, pool="sum")
    by_weights = tape.gradient(y, [weights])[0]
    np.testing.assert_allclose(by_weights, table[[1, 2, 2]].sum(axis=1))


def test_out_used_twice_is_two_variables():
    first, second = lodkit.parameter(np.ones((3, 2))), lodkit.parameter(np.ones((3, 2)))
    buffer = np.empty((2, 2))
    with lodkit.Tape() as tape:
        lodkit.mean(lodkit.lookup_table(first, [0, 1], out=buffer))
        target = lodkit.mean(lodkit.lookup_table(second, [0, 1], out=buffer))
    by_first, by_second = tape.gradient(target, [first, second], unconnected="none")
    assert by_first is None
    assert by_second.value.tolist() == [[0.25, 0.25]] * 2


def test_steps_of_a_training_loop_under_one_tape():
    param = lodkit.parameter(np.full((2, 2), 3.0))
    with lodkit.Tape() as tape:
        for _ in range(3):
            target = lodkit.mean(lodkit.relu(param))
            (grad,) = tape.gradient(target, [param])
            np.testing.assert_allclose(grad, 0.25)
            lodkit.sgd(param, grad, lr=1.0)
    np.testing.assert_allclose(param, 3 - 0.75)


def test_gradients_share_no_memory():
    p, q, grad_output = lodkit.parameter(np.ones(2)), lodkit.parameter(np.ones(2)), np.ones(2)
    with lodkit.Tape() as tape:
        total = lodkit.sum(p, q)
        rows = lodkit.lookup_table(np.ones((3, 2)), [0])
    by_p, by_q = tape.gradient(total, [p, q], grad_output)
    by_p *= 5
    assert by_q.tolist() == grad_output.tolist() == [1, 1]
    assert tape.gradient(rows, [p], unconnected="none") == [None]


def test_the_values_that_were_used_are_the_variable():
    used = lodkit.parameter(np.ones((3, 2)))
    x = lodkit.LoDTensor(used, [[1, 2]])
    with lodkit.Tape() as tape:
        y = lodkit.sequence_pool(x)
    x.set_values(np.zeros((3, 2)))
    assert tape.gradient(y, [used])[0].tolist() == [[1, 1]] * 3


def test_an_index_has_no_gradient():
    x = lodkit.LoDTensor(np.ones((3, 2)), [[1, 2]])
    with lodkit.Tape() as tape:
        _, index = lodkit.sequence_pool(x, pool="max", return_index=True)
    assert tape.gradient(index, [x], unconnected="none") == [None]


@pytest.mark.filterwarnings("ignore:the matrix subclass")
def test_matrices_multiply_by_element_as_arrays_do():
    x, other = lodkit.parameter(np.ones((3, 2))), np.arange(6.0).reshape(3, 2)
    with lodkit.Tape() as tape:
        y = lodkit.relu(x) * other.view(np.matrix)
    assert tape.gradient(y, [x])[0].tolist() == other.tolist()


def test_a_gradient_by_one_number_again():
    """The second call finds its kernel by types, of which the number is one."""
    value = np.array([[1.0], [2.0], [3.0]])
    for _ in range(3):
        with lodkit.Tape() as tape:
            tape.watch(value)
            out = lodkit.gather_selected_rows(lodkit.SelectedRows([3, 1, 3], value, 6), 3)
        assert tape.gradient(out, [value])[0].ravel().tolist() == [1, 0, 1]


@pytest.mark.parametrize(
    "view",
    [
        lambda w: lodkit.get_tensor_from_selected_rows(lodkit.SelectedRows([0, 1, 2], w, 4)),
        lambda w: lodkit.lod_reset(w, target_lod=[0, 3]).values,
        lambda w: w[:],
        lambda w: w.reshape(3, 1),
        lambda w: w.T.T,
    ],
    ids=["value", "lod_reset", "slice", "reshape", "transpose"],
)
def test_an_update_of_an_array_is_one_of_its_views(view):
    w = np.array([[1.0], [2.0], [3.0]])
    data = lodkit.parameter(np.ones((2, 3)))
    with lodkit.Tape() as tape:
        out = lodkit.fc(data, view(tape.watch(w)))
    lodkit.sgd(w, np.ones_like(w), lr=1.0)
    with pytest.raises(lodkit.LodkitError, match="overwritten"):
        tape.gradient(out, [data])


@pytest.mark.parametrize("watched", [True, False])
@pytest.mark.parametrize("options", [{"lengths": [2, 1]}, {"pad_value": 0.0}])
def test_from_padded_is_recorded(watched, options):
    padded = lodkit.parameter([[1.0, 2.0], [3.0, 0.0]])
    with lodkit.Tape() as tape:
        source = tape.watch(np.asarray(padded)) if watched else padded
        batch = LoDTensor.from_padded(source, **options)
        loss = (lodkit.sequence_pool(batch, pool="sum") * np.array([5.0, 7.0])).sum() + lodkit.relu(source).sum()
    assert batch.to_list() == [[1, 2], [3]]
    assert tape.gradient(loss, [source])[0].tolist() == [[6, 6], [8, 0]]


@pytest.mark.parametrize("index", [[2, 0], np.array([True, False, True]), slice(None, None, -2)])
def test_sequences_that_are_taken_have_a_gradient(index):
    x = lodkit.parameter(np.arange(6.0))
    t = lodkit.LoDTensor(x, [[2, 1, 3]])
    with lodkit.Tape() as tape:
        y = lodkit.sequence_pool(t[index] * 2, pool="sum")
    np.testing.assert_array_equal(tape.gradient(y, [x])[0], [2, 2, 0, 2, 2, 2])


def test_planned_calls_on_a_tape_refuse_what_first_calls_refuse():
    table, ids = lodkit.parameter(np.arange(12.0).reshape(6, 2)), LoDTensor([5, 0, 1], [[2, 1]])
    with lodkit.Tape() as tape:
        for _ in range(3):
            loss = lodkit.embedding_bag(table, ids).sum()
        for call, error, words in (
            (lambda: lodkit.embedding_bag(table, ids.with_values([1, 6, 0])), lodkit.RowIndexError, r"ids\[1\] = 6"),
            (lambda: lodkit.embedding_bag(table, ids, pool="most"), ValueError, "pool must be one of"),
            (lambda: lodkit.embedding_bag(table, ids, np.ones(2)), lodkit.LoDError, "weights have shape"),
            (lambda: lodkit.embedding_bag(table, ids, padding_idx=table[0, 0]), TypeError, "no gradient flows"),
            (lambda: lodkit.softmax(table, axes=0), TypeError, "axes"),
        ):
            with pytest.raises(error, match=words):
                call()
    (grad,) = tape.gradient(loss, [table])
    np.testing.assert_array_equal(grad.to_dense(), [[1, 1], [1, 1], [0, 0], [0, 0], [0, 0], [1, 1]])


def test_planned_calls_on_a_tape_take_bfloat16_as_first_calls_do():
    """An operator that has no kernel for bfloat16 runs on copies in float32, and its gradient is recorded."""
    x, grads = lodkit.LoDTensor(np.arange(1.0, 7.0, dtype=np.float32).reshape(3, 2), [[2, 1]]), []
    for dtype in ("float32", "bfloat16", "bfloat16", "bfloat16"):
        w = lodkit.parameter(lodkit.cast(x, dtype=dtype))
        with lodkit.Tape() as tape:
            loss = lodkit.cast(lodkit.sequence_softmax(w), dtype="float32").values[0].sum()
        grads.append(lodkit.cast(tape.gradient(loss, [w])[0], dtype="float32"))
    for grad in grads[1:]:
        np.testing.assert_allclose(grad.values, grads[0].values, atol=0.02)
