"""How published names are called: what they refuse, and by what name; and the names that no recorded run has."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
from samples import CAFFE2

import lodkit
from lodkit import LoDTensor, SelectedRows, caffe2
from lodkit.arrays.generic import to_int32

TABLE = np.arange(6, dtype=np.float32).reshape(3, 2)
LENGTHS, INDICES = np.array([2, 1], np.int32), np.array([0, 1, 2])
HUGE = 2**40


def call_of(name):
    *inputs, last = CAFFE2[name]
    return (inputs, last) if isinstance(last, dict) else ([*inputs, last], {})


def required_of(name):
    parameters = inspect.signature(getattr(caffe2, name)).parameters.values()
    return [p.name for p in parameters if p.default is p.empty and p.kind is p.POSITIONAL_OR_KEYWORD]


@pytest.mark.parametrize("name", caffe2.OPERATORS)
def test_none_is_no_input(name):
    inputs, args = call_of(name)
    required = required_of(name) or range(len(inputs))
    for i, what in enumerate(required):
        what = what if isinstance(what, str) else f"input {what}"
        with pytest.raises(TypeError, match=f"^{name}: {what} is None"):
            getattr(caffe2, name)(*inputs[:i], None, *inputs[i + 1 :], **args)


@pytest.mark.parametrize("name", caffe2.OPERATORS)
def test_what_a_name_takes(name):
    inputs, args = call_of(name)
    run = getattr(caffe2, name)
    assert (run.__name__, run.__qualname__) == (name, name)
    assert run.__doc__
    with pytest.raises(
        TypeError, match=f"^{name}: got an unexpected keyword argument 'foo'; it takes .*{'.*'.join(args)}"
    ):
        run(*inputs, **args, foo=1)
    if required_of(name):
        with pytest.raises(TypeError, match=f"^{name}: missing a required .*argument: '{required_of(name)[0]}'"):
            run(**args)


def test_inputs_by_their_names():
    out = caffe2.SparseLengthsWeightedSum(lengths=LENGTHS, indices=INDICES, data=TABLE, weights=np.ones(3, np.float32))
    assert out.tolist() == [[2, 4], [4, 5]]
    with pytest.raises(TypeError, match="LengthsSum: data is None"):
        caffe2.LengthsSum(lengths=LENGTHS, data=None)
    with pytest.raises(TypeError, match=r"MergeDenseFeatureTensors: missing a required .*argument: 'feature_ids'"):
        caffe2.MergeDenseFeatureTensors(TABLE, TABLE > 0)


@pytest.mark.parametrize(
    ("name", "inputs", "args"),
    [
        ("LengthsToOffsets", ([2**31 - 1, 2**31 - 1, 2],), {"include_last_offset": True}),
        ("LengthsToRanges", ([2**31 - 1, 2**31 - 1, 2],), {}),
        ("LengthsToShape", ([HUGE, HUGE],), {}),
        ("LengthsSplit", ([HUGE],), {"n_split": 2}),
    ],
)
def test_what_does_not_fit_int32_is_an_error(name, inputs, args):
    with pytest.raises(lodkit.DTypeError, match=r"\d+ at position \d of the result is no int32"):
        getattr(caffe2, name)(*map(np.array, inputs), **args)


def test_what_just_fits_int32():
    largest = np.array([2**31 - 1])
    offsets = caffe2.LengthsToOffsets(largest, include_last_offset=True)
    assert (offsets.tolist(), offsets.dtype) == ([0, 2**31 - 1], np.int32)


def test_int32_on_each_device(place):
    fits = place.home(to_int32(place.to(np.array([0, 2**31 - 1]))))
    assert (fits.tolist(), fits.dtype) == ([0, 2**31 - 1], np.int32)
    with pytest.raises(lodkit.DTypeError, match=f"{HUGE} at position 1 of the result is no int32"):
        to_int32(place.to(np.array([5, HUGE])))


def test_ids_keep_their_type_and_their_numbers():
    assert caffe2.Find(INDICES, np.array([5]), missing_value=-(2**31) + 1).tolist() == [-(2**31) + 1]
    with pytest.raises(ValueError, match=f"Find: missing_value = {HUGE} does not fit int32"):
        caffe2.Find(INDICES, INDICES, missing_value=HUGE)
    one = np.array([1], np.int32)
    lengths, values = caffe2.MergeIdLists(one, one, one, np.array([HUGE]))
    assert (lengths.tolist(), values.tolist(), values.dtype) == ([2], [1, HUGE], np.int64)
    found = caffe2.Find(INDICES, LoDTensor(np.array([1, 2, 5]), [[2, 1]]))
    assert (found.to_list(), found.dtype) == ([[1, 2], [-1]], np.int32)


RATES = {name: inputs.index("lr") for name in caffe2.OPERATORS if "lr" in (inputs := required_of(name))}


@pytest.mark.parametrize("name", RATES)
def test_a_learning_rate_is_a_number(name):
    inputs, args = call_of(name)
    for lr in ("0.1", 1j, np.ma.array([0.1]), np.array([1j]), np.array([0.1, 0.2]), np.array([True]), [], {}):
        given = [x.copy() if isinstance(x, np.ndarray) else x for x in inputs]
        before, given[RATES[name]] = [np.copy(x) for x in given], lr
        with pytest.raises(TypeError, match="lr must be a number or a one-element array"):
            getattr(caffe2, name)(*given, **args)
        for i, x in enumerate(given):
            if i != RATES[name]:
                np.testing.assert_array_equal(x, before[i])


@pytest.mark.parametrize("epsilon", [float("nan"), -1.0])
def test_adagrad_takes_no_wrong_epsilon(epsilon):
    bags = LoDTensor(INDICES, [[2, 1]])
    rows = SelectedRows([0, 2], TABLE[:2], 3)
    for run, grads, moment in (
        (lodkit.adagrad, (TABLE, rows), TABLE),
        (lodkit.rowwise_adagrad, (TABLE, rows), TABLE[:, 0]),
        (lambda p, g, m, **k: lodkit.embedding_bag_adagrad(p, bags, g, m, **k), (TABLE[:2],), TABLE),
        (lambda p, g, m, **k: lodkit.embedding_bag_rowwise_adagrad(p, bags, g, m, **k), (TABLE[:2],), TABLE[:, 0]),
    ):
        for grad in grads:
            param, state = TABLE.copy(), moment.copy()
            with pytest.raises(ValueError, match="epsilon must be at least 0"):
                run(param, grad, state, lr=0.1, epsilon=epsilon)
            np.testing.assert_array_equal(param, TABLE)
            np.testing.assert_array_equal(state, moment)


def test_arguments_of_optimizers():
    with pytest.raises(TypeError, match=r"p must be one of 1, 2, got 1\.9"):
        caffe2.SparseLpRegularizer(TABLE.copy(), INDICES, p=1.9, reg_lambda=0.5)
    assert caffe2.SparseLpRegularizer(TABLE.copy(), INDICES, p=1.0, reg_lambda=0.5)[2].tolist() == [3.5, 4.5]
    for iter in (np.inf, np.nan, 0.5):
        with pytest.raises(ValueError, match="iteration must be a whole number"):
            caffe2.Adam(*(TABLE.copy() for _ in range(4)), -0.1, np.array([iter]))
        with pytest.raises(ValueError, match="iteration must be a whole number"):
            caffe2.RowWiseCounter(np.zeros(3, np.int64), np.ones(3), INDICES, iter, counter_halflife=2)
    with pytest.raises(ValueError, match="iteration must be a number of int64, got 9223372036854775808"):
        caffe2.RowWiseCounter(np.zeros(3, np.int64), np.ones(3), INDICES, 2**63, counter_halflife=2)


@pytest.mark.parametrize("nesterov", [0, 1])
def test_the_step_of_momentum_without_its_parameter(nesterov):
    grad, moment, lr = TABLE + 1, TABLE - 2, np.array([0.5], np.float32)
    args = {"momentum": 0.25, "nesterov": nesterov}
    step, after = caffe2.MomentumSGD(grad, moment.copy(), lr, **args)
    velocity = 0.25 * moment + 0.5 * grad
    np.testing.assert_allclose(after, velocity)
    np.testing.assert_allclose(step, 1.25 * velocity - 0.25 * moment if nesterov else velocity)
    np.testing.assert_array_equal(step, caffe2.MomentumSGDUpdate(grad, moment.copy(), lr, TABLE.copy(), **args)[0])


@pytest.mark.parametrize("name", ["SparseAdam", "RowWiseSparseAdam"])
@pytest.mark.parametrize("iter", [0, 3, 4, 5, 100])
def test_rectified_adam(name, iter, place):
    """RAdam's formula, whose first steps (up to the fifth, with beta2 = 0.999) are not over the root."""
    table, grad, t, lr = TABLE / 4, TABLE[:2] + 1, iter + 1, -0.1
    first, second = TABLE / 8, (TABLE if name == "SparseAdam" else TABLE[:, 0]) / 16
    given = [place.to(x.copy()) for x in (table, first, second, np.array([2, 0]), grad)]
    out = getattr(caffe2, name)(*given, lr, iter, enableRAdam=1)
    squares = grad**2 if name == "SparseAdam" else (grad**2).mean(axis=1)
    m = 0.9 * first[[2, 0]] + 0.1 * grad
    v = 0.999 * second[[2, 0]] + 0.001 * squares
    largest = 2 / (1 - 0.999) - 1
    rho = largest - 2 * t * 0.999**t / (1 - 0.999**t)
    if rho < 5:
        step = m / (1 - 0.9**t)
    else:
        r = np.sqrt((rho - 4) * (rho - 2) / rho) * np.sqrt(largest / ((largest - 4) * (largest - 2)))
        root = np.sqrt(v) + 1e-5
        step = r * np.sqrt(1 - 0.999**t) / (1 - 0.9**t) * m / (root if name == "SparseAdam" else root[:, None])
    table[[2, 0]] += lr * step
    np.testing.assert_allclose(place.home(out[0]), table, rtol=1e-5)
    np.testing.assert_allclose(place.home(out[1])[[2, 0]], m, rtol=1e-5)
    np.testing.assert_allclose(place.home(out[2])[[2, 0]], v, rtol=1e-5)


def test_ensure_dense(place):
    table, ids = lodkit.parameter(place.to(TABLE)), place.to(np.array([2, 2, 0]))
    for dense in (False, True):
        with lodkit.Tape() as tape:
            rows = lodkit.lookup_table(caffe2.EnsureDense(table) if dense else table, ids)
        grad = tape.gradient(rows, [table])[0]
        assert isinstance(grad, SelectedRows) is not dense
        assert place.home(grad if dense else grad.to_dense()).tolist() == [[1, 1], [0, 0], [2, 2]]
    for x in (TABLE, TABLE.astype(np.float16), TABLE.astype(np.int64)):
        same = place.home(caffe2.EnsureDense(place.to(x)))
        assert same.dtype == x.dtype
        np.testing.assert_array_equal(same, x)
    assert caffe2.EnsureDense(SelectedRows([2, 2], TABLE[:2], 3)).tolist() == [[0, 0], [0, 0], [2, 4]]


SCALAR, WIDE = np.array(1.0, np.float32), TABLE.astype(np.longdouble)
WRONG = [
    ("MergeIdLists", (LENGTHS, INDICES, LENGTHS), {}, "takes alternating lengths and values, .* got 3"),
    ("Gather", (TABLE, [2]), {"axis": 1}, r"ids\[0\] = 2 is outside \[0, 2\) \(axis 1 of data has 2 entries\)"),
    ("Gather", (TABLE, [3]), {}, r"\(the table has 3 rows\)"),
    ("Scatter", (TABLE, [[2]], SCALAR.reshape(1, 1)), {}, "axis 1 of data has 2 entries"),
    ("SegmentIdsToRanges", (INDICES, SCALAR.reshape(1)), {}, "like has 1 rows, but the ids have 3 segments"),
    ("SegmentIdsToLengths", (INDICES, SCALAR), {}, "like has no dimension"),
    ("BatchSparseToDense", (LENGTHS, INDICES, TABLE[:, 0], [1]), {}, "like has no columns"),
    ("MergeDenseFeatureTensors", ("ab", TABLE > 0), {"feature_ids": [1, 2]}, "must be an array .*, got str"),
    ("MergeMultiMapFeatureTensors", ([1], [1], [2], "ab", [1.0, 2.0]), {}, "map_keys must be integers"),
    ("RmsProp", ("ab", TABLE, TABLE, 0.1), {}, "grad must be a NumPy or CUDA array or SelectedRows, got str"),
    ("Ftrl", (TABLE, np.zeros((3, 2, 2), np.float32), TABLE), {"alpha": "a"}, "alpha must be a number"),
    ("SparseAdagrad", (SCALAR, SCALAR, INDICES, TABLE, -0.1), {}, "param has no dimension"),
    ("SparseFtrl", (SCALAR, SCALAR, INDICES, TABLE), {}, "param has no dimension"),
    ("Fused8BitRowwiseQuantizedToFloat", (np.array(1, np.uint8),), {}, r"rows has shape \(\)"),
    ("SparseLengthsSumFused4BitRowwise", (np.array(1, np.uint8), INDICES, LENGTHS), {}, r"rows has shape \(\)"),
    (
        "SparseAdagradFusedWithSparseLengthsWeightedSumGradient",
        (WIDE, WIDE, np.ones(3, np.longdouble), INDICES, WIDE[:2], -0.1, LENGTHS),
        {},
        "both must be floating, of at most 64 bits",
    ),
]


@pytest.mark.parametrize(("name", "inputs", "args", "message"), WRONG, ids=[case[0] for case in WRONG])
def test_messages(name, inputs, args, message):
    with pytest.raises((TypeError, ValueError, IndexError), match=message):
        getattr(caffe2, name)(*inputs, **args)


def test_lists_where_arrays_are_expected():
    like = [[0, 0, 0], [0, 0, 0]]
    assert caffe2.BatchSparseToDense(LENGTHS, INDICES, [1.0, 2, 3], like).tolist() == [[1, 2, 0], [0, 0, 3]]
    merged = caffe2.MergeDenseFeatureTensors([[1.0, 2], [3, 4]], [[True, True], [False, True]], feature_ids=[5, 6])
    assert [x.tolist() for x in merged] == [[2, 1], [5, 6, 6], [1, 2, 4]]
    assert caffe2.MergeMultiMapFeatureTensors([1], [1], [2], (7, 8), [1.0, 2.0])[3].tolist() == [7, 8]
    step = caffe2.RmsProp([1.0, 2.0], np.ones(2), np.zeros(2), 0.5, decay=0.0, epsilon=1e-9)[0]
    np.testing.assert_allclose(step, [0.5, 0.5])


def test_the_gradient_of_unsorted_segments_keeps_the_order_of_the_indices():
    x = lodkit.parameter(np.arange(5, dtype=np.float32))
    with lodkit.Tape() as tape:
        out = lodkit.caffe2.SparseUnsortedSegmentSum(x, np.array([4, 0, 3, 2]), np.array([1, 1, 0, 0]))
    grad = tape.gradient(out, [x], output_gradients=np.array([10, 20], np.float32))[0]
    assert grad.rows.tolist() == [4, 0, 3, 2]
    assert grad.value.tolist() == [20, 20, 10, 10]
