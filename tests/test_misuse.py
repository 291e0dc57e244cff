"""What clumsy and hostile users did to it once: every one of these crashed, lost data or gave wrong numbers."""

from __future__ import annotations

import re
import subprocess
import sys

import numpy as np
import pytest
from samples import SAMPLES

import lodkit
from lodkit import LoDTensor, SelectedRows

HUGE = np.array([0, 2**63 - 1, -(2**63), -1, 3])


@pytest.mark.parametrize(
    "call",
    [
        lambda: lodkit.offsets_to_lengths(HUGE),
        lambda: lodkit.offsets_to_segment_ids(HUGE),
        lambda: lodkit.segment_ids_to_lengths(HUGE),
        lambda: lodkit.segment_reduce(np.ones((3, 2)), HUGE, by="offsets"),
        lambda: lodkit.segment_reduce(np.ones((5, 2)), HUGE, by="ids"),
    ],
)
@pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning")  # where nothing is compiled
def test_differences_that_int64_cannot_hold(call):
    with pytest.raises((lodkit.LoDError, lodkit.SegmentIdError), match="decrease"):
        call()


@pytest.mark.filterwarnings("ignore:Setting the shape:DeprecationWarning")
def test_arrays_that_changed_shape_since():
    x = np.ones((4, 2))
    t = LoDTensor(x, [[1, 3]])
    x.resize((2, 2), refcheck=False)
    for name in ("sequence_pool", "relu"):
        with pytest.raises(lodkit.LoDError, match="cut into 4 rows, its values have 2 now"):
            lodkit.run(name, t)
    value = np.ones((3, 1))
    grad = SelectedRows([0, 1, 2], value, 4)
    value.resize((1, 1), refcheck=False)
    with pytest.raises(lodkit.LoDError, match="lists 3 rows, its value has 1 now"):
        lodkit.sgd(np.ones((4, 1)), grad, lr=1.0)


@pytest.mark.parametrize("name", ["rows", "value", "height", "is_merged"])
def test_what_kernels_trust_is_read_only(name):
    with pytest.raises(AttributeError, match="read-only"):
        setattr(SelectedRows([0], np.ones((1, 2)), 2), name, 1)


@pytest.mark.jit
@pytest.mark.parametrize("layer", ["workqueue", "omp"])
def test_the_first_call_of_an_operator_comes_from_four_threads(layer):
    code = (
        "import threading, numpy as np, lodkit\n"
        "x, start, out = lodkit.LoDTensor(np.ones((4, 2)), [[1, 3]]), threading.Barrier(4), []\n"
        "lodkit.sequence_pool\n"
        "def work():\n"
        "    start.wait()\n"
        "    out.append(lodkit.sequence_pool(x).tolist())\n"
        "threads = [threading.Thread(target=work) for _ in range(4)]\n"
        "[t.start() for t in threads], [t.join() for t in threads]\n"
        "print(len(out), set(map(str, out)))\n"
    )
    env = {**__import__("os").environ, "NUMBA_THREADING_LAYER": layer}
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=env)
    assert run.stdout.strip() == "4 {'[[1.0, 1.0], [3.0, 3.0]]'}"


def test_a_tape_is_told_arrays():
    table = lodkit.parameter(np.ones((3, 2)))
    with lodkit.Tape() as tape:
        rows = lodkit.lookup_table(table, [0, 1])
        with pytest.raises(lodkit.LodkitError, match="open already"), tape:
            pass
    with pytest.raises(TypeError, match=r"sources must be a list of arrays.*pass \[source\]"):
        tape.gradient(rows, table)
    for target, sources in ((None, [table]), ("a", [table]), (rows, ["a"])):
        with pytest.raises(TypeError, match="must be an array, a LoDTensor or SelectedRows"):
            tape.gradient(target, sources)
    with pytest.raises(lodkit.DTypeError, match="complex"):
        tape.gradient(rows, [table], 1j * np.ones((2, 2)))


def test_structure_changed_between_forward_and_backward():
    x = LoDTensor(np.ones((6, 2)), [[6]])
    with lodkit.Tape() as tape:
        y = lodkit.sequence_pool(x)
        mean = lodkit.sequence_pool(x, pool="mean")
    x.set_recursive_sequence_lengths([[1] * 6])
    assert tape.gradient([y, mean], [x])[0].values.tolist() == [[1 + 1 / 6] * 2] * 6


def test_a_memory_map_is_an_array(tmp_path):
    table = np.memmap(tmp_path / "table", np.float32, "w+", shape=(4, 2))
    lodkit.sgd(table, SelectedRows([1, 1], np.ones((2, 2), np.float32), 4), lr=1.0)
    assert table.tolist() == [[0, 0], [-2, -2], [0, 0], [0, 0]]


@pytest.mark.parametrize("shape", [-1, (-1, 4), (2, -3)])
def test_negative_sizes(shape):
    with pytest.raises(ValueError, match="negative"):
        lodkit.empty(shape)
    with pytest.raises(MemoryError):
        lodkit.empty(2**58)


@pytest.mark.parametrize("lr", [1j, np.array([1 + 2j]), np.array("a"), np.array([None]), 10**400, None, [0.1]])
def test_learning_rates_that_are_none(lr):
    with pytest.raises(TypeError, match="lr must be a number"):
        lodkit.sgd(np.ones(2), np.ones(2), lr=lr)


def test_an_unsigned_learning_rate_keeps_its_sign():
    param = lodkit.caffe2.Adagrad(np.ones((1, 1)), np.zeros((1, 1)), np.ones((1, 1)), np.array([1], np.uint8))[0]
    np.testing.assert_allclose(param, 2, rtol=1e-4)


@pytest.mark.parametrize("grad", [np.ones((4, 1)), SelectedRows([1], np.ones((1, 1)), 4)])
def test_a_parameter_that_lists_a_row_twice(grad):
    param = SelectedRows([1, 1], np.ones((2, 1)), 4)
    with pytest.raises(lodkit.RowIndexError, match="more than once"):
        lodkit.sgd(param, grad, lr=1.0)
    assert param.value.tolist() == [[1], [1]]


def test_the_structure_of_a_result_is_that_of_the_ids():
    table = LoDTensor(np.array([10, 20, 30]), [[1, 2]])
    for name in ("gather", "lookup_table"):
        with pytest.raises(lodkit.NoKernelError, match="=LoDTensor"):
            lodkit.run(name, table, [2, 1, 0])


def test_an_id_from_the_end_is_named_as_it_was_given():
    with pytest.raises(lodkit.RowIndexError, match=r"ids\[1\] = -10 is outside"):
        lodkit.gather(np.ones((4, 2)), [0, -10], wrap=True)


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: LoDTensor([[1], [2, 3]], [[2]]), lodkit.LoDError, r"^values = .* is a list of uneven lists"),
        (lambda: SelectedRows([0, 1], [[1], [2, 3]], 2), lodkit.LoDError, r"^value = .* is a list of uneven lists"),
        (lambda: lodkit.relu([[1.0], [2.0, 3.0]]), lodkit.LoDError, r"^x = .* is a list of uneven lists"),
        (
            lambda: lodkit.lookup_table(np.ones((3, 2)), [[1], [2, 1]]),
            lodkit.LoDError,
            r"^ids = .* is a list of uneven",
        ),
        (lambda: LoDTensor.from_nested([[np.ones(2)], [np.ones(3)]]), lodkit.LoDError, "rows differ in shape"),
        (lambda: LoDTensor(np.ones(3), 5), lodkit.LoDError, "not a list of levels"),
        (lambda: LoDTensor(np.ones(3), 0), lodkit.LoDError, "not a list of levels"),
        (lambda: LoDTensor(np.ones(3), lod=5), lodkit.LoDError, "not a list of levels"),
        (lambda: LoDTensor(np.ones(3), [[3]])["a"], TypeError, "is not a sequence index"),
        (lambda: LoDTensor(np.ones(3), [[3]])[1.5], TypeError, "is not a sequence index"),
        (lambda: LoDTensor(np.ones(3), [[3]]) == np.ones(5), lodkit.LoDMismatchError, "does not broadcast"),
        (lambda: LoDTensor(np.ones(3), [[3]]).same_lod(None), TypeError, "LoDTensor"),
        (lambda: LoDTensor(None, [[3]]) == LoDTensor(None, [[3]]), lodkit.LoDError, "without values"),
        (lambda: LoDTensor(None, [[2]]).set_recursive_sequence_lengths([]), lodkit.LoDError, "needs lengths"),
        (lambda: LoDTensor(np.ones(2)).set_values(None), lodkit.LoDError, "needs values"),
        (lambda: LoDTensor.from_padded(None, [1]), TypeError, "from_padded takes a NumPy array"),
        (lambda: LoDTensor.from_padded(np.ones((2, 2)), pad_value="x"), TypeError, "pad_value must be a number"),
        (lambda: LoDTensor(np.ones(3), [[3]]).to_padded(1j), TypeError, "pad_value must be a number"),
        (lambda: LoDTensor(np.ones(3), [[3]]).to_padded(max_length=1.7), ValueError, "max_length must be an integer"),
        (lambda: LoDTensor.from_segment_ids(np.ones(1), [0], num_segments="1"), TypeError, "num_segments must be"),
        (lambda: lodkit.batches([1, 2], size=1), TypeError, "batches takes a LoDTensor"),
        (lambda: SelectedRows([1], SelectedRows([1], np.ones((1, 1)), 2), 4), TypeError, "NumPy or CUDA array"),
        (lambda: lodkit.warmup(["relu", 3]), TypeError, "ops must be operators, their names or .* got 3"),
        (lambda: lodkit.relu.infer(np.ones(3)), TypeError, "x must be a VarDesc"),
        (lambda: lodkit.stack_features(np.ones(3), presence=1.0), TypeError, "presence must be a list of masks"),
        (lambda: lodkit.sparse_matrix(LoDTensor([(1 << 63) - 1], [[1]])), lodkit.RowIndexError, "no num_columns is"),
        (
            lambda: lodkit.sparse_to_dense_mask(np.array([1]), np.ones(1), np.zeros(()), mask=[1], max_skipped=-1),
            ValueError,
            "max_skipped must be 0 or more, got -1",
        ),
        (
            lambda: lodkit.sequence_topk_avg_pooling(*[LoDTensor([[1.0]], [[1]])] * 3, topks=[1 << 63], channel_num=1),
            ValueError,
            "topks must be ascending integers",
        ),
        (lambda: lodkit.sequence_concat_grad(np.ones(3)), TypeError, "needs the inputs that were joined"),
        (lambda: SelectedRows([0], np.ones((1, 1)), 1 << 63), lodkit.RowIndexError, "does not fit int64"),
        (lambda: lodkit.paddle.run_op("sequence_pool", LoDTensor([1], [[1]])), TypeError, "inputs must be a dict"),
        (lambda: lodkit.paddle.run_op("sequence_pool", {}, 5), TypeError, "attrs must be a dict"),
        (lambda: lodkit.paddle.infer_op("sequence_mask", {"X": None}), lodkit.paddle.SlotError, "needs the input X"),
        (
            lambda: lodkit.paddle.run_op(
                "lamb",
                dict.fromkeys(
                    ("Param", "Grad", "LearningRate", "Moment1", "Moment2", "Beta1Pow", "Beta2Pow"), np.ones(1)
                ),
            ),
            lodkit.paddle.SlotError,
            "lamb needs the attribute weight_decay",
        ),
        (
            lambda: lodkit.sequence_pool(LoDTensor(np.ones(1, np.float16), [[1]]), pad_value=1e6),
            ValueError,
            "no value of",
        ),
        (lambda: lodkit.sequence_pool(LoDTensor(np.ones(1, int), [[1]]), pad_value=np.inf), ValueError, "no value of"),
        (
            lambda: lodkit.paddle.run_op("lookup_table", {"W": np.ones((3, 2)), "Ids": np.array([1, 2])}),
            lodkit.paddle.SlotError,
            "end in a dimension of 1",
        ),
    ],
)
def test_errors_name_what_is_wrong(call, error, text):
    with pytest.raises(error, match=text):
        call()


@pytest.mark.parametrize("integer", [np.int8, np.uint8, np.uint64, np.int64])
def test_attributes_of_numpys_integers(integer):
    x = LoDTensor(np.arange(300.0).reshape(300, 1), [[299, 1]])
    filters = np.ones((3, 1)), np.ones((100, 1))
    for call in (
        lambda i: lodkit.sequence_conv(x, filters[0], context_length=i(3)),
        lambda i: lodkit.sequence_conv(x, filters[1], context_length=i(100), context_start=i(1)),
        lambda i: lodkit.sequence_topk(LoDTensor(x.values[:, 0], [[300]]), k=i(100))[0],
        lambda i: lodkit.sequence_enumerate(LoDTensor(np.arange(300), [[300]]), win_size=i(100)),
        lambda i: lodkit.sequence_reshape(LoDTensor(np.ones((3, 2)), [[3]]), new_dim=i(1)),
    ):
        lodkit.testing.assert_equal(call(integer), call(int))


@pytest.mark.parametrize("number", [1 << 63, -(1 << 70), np.uint64(1 << 63)])
def test_attributes_that_64_bits_do_not_hold(number):
    x = LoDTensor(np.array([0, 1, 2]), [[2, 1]])
    for name, what in (
        ("segment_one_hot", "size"),
        ("sequence_topk", "k"),
        ("sequence_reshape", "new_dim"),
        ("sparse_matrix", "num_columns"),
    ):
        with pytest.raises(ValueError, match=f"{what} must be an integer.*an int64 does not hold"):
            lodkit.run(name, x, **{what: number})
        with pytest.raises(ValueError, match=f"{what} must be an integer.*an int64 does not hold"):
            lodkit.OPS[name].infer(lodkit.VarDesc.of(x), **{what: number})


@pytest.mark.parametrize("pad", [np.array(1j), np.array("1"), np.array(["1", "2"]), np.array([None, 1])])
def test_padding_that_is_no_number(pad):
    for dtype in (np.float64, np.int64):
        with pytest.raises(lodkit.DTypeError, match=r"pad_value is .*; pass a number"):
            lodkit.sequence_pad(LoDTensor(np.ones((3, 2), dtype), [[2, 1]]), pad)


def test_lengths_may_be_an_array():
    assert LoDTensor(np.ones((6, 1)), np.array([[2, 4]])).recursive_sequence_lengths() == [[2, 4]]


def test_a_list_that_holds_itself():
    endless = [1]
    endless.append(endless)
    with pytest.raises(lodkit.LoDError, match="does one contain itself"):
        LoDTensor.from_nested(endless)


def test_warmup_says_what_it_compiles(capsys):
    lodkit.warmup(["relu", lodkit.OPS["tanh"]], progress=True)
    lodkit.warmup("relu", progress=False)
    lines = capsys.readouterr().err.splitlines()
    # How long the rest takes is said from half a second on.
    assert [re.sub(r", about .*", "", re.sub(r"[\d.]+ s", "- s", line)) for line in lines] == [
        "lodkit.warmup: 1 of 2 operators (relu)",
        "lodkit.warmup: 2 of 2 operators (tanh)",
        "lodkit.warmup: - s",
    ]


def test_warmup_takes_any_spelling_of_a_type():
    for dtype in (np.float32, np.dtype("f4"), "float32", ["float32"]):
        lodkit.warmup("relu", dtype)


@pytest.mark.parametrize("given", ["O", "complex64", "U5"])
def test_warmup_refuses_types_that_no_operator_takes(given):
    with pytest.raises(lodkit.DTypeError, match=r"no operator takes values of .*; name some of bool, float16, float32"):
        lodkit.warmup("relu", ["float32", given])


def test_small_numbers_raise_nothing_under_strict_settings():
    with np.errstate(all="raise"):
        lodkit.sigmoid(np.array([-1000.0, 1000.0]))
        lodkit.softmax_with_cross_entropy(np.array([[0.0, -1000.0]]), [0])


@pytest.mark.parametrize("grad", [np.ones((2, 3), np.float16), SelectedRows([1], np.ones((1, 3), np.float16), 2)])
def test_strict_settings_leave_nothing_half_updated(grad):
    param, moment = np.ones((2, 2, 3), np.float16)
    with np.errstate(all="raise"):
        lodkit.adagrad(param, grad, moment, lr=1e30)
    assert np.isinf(param[1]).all()
    assert (moment[1] > 1).all()


@pytest.mark.parametrize("name", [name for name, op in lodkit.OPS.items() if op.updates])
def test_a_list_is_not_updated_in_place(name):
    op, (inputs, attrs) = lodkit.OPS[name], SAMPLES[name][0]
    for i, what in enumerate(op.inputs):
        if what in op.updates and i < len(inputs) and isinstance(inputs[i], np.ndarray):
            given = [*inputs[:i], inputs[i].tolist(), *inputs[i + 1 :]]
            with pytest.raises(TypeError, match=f"{what} is updated in place, and a list would not be"):
                op(*given, **attrs)


@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.int64, ">i8"])
def test_one_number_of_any_type_is_no_vector(dtype):
    table, one = np.arange(6.0).reshape(3, 2), np.array(1, dtype)
    assert lodkit.lookup_table(table, one).tolist() == [2, 3]
    assert lodkit.gather(table, one).shape == (2,)
    x = lodkit.LoDTensor(np.arange(4), [[2, 2]])
    assert lodkit.sequence_slice(x, one).to_list() == [[1], [3]]
