"""Laws and wrong inputs of everything that updates a table: a call that raises changed nothing."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import copy

import lodkit
from lodkit import LoDTensor, SelectedRows

# float64 in rows of 3, as in the samples, whose kernels are compiled already.
rng = np.random.default_rng(3)
ones, zeros = np.ones, np.zeros


def normal(*shape):
    return rng.normal(size=shape)


TABLE = normal(6, 3)
GRAD = SelectedRows([5, 1, 5], normal(3, 3), 6)
BAGS = LoDTensor(np.array([5, 1, 5]), [[2, 0, 1]])
ROWS = np.array([0, 5, 5])
ONE = {
    "adagrad": ((6, 3),),
    "rowwise_adagrad": ((6,),),
    "ftrl": ((6, 3), (6, 3)),
    "momentum": ((6, 3),),
    "adam": ((6, 3), (6, 3)),
    "rowwise_adam": ((6, 3), (6,)),
    "adadelta": ((6, 3), (6, 3)),
    "rmsprop": ((6, 3), (6, 3)),
    "storm": ((6, 3), (1,)),
    "wngrad": ((1,),),
}
MORE = {"adam": {"iteration": 3}, "rowwise_adam": {"iteration": 3}}


def inputs_of(name, grad=GRAD, low=0.5):
    return TABLE.copy(), grad, *(rng.uniform(low, 1, shape) for shape in ONE[name])


def refused(op, inputs, attrs, match, error=(ValueError, TypeError, IndexError)):
    """The call raises, and nothing was written."""
    before = [copy(x) for x in inputs]
    with pytest.raises(error, match=match):
        op(*inputs, **attrs)
    for x, b in zip(inputs, before, strict=True):
        if x is not None:
            np.testing.assert_array_equal(
                getattr(x, "value", getattr(x, "values", x)), getattr(b, "value", getattr(b, "values", b))
            )


@pytest.mark.parametrize("name", ONE)
def test_dense_and_sparse_gradients_are_one(name):
    """Also where averages of rows without gradient fade; ftrl's parameter must be what its accumulators give."""
    op, attrs = lodkit.OPS[name], {"lr": 0.1, **MORE.get(name, {})}
    sparse = inputs_of(name)
    dense = (sparse[0].copy(), GRAD.to_dense(), *(s.copy() for s in sparse[2:]))
    if name == "ftrl":
        for case in (sparse, dense):
            op(case[0], zeros((6, 3)), *case[2:], **attrs)
    for got, expected in zip(op(*sparse, **attrs), op(*dense, **attrs), strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", [n for n in ONE if "lazy" in lodkit.OPS[n].defaults])
def test_lazy_leaves_other_rows_alone(name):
    attrs = {"lr": 0.1, "lazy": True, **MORE.get(name, {})}
    attrs |= {"weight_decay": 0.1} if "weight_decay" in lodkit.OPS[name].defaults else {}
    inputs = inputs_of(name)
    before = [copy(x) for x in inputs]
    result = lodkit.OPS[name](*inputs, **attrs)
    for array, old in zip(result, (before[0], *before[2:]), strict=True):
        if len(array) == 6:
            assert not np.array_equal(array[5], old[5])
            np.testing.assert_array_equal(array[[0, 2, 3, 4]], old[[0, 2, 3, 4]])


@pytest.mark.parametrize("name", ["adagrad", "rowwise_adagrad", "momentum", "adam", "rowwise_adam", "storm"])
def test_one_after_another_needs_rows_that_stay(name):
    attrs = {"lr": 0.1, "duplicates": "sequential", **MORE.get(name, {})}
    attrs |= {"weight_decay": 0.1} if "weight_decay" in lodkit.OPS[name].defaults else {}
    refused(lodkit.OPS[name], inputs_of(name), attrs, "pass lazy=True")


@pytest.mark.parametrize("name", ONE)
@pytest.mark.parametrize("grad", [GRAD, ones((6, 3))], ids=["sparse", "dense"])
def test_wrong_states_and_parameters(name, grad):
    op, attrs = lodkit.OPS[name], {"lr": 0.1, **MORE.get(name, {})}
    param, _, *states = inputs_of(name)
    for i, state in enumerate(states):

        def put(wrong, i=i):
            return (param, grad, *states[:i], wrong, *states[i + 1 :])

        frozen = state.copy()
        frozen.flags.writeable = False
        refused(op, put(frozen), attrs, "read-only")
        if state.size > 1:
            refused(op, put(np.repeat(state, 2, axis=-1)[..., ::2]), attrs, "contiguous")
        refused(op, put(ones((*state.shape, 3))), attrs, rf"{op.name}: \w+ has shape .*pass one")
        refused(op, put(state.astype(np.float16)), attrs, "float16")
        if state.shape == param.shape:
            refused(op, put(param), attrs, "overlaps")
        if i and state.shape == states[0].shape:
            refused(op, put(states[0]), attrs, "overlaps")
    frozen = param.copy()
    frozen.flags.writeable = False
    refused(op, (frozen, grad, *states), attrs, "read-only")
    refused(op, (param.astype(int), grad, *states), attrs, "float16, bfloat16, float32 or float64, not int64")
    refused(op, (param[:5], grad, *states), attrs, "shape")
    for lr in (ones(2), "0.1", None):
        refused(op, (param, grad, *states), {**attrs, "lr": lr}, "lr must be")


WRONG = [
    ("adagrad", {"decay": 1.5}, r"decay must be in \[0, 1\], got 1.5"),
    ("adagrad", {"weight_decay": -0.1}, "weight_decay must be at least 0"),
    ("rowwise_adagrad", {"weight_decay": -0.1}, "weight_decay must be at least 0"),
    ("ftrl", {"lr": 0.0}, "lr must be larger than 0, got 0.0"),
    ("ftrl", {"l1": -1.0}, "l1 must be at least 0"),
    ("ftrl", {"l2": -1.0}, "l2 must be at least 0"),
    ("ftrl", {"beta": float("nan")}, "beta must be at least 0, got nan"),
    ("momentum", {"momentum": -0.5}, "momentum must be at least 0"),
    ("momentum", {"return_step": True}, 'needs duplicates="sequential"'),
    ("adam", {"beta1": 1.0}, "beta1 must be at least 0 and less than 1"),
    ("adam", {"beta2": -0.1}, "beta2 must be"),
    ("adam", {"epsilon": -1.0}, "epsilon must be at least 0"),
    ("adam", {"iteration": -1}, "iteration must be a whole number from 0 on"),
    ("adam", {"iteration": 2**63 - 1}, r"iteration must be a whole number from 0 on, below 2\*\*63 - 1"),
    ("rowwise_adam", {"iteration": 0.5}, "iteration must be a whole number from 0 on"),
    ("adadelta", {"epsilon": 0.0}, "epsilon must be larger than 0"),
    ("adadelta", {"decay": 2.0}, "decay must be in"),
    ("rmsprop", {"epsilon": 0.0}, "epsilon must be larger than 0"),
    ("rmsprop", {"momentum": -1.0}, "momentum must be at least 0"),
    ("storm", {"beta": -0.1}, "beta must be at least 0"),
    ("wngrad", {"epsilon": -0.1}, "epsilon must be at least 0"),
]


@pytest.mark.parametrize(("name", "wrong", "match"), WRONG)
def test_numbers_without_meaning(name, wrong, match):
    op, attrs = lodkit.OPS[name], {"lr": 0.1, **MORE.get(name, {}), **wrong}
    refused(op, inputs_of(name), attrs, match, ValueError)
    with pytest.raises(ValueError, match=match):
        op.definition(*inputs_of(name), **attrs)


def test_norms_that_divide_by_nothing():
    for name, inputs in (
        ("wngrad", (TABLE.copy(), GRAD, zeros(1))),
        ("storm", (*inputs_of("storm")[:3], -ones(1) * 99)),
    ):
        attrs = {"epsilon": 0.0} if name == "wngrad" else {}
        refused(lodkit.OPS[name], inputs, {"lr": 0.1, **attrs}, "must be larger than 0", ValueError)


def test_accumulators_side_by_side():
    pairs = zeros((6, 3, 2))
    apart = zeros((6, 3)), zeros((6, 3))
    one, other = TABLE.copy(), TABLE.copy()
    for _ in range(3):
        lodkit.ftrl(one, GRAD, pairs, lr=0.1, l1=0.2)
        lodkit.ftrl(other, GRAD, *apart, lr=0.1, l1=0.2)
    np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(pairs, np.stack(apart, axis=-1))
    refused(lodkit.ftrl, (TABLE.copy(), GRAD, zeros((6, 3))), {"lr": 0.1}, r"pass one of shape \(6, 3, 2\)")


def test_ftrl_gives_exact_zeros():
    param, grad = zeros((6, 3)), np.full((6, 3), 0.5)
    lodkit.ftrl(param, grad, zeros((6, 3)), zeros((6, 3)), lr=0.1, l1=0.6)
    assert not param.any()


@pytest.mark.parametrize("name", ["embedding_bag_adagrad", "embedding_bag_rowwise_adagrad"])
@pytest.mark.parametrize("duplicates", ["merge", "sequential"])
@pytest.mark.parametrize(("pool", "weighted"), [("sum", True), ("mean", True), ("mean", False), ("sqrt", False)])
def test_a_fused_update_is_the_gradient_and_the_update(name, duplicates, pool, weighted):
    weights = normal(3) + 3 if weighted else None
    grad_output, moment = normal(3, 3), ones((6, 3) if name == "embedding_bag_adagrad" else 6)
    attrs = {"lr": 0.1, "weight_decay": 0.2, "duplicates": duplicates}
    fused = lodkit.OPS[name](TABLE.copy(), BAGS, grad_output, moment.copy(), weights, pool=pool, **attrs)
    grad = lodkit.embedding_bag_grad(TABLE, BAGS, grad_output, weights, pool=pool)
    update = lodkit.OPS[name.removeprefix("embedding_bag_")]
    for got, expected in zip(fused, update(TABLE.copy(), grad, moment.copy(), lazy=True, **attrs), strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-5)


@pytest.mark.parametrize("name", ["embedding_bag_adagrad", "embedding_bag_rowwise_adagrad"])
def test_wrong_bags(name):
    op, grad_output = lodkit.OPS[name], ones((3, 3))
    moment = ones((6, 3) if name == "embedding_bag_adagrad" else 6)
    weights, attrs = ones(3), {"lr": 0.1}
    for bad in (-1, 6):
        ids = LoDTensor(np.array([0, bad, 5]), [[2, 0, 1]])
        refused(
            op,
            (TABLE.copy(), ids, grad_output, moment),
            attrs,
            rf"ids\[1\] = {bad} is outside \[0, 6\)",
            lodkit.RowIndexError,
        )
    for inputs, match in (
        ((TABLE.copy(), LoDTensor(np.array([1])), grad_output, moment), "attach lengths"),
        ((TABLE.copy(), BAGS, grad_output[:2], moment), "grad has shape"),
        ((TABLE.copy(), BAGS, grad_output.astype(np.float32), moment), "the gradient is float32"),
        ((TABLE.copy(), BAGS, grad_output, moment[:3]), "moment has shape"),
        ((TABLE.copy(), BAGS, grad_output, moment, weights[:2]), "one weight per row"),
    ):
        refused(op, inputs, attrs, match)
    refused(op, (TABLE.copy(), BAGS, grad_output, moment, weights), {**attrs, "pool": "sqrt"}, "weights have a meaning")
    refused(op, (TABLE.copy(), BAGS, grad_output, moment), {**attrs, "weight_decay": -1.0}, "weight_decay must be")
    table = TABLE.copy()
    refused(op, (table, BAGS, table[:3], moment), attrs, "overlaps")


@pytest.mark.parametrize("name", ["sparse_normalize", "sparse_lp_regularizer"])
def test_wrong_rows(name):
    op = lodkit.OPS[name]
    for bad in (-1, 6):
        refused(op, (TABLE.copy(), np.array([0, bad])), {}, rf"rows\[1\] = {bad} is outside", lodkit.RowIndexError)
    refused(op, (TABLE.copy(), np.array([0.5])), {}, "rows must be integers")
    refused(op, (TABLE.astype(int), ROWS), {}, "float16, bfloat16, float32 or float64")
    refused(op, (np.asfortranarray(TABLE), ROWS), {}, "contiguous")
    refused(op, (np.array(1.0), ROWS), {}, "no dimension")
    wrong = {"norm": 0.0} if name == "sparse_normalize" else {"reg_lambda": 1.0}
    refused(op, (TABLE.copy(), ROWS), wrong, "must be", ValueError)


def test_wrong_counters():
    last, counter = np.zeros(6, np.int64), ones(6)
    attrs = {"iteration": 3, "halflife": 2.0}
    for bad in (-1, 6):
        refused(lodkit.rowwise_counter, (last, counter, np.array([bad])), attrs, rf"rows\[0\] = {bad} is outside")
    refused(lodkit.rowwise_counter, (last[:5].copy(), counter, ROWS), attrs, "vectors of one length")
    refused(lodkit.rowwise_counter, (last.astype(np.int32), counter, ROWS), attrs, "prev_iter must be int64, not int32")
    refused(lodkit.rowwise_counter, (last, last.copy(), ROWS), attrs, "counter must be float32 or float64")
    refused(lodkit.rowwise_counter, (last, last.view(np.float64), ROWS), attrs, "overlaps")
    refused(lodkit.rowwise_counter, (last, counter, ROWS), {**attrs, "iteration": 1.5}, "whole number, got 1.5")


@pytest.mark.parametrize("prefix", ["", "RowWise"])
def test_caffe2_weighted_sums_have_a_weight_an_index(prefix):
    """Not one a position in its segment; their gradient is by the table before the update."""
    weights, grad_output, lengths = np.array([2.0, 3, 5]), normal(3, 3), np.array([2, 0, 1], np.int32)
    moment = ones(6) if prefix else ones((6, 3))
    run = getattr(lodkit.caffe2, f"{prefix}SparseAdagradFusedWithSparseLengthsWeightedSumGradient")
    rate = np.array([-0.1])
    param, moments, by_weights = run(TABLE.copy(), moment.copy(), weights, BAGS.values, grad_output, rate, lengths)
    each = grad_output[[0, 0, 2]]
    np.testing.assert_allclose(by_weights, (TABLE[[5, 1, 5]] * each).sum(axis=1), rtol=1e-5)
    unfused = getattr(lodkit.caffe2, f"{prefix}SparseAdagrad")
    expected = unfused(TABLE.copy(), moment.copy(), BAGS.values, each * weights[:, None], rate)
    np.testing.assert_allclose(param, expected[0], rtol=1e-5)
    np.testing.assert_allclose(moments, expected[1], rtol=1e-5)


def test_caffe2_fused_mean_without_rows_of_its_own():
    """SparseAdagradFusedWithSparseLengthsMeanGradient, of which there is no recording."""
    grad_output, lengths, rate = normal(3, 3), np.array([2, 0, 1], np.int32), np.array([-0.1])
    run = lodkit.caffe2.SparseAdagradFusedWithSparseLengthsMeanGradient
    got = run(TABLE.copy(), ones((6, 3)), BAGS.values, grad_output, rate, lengths, weight_decay=0.1)
    each = grad_output[[0, 0, 2]] / np.array([[2], [2], [1]])
    expected = lodkit.caffe2.SparseAdagrad(TABLE.copy(), ones((6, 3)), BAGS.values, each, rate, weight_decay=0.1)
    for g, e in zip(got, expected, strict=True):
        np.testing.assert_allclose(g, e, rtol=1e-5)


CAFFE2_BAD = {
    "SparseAdagrad": ((6, 3), "i", "g", "lr"),
    "RowWiseSparseAdagrad": ((6,), "i", "g", "lr"),
    "SparseFtrl": ((6, 3, 2), "i", "g"),
    "SparseAdam": ((6, 3), (6, 3), "i", "g", "lr", "iter"),
    "RowWiseSparseAdam": ((6, 3), (6,), "i", "g", "lr", "iter"),
    "SparseAdadelta": ((6, 3), (6, 3), "i", "g", "lr"),
    "SparseWngrad": ((1,), "i", "g", "lr"),
    "SparseStorm": ((6, 3), (1,), "g", "i", "lr"),
    "SparseNormalize": ("i",),
    "SparseLpRegularizer": ("i",),
}


@pytest.mark.parametrize("name", CAFFE2_BAD)
@pytest.mark.parametrize("bad", [-1, 6])
def test_caffe2_writes_out_of_bounds(name, bad):
    given = {"i": np.array([0, bad]), "g": ones((2, 3)), "lr": np.array([-0.1]), "iter": np.array([3])}
    rest = [given[x] if isinstance(x, str) else ones(x) for x in CAFFE2_BAD[name]]
    refused(
        getattr(lodkit.caffe2, name), (TABLE.copy(), *rest), {}, rf"rows\[1\] = {bad} is outside", lodkit.RowIndexError
    )


def test_caffe2_momentum_and_counter_check_their_indices():
    inputs = ones((2, 3)), ones((6, 3)), np.array([0.1]), TABLE.copy(), np.array([0, 6])
    refused(lodkit.caffe2.SparseMomentumSGDUpdate, inputs, {}, r"rows\[1\] = 6 is outside", lodkit.RowIndexError)
    inputs = np.zeros(6, np.int64), ones(6), np.array([6]), np.array([3])
    refused(lodkit.caffe2.RowWiseCounter, inputs, {"counter_halflife": 5}, r"rows\[0\] = 6 is outside")


def test_caffe2_arguments_that_exclude_each_other():
    with pytest.raises(ValueError, match="give alpha as an input or as an argument"):
        lodkit.caffe2.Ftrl(TABLE.copy(), zeros((6, 3, 2)), TABLE.copy(), np.array([0.1]), alpha=0.1)
    with pytest.raises(ValueError, match="counter_halflife"):
        lodkit.caffe2.RowWiseSparseAdagrad(TABLE, ones(6), ROWS, TABLE[:3], ones(1), counter_halflife=3)


@pytest.mark.parametrize("grad", [SelectedRows([4, 1], np.ones((2, 2)), 6), np.ones((6, 2))])
def test_a_parameter_of_selected_rows_is_returned_itself(place, grad):
    param = place.to(SelectedRows(np.array([1, 4]), np.zeros((2, 2)), 6))
    assert lodkit.sgd(param, place.to(grad), lr=1.0) is param
    np.testing.assert_array_equal(place.home(param.value), -1)
