"""Nonsense sizes, arrays without a dimension and uneven lists: errors that name the argument, and its value."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pytest

import lodkit
from lodkit import LoDError, LoDTensor, OutputError, SelectedRows, ShapeMismatchError, SizeError

N, HUGE = 2**62, "4611686018427387904"
ONE, ROWS = np.array(1.0), np.ones((3, 2), np.float32)
IDS = LoDTensor(np.array([0, 1, 1]), [[1, 2]])


@pytest.mark.parametrize(
    ("name", "inputs"),
    [
        ("lookup_table_grad", (ONE, [0], np.ones(1))),
        ("gather_grad", (ONE, [0], np.ones(1))),
        ("gather_ranges_grad", (ONE, [[[0, 1]]], np.ones(1))),
        ("lengths_gather_grad", (ONE, [1], [0], np.ones(1))),
        ("lengths_gather_grad", (1.0, [1], [0], np.ones(1))),
    ],
)
def test_tables_without_rows(name, inputs):
    first = next(iter(lodkit.OPS[name].inputs))
    with pytest.raises(ShapeMismatchError, match=f"^{name}: {first} has no dimension.*pass {first}.reshape"):
        lodkit.run(name, *inputs)


@pytest.mark.parametrize("name", ["relu", "sequence_pool"])
def test_values_that_lost_their_dimension(name):
    values = np.ones(1)
    x = LoDTensor(values, [[1]])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        values.shape = ()
    with pytest.raises(LoDError, match=rf"^{name}: x was made of rows, its values have shape \(\) now"):
        lodkit.run(name, x)


@pytest.mark.parametrize(
    ("call", "argument"),
    [
        (lambda: lodkit.partition(np.array([1]), num_outputs=N), "num_outputs = "),
        (lambda: lodkit.segment_ids_to_lengths([0], num_segments=N), "num_segments = "),
        (lambda: lodkit.segment_ids_to_lengths(np.array([N])), "segment_ids with "),
        (lambda: lodkit.segment_ids_to_lengths([N]), f"segment_ids = [{N}]"),
        (lambda: lodkit.lengths_split([3], n_split=N), "n_split = "),
        (lambda: lodkit.lengths_top_k(np.ones(3), [3], k=N), "k = "),
        (lambda: lodkit.sparse_matrix(IDS, num_columns=N), "num_columns = "),
        (lambda: lodkit.add_padding(ROWS, [1, 2], padding_width=2**58), "padding_width = "),
        (lambda: lodkit.pack_segments(ROWS, [1, 2], max_length=N), "max_length = "),
        (lambda: lodkit.pack_rnn_sequence(ROWS, [1, 2], num_steps=N), "num_steps = "),
        (lambda: lodkit.selected_rows_to_dense(SelectedRows([0], np.ones((1, 1)), N)), "x of height "),
        (lambda: lodkit.relu(np.broadcast_to(ROWS[:1], (2**58, 2))), "x of shape "),
    ],
)
def test_sizes_that_no_memory_holds(call, argument):
    with pytest.raises(SizeError) as raised:
        call()
    assert argument in str(raised.value)
    assert any(str(size) in str(raised.value) for size in (N, 2**58))
    assert isinstance(raised.value, MemoryError)


def test_the_gradient_of_a_size_that_no_memory_holds():
    data = lodkit.parameter(ROWS[:0])
    with lodkit.Tape() as tape:
        out = lodkit.lengths_pad(data, np.zeros(0, np.int64), max_length=N)
    with pytest.raises(SizeError, match=f"lengths_pad: .* max_length = {HUGE}"):
        tape.gradient(out, [data])


def test_steps_behind_the_longest_segment():
    out = lodkit.pack_rnn_sequence(ROWS[:, :0], [2, 1], num_steps=2**31)  # a loop over them would take hours
    assert out.shape == (2**31, 2, 0)
    out = lodkit.pack_rnn_sequence(ROWS, [2, 1], num_steps=4)
    assert out[..., 0].tolist() == [[1, 1], [1, 0], [0, 0], [0, 0]]


@pytest.mark.parametrize(
    ("call", "argument"),
    [
        (lambda: lodkit.sequence_erase(IDS, tokens=[[1, 2], [3]]), "sequence_erase: tokens"),
        (lambda: lodkit.sequence_contains(IDS, tokens=[[1, 2], [3]]), "sequence_contains: tokens"),
        (lambda: lodkit.pack_features(np.ones((2, 2)), presence=[[1], [1, 0]]), "presence"),
    ],
)
def test_uneven_lists(call, argument):
    with pytest.raises(LoDError, match=rf"^{argument} = .* is a list of uneven lists"):
        call()


@pytest.mark.parametrize("shape", ["ab", [[2, 3]], 1.5, None])
def test_shapes_that_are_none(shape):
    with pytest.raises(TypeError, match="shape must be an integer or a list of integers, got "):
        lodkit.empty(shape)


@pytest.mark.parametrize("shape", [2**62, (2**31, 2**31, 2**31), (2**62, 0, 2**62)])
def test_shapes_that_no_memory_holds(shape):
    with pytest.raises(SizeError, match="there is no memory for an array of shape"):
        lodkit.empty(shape, np.float64)


def test_ids_that_no_memory_holds():
    rows = np.broadcast_to(np.zeros(1, np.int32), 2**58)
    with pytest.raises(SizeError, match=f"no memory for rows as int64, of shape .{2**58},"):
        SelectedRows(rows, np.zeros((1, 1)), 3)
    with pytest.raises(SizeError, match="no memory for rows as int64"):
        SelectedRows(np.zeros((2**61, 0), np.int8), np.zeros((1, 1)), 3)


CAFFE2 = [
    ("RmsProp", (ROWS, ROWS, ROWS, 0.1), {"epsilon": [1.0, 2.0]}, "epsilon must be a number"),
    ("Adagrad", (ROWS, ROWS, ROWS, 0.1), {"weight_decay": "a"}, "weight_decay must be a number"),
    ("BatchGather", (ROWS, [0]), {"match_outer": np.array([1, 2])}, "match_outer must be a number"),
    ("GatherRangesToDense", (ONE.reshape(1), [[[0, 1]]]), {"lengths": 1}, "lengths must be a list of integers"),
    ("MergeDenseFeatureTensors", (ROWS, ROWS > 0), {"feature_ids": 5}, "feature_ids must be a list of integers"),
    (
        "MergeSingleScalarFeatureTensors",
        ([1.0], [True]),
        {"feature_ids": ONE},
        "feature_ids must be a list of integers",
    ),
]
PADDLE = [
    ("im2sequence", {"X": np.ones((1, 1, 2, 2))}, {"kernels": 2}, "kernels must be a list of integers, got 2"),
    (
        "split_selected_rows",
        {"X": SelectedRows([0], np.ones((1, 1)), 3)},
        {"height_sections": 3},
        "height_sections must",
    ),
    ("sequence_mask", {"X": np.array([1])}, {"maxlen": [1]}, r"maxlen must be an integer, got \[1\]"),
    ("sequence_mask", {"X": np.array([1])}, {"out_dtype": np.ones(2)}, "out_dtype must be an integer, got array"),
    ("sequence_pad", {"X": IDS, "PadValue": 0}, {"padded_length": np.ones(2)}, "padded_length must be an integer"),
    ("lookup_table_v2", {"W": ROWS, "Ids": [0]}, {"padding_idx": np.ones(2)}, "padding_idx must be an integer"),
]


@pytest.mark.parametrize(("name", "inputs", "args", "message"), CAFFE2)
def test_arguments_of_caffe2(name, inputs, args, message):
    with pytest.raises(TypeError, match=f"^{name}: {message}"):
        getattr(lodkit.caffe2, name)(*inputs, **args)


@pytest.mark.parametrize(("name", "inputs", "attrs", "message"), PADDLE)
def test_attributes_of_paddle(name, inputs, attrs, message):
    with pytest.raises(TypeError, match=f"^{name}: {message}"):
        lodkit.paddle.run_op(name, inputs, attrs)


@pytest.mark.parametrize("kind", [OutputError, SizeError])
def test_errors_come_back_from_other_processes(kind):
    assert type(pickle.loads(pickle.dumps(kind("text")))) is kind


def test_structure_without_values_in_a_slot():
    inputs = {"Emission": LoDTensor(None, [[2]]), "Transition": np.ones((5, 3)), "Label": LoDTensor([0, 1], [[2]])}
    with pytest.raises(lodkit.paddle.SlotError, match="linear_chain_crf: Emission has structure but no values"):
        lodkit.paddle.run_op("linear_chain_crf", inputs)


def test_sections_that_are_none():
    with pytest.raises(TypeError, match="split_selected_rows: height_sections must be a list of integers, got array"):
        lodkit.split_selected_rows(SelectedRows([0], np.ones((1, 1)), 3), height_sections=np.array(3))


def test_tokens_that_are_no_list():
    with pytest.raises(LoDError, match=r"tokens has shape \(\); give a list of numbers"):
        lodkit.sequence_contains(IDS, tokens=5)
    assert lodkit.sequence_contains(IDS, tokens=[]).tolist() == [False, False]


def test_objects_without_end():
    """An array of stride 0 has more elements than anybody can look at."""
    objects = np.broadcast_to(np.zeros((), object), (2**60 - 1,))
    with pytest.raises(lodkit.DTypeError, match=r"lengths has dtype object; convert with .astype\(np.int64\)"):
        lodkit.lengths_to_weights(objects)


def test_map_keys_that_are_one_number():
    with pytest.raises(LoDError, match=r"map_keys must be one-dimensional, got shape \(\)"):
        lodkit.Features([1], [7], [1], [1.0], np.array(1))


def test_a_mean_without_end():
    repeated = np.broadcast_to(np.zeros(()), (2**60 - 1,))
    with pytest.raises(SizeError, match=r"mean: x of shape \(1152921504606846975,\) repeats numbers, by strides of 0"):
        lodkit.mean(repeated)


def test_copies_that_no_memory_holds():
    """Published names copy some inputs, before an operator sees them."""
    repeated = np.broadcast_to(np.zeros(()), (2**59 - 1, 2))
    with pytest.raises(SizeError, match=r"RmsProp: there is no memory for a call with grad of shape \(\d+, 2\)"):
        lodkit.caffe2.RmsProp(repeated, np.ones((3, 2)), np.ones((3, 2)), np.array([0.1]))
    tags, repeated = LoDTensor(np.array([[1], [2]]), [[1, 1]]), np.broadcast_to(np.zeros((), int), (2**60 - 1,))
    with pytest.raises(SizeError, match=r"filter_by_instag: there is no memory for a call with Filter_tag of shape"):
        lodkit.paddle.run_op("filter_by_instag", {"Ins": tags, "Ins_tag": tags, "Filter_tag": repeated})


@pytest.mark.parametrize("sigma", [0.0, 0.1])
def test_gradients_of_text(sigma):
    for rows in (0, 2):
        with pytest.raises(lodkit.DTypeError, match="the gradient takes float16, bfloat16, float32 or float64"):
            lodkit.dpsgd(np.zeros((rows, 3)), np.zeros((rows, 3), "S3"), lr=0.5, clip_norm=0.5, sigma=sigma)


def test_integers_of_more_than_64_bits():
    with pytest.raises(lodkit.DTypeError, match="x holds an integer of 1329 bits, which 64 bits do not hold"):
        lodkit.norm(10**400)


def test_integers_of_more_than_64_bits_added():
    with pytest.raises(lodkit.DTypeError, match=r"convert the values with .astype\(np.int64\) or"):
        LoDTensor(np.ones(2), [[2]]) + 10**400


REPEATED = LoDTensor(np.broadcast_to(np.float16(1), (2**61,)), [[2**61]])
TALL = {"a": np.zeros((2**61, 0), np.float16)}


@pytest.mark.parametrize(
    "call",
    [
        lambda: REPEATED + 1,
        lambda: np.exp(REPEATED),
        lambda: REPEATED == 1,
        lambda: REPEATED.copy(),
        lambda: REPEATED.astype(np.float64),
        lambda: lodkit.RankTable([[0, 2**62]]),
        lambda: lodkit.split(LoDTensor([1.0], [[1]]), 2**62),
        lambda: lodkit.Vocabulary(["a"]).words(np.broadcast_to(np.int64(0), (2**40,))),
        lambda: lodkit.GrowingTable(2).slots(np.broadcast_to(np.int64(0), (2**59,))),
        lambda: lodkit.optim.Adagrad(TALL, lr=0.1),
        lambda: lodkit.optim.Adagrad(TALL, lr=0.1, states="touched"),
    ],
)
def test_results_that_no_memory_holds(call):
    with pytest.raises(SizeError, match="there is no memory for"):
        call()


def test_parts_that_are_uneven_lists():
    with pytest.raises(LoDError, match=r"parts = .* is a list of uneven lists"):
        lodkit.split(LoDTensor([1.0], [[1]]), [[1, 2], [3]])


def test_factors_of_more_than_64_bits():
    rows = lodkit.SelectedRows([0], np.ones((1, 2), np.int32), 5)
    with pytest.raises(lodkit.DTypeError, match="number has 100 bits, more than int32 holds"):
        rows * 10**30
    floats = lodkit.SelectedRows([0], np.ones((1, 2)), 5)
    with pytest.raises(lodkit.DTypeError, match="number has 1329 bits, more than float64 holds"):
        floats * 10**400
    assert (floats * 10**30).value[0, 0] == 1e30


@pytest.mark.parametrize("grad", [2**63, np.ones((3, 2), np.uint64), np.ones((3, 2), int)])
def test_norms_of_integers(grad):
    with pytest.raises(lodkit.DTypeError, match="the gradient takes float16, bfloat16, float32 or float64"):
        lodkit.sgd(np.ones((3, 2)), grad, lr=0.5, clip_norm=0.5)


def test_a_mask_without_ids():
    with pytest.raises(ValueError, match="SparseToDenseMaskGradient: mask is empty"):
        lodkit.caffe2.SparseToDenseMaskGradient(np.zeros(2, int), np.zeros((1, 0)), np.array([2]), mask=[])


def test_numbers_that_are_uneven_lists():
    with pytest.raises(LoDError, match=r"n_split = .* is a list of uneven lists"):
        lodkit.caffe2.LengthsSplit(np.array([1, 2]), [1, [2]])


def test_uneven_lists_beside_the_inputs():
    table = np.ones((2, 2))
    with lodkit.Tape() as tape:
        tape.watch(table)
        out = lodkit.relu(table)
    with pytest.raises(LoDError, match=r"an output gradient = .* is a list of uneven lists"):
        tape.gradient(out, [table], [[1, 2], [3]])
    rows = {"Param": table, "Grad": table, "Moment": table * 0, "InfNorm": table * 0}
    with pytest.raises(LoDError, match=r"a power of beta = .* is a list of uneven lists"):
        lodkit.paddle.run_op("adamax", {**rows, "LearningRate": [0.1], "Beta1Pow": [[1, 2], [3]]})
    with pytest.raises(LoDError, match=r"lengths = .* is a list of uneven lists"):
        lodkit.caffe2.MergeMultiScalarFeatureTensors([[1, 2], [3]], np.ones(2, int), np.ones(2))
