"""CTC against all paths one by one, against PyTorch, and where probabilities underflow."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import lodkit
from lodkit import LoDTensor


def log_softmax(x):
    return x - np.logaddexp.reduce(x, axis=-1, keepdims=True)


@pytest.mark.parametrize("labels", [[], [1], [1, 1], [2, 1, 2], [1, 2, 2]])
@pytest.mark.parametrize("blank", [0, 2])
def test_is_the_probability_of_all_paths(labels, blank):
    x = np.random.default_rng(len(labels)).normal(size=(4, 3))
    labels = [(label + blank) % 3 for label in labels]
    paths = LoDTensor.from_sequences([np.array(path) for path in itertools.product(range(3), repeat=4)])
    right = [found == labels for found in lodkit.ctc_align(paths, blank=blank).to_list()]
    logs = log_softmax(x)[np.arange(4), paths.values.reshape(-1, 4)].sum(axis=1)
    with np.errstate(divide="ignore"):
        expected = -np.log(np.exp(logs[right]).sum())
    loss = lodkit.ctc_loss(LoDTensor(x, [[4]]), LoDTensor(np.array(labels, np.int64), [[len(labels)]]), blank=blank)
    np.testing.assert_allclose(loss, [expected], rtol=1e-12)


def batch(frames, labels, classes, scale, dtype=np.float32):
    rng = np.random.default_rng(1)
    logits = (rng.normal(size=(sum(frames), classes)) * scale).astype(dtype)
    return LoDTensor(logits, [frames]), LoDTensor(rng.integers(1, classes, sum(labels)), [labels])


@pytest.mark.parametrize("scale", [1, 1000])
def test_nothing_underflows(scale):
    """800 frames, of even and of peaked logits, in float32 as in double precision."""
    logits, labels = batch([800, 120], [160, 36], 30, scale)
    loss, ones = lodkit.ctc_loss(logits, labels), np.ones(2)
    assert np.isfinite(loss).all() and loss.max() > 1000
    wide = logits.with_values(logits.values.astype(np.float64))
    np.testing.assert_allclose(loss, lodkit.ctc_loss.definition(wide, labels), rtol=1e-5)
    got = lodkit.ctc_loss_grad(logits, labels, ones.astype(np.float32)).values
    np.testing.assert_allclose(got, lodkit.ctc_loss_grad.definition(wide, labels, ones).values, atol=2e-4)
    np.testing.assert_allclose(got.sum(axis=1), 0, atol=1e-5)


def test_is_that_of_torch():
    torch = pytest.importorskip("torch")
    frames, labels = [30, 12, 50, 1], [8, 0, 20, 1]
    logits, targets = batch(frames, labels, 11, 2, np.float64)
    padded = torch.from_numpy(lodkit.sequence_pad(logits)[0]).swapaxes(0, 1).requires_grad_()
    given = padded.log_softmax(2), torch.from_numpy(targets.values), torch.tensor(frames), torch.tensor(labels)
    theirs = torch.nn.functional.ctc_loss(*given, reduction="none")
    with lodkit.Tape() as tape:
        loss = lodkit.ctc_loss(logits, targets)
    np.testing.assert_allclose(loss, theirs.detach().numpy(), rtol=1e-12)
    weights = np.arange(1.0, 5.0)
    theirs.backward(torch.from_numpy(weights))
    grad = tape.gradient(loss, [logits], output_gradients=weights)[0]
    expected = lodkit.sequence_unpad(padded.grad.swapaxes(0, 1).numpy(), np.array(frames)).values
    np.testing.assert_allclose(lodkit.lod.values_of(grad), expected, atol=1e-13)


def test_labels_that_frames_are_too_few_for():
    logits = LoDTensor(np.zeros((6, 3)), [[3, 1, 0, 2]])
    labels = LoDTensor(np.array([1, 1, 1, 2, 2, 2, 2]), [[2, 2, 1, 2]])  # equal ones take a frame between them
    assert np.isinf(lodkit.ctc_loss(logits, labels)).tolist() == [False, True, True, True]
    assert lodkit.ctc_loss(logits, labels, zero_infinity=True)[1:].tolist() == [0, 0, 0]
    grad = lodkit.ctc_loss_grad(logits, labels, np.ones(4)).values
    assert np.isfinite(grad).all() and not grad[3:].any() and grad[:3].all()


def test_nan_stays_in_its_sequence():
    x = np.zeros((6, 3))
    x[0, 1], x[2, 2], x[4] = -np.inf, np.nan, [np.inf, 0, np.inf]
    logits, labels = LoDTensor(x, [[2, 2, 2]]), LoDTensor(np.array([1, 1, 1]), [[1, 1, 1]])
    assert np.isnan(lodkit.ctc_loss(logits, labels)).tolist() == [False, True, False]
    grad = lodkit.ctc_loss_grad(logits, labels, np.ones(3)).values
    assert np.isfinite(grad).all(axis=1).tolist() == [True, True, False, False, True, True]


def test_a_loss_beyond_float16_is_infinite():
    logits = LoDTensor(np.array([[3e4, -3e4]] * 3, np.float16), [[3]])
    labels = LoDTensor([1, 1], [[2]])
    assert lodkit.ctc_loss(logits, labels).tolist() == lodkit.ctc_loss.definition(logits, labels).tolist() == [np.inf]


@pytest.mark.parametrize(
    ("labels", "attrs", "error", "words"),
    [
        ([1, 3], {}, lodkit.RowIndexError, r"labels\[1\] = 3 is outside \[0, 3\)"),
        ([-1, 1], {}, lodkit.RowIndexError, r"labels\[0\] = -1"),
        ([1, 0], {}, lodkit.RowIndexError, r"labels\[1\] = 0 is the blank"),
        ([1, 1], {"blank": 3}, ValueError, r"blank = 3 is outside \[0, 3\)"),
        ([1.0, 1.0], {}, lodkit.DTypeError, "takes integers, not"),
        ([1, 1], {"norm_by_times": "both"}, ValueError, "gradient"),
    ],
)
def test_bad_input(labels, attrs, error, words):
    with pytest.raises(error, match=words):
        lodkit.ctc_loss(LoDTensor(np.zeros((4, 3)), [[2, 2]]), LoDTensor(np.array(labels), [[1, 1]]), **attrs)


def test_sequences_are_pairs():
    logits = LoDTensor(np.zeros((4, 3)), [[2, 2]])
    with pytest.raises(lodkit.LoDMismatchError, match="logits has 2 sequences, labels 1"):
        lodkit.ctc_loss(logits, LoDTensor([1], [[1]]))
    nested = LoDTensor(np.array([1, 1]), [[1, 1], [1, 1]])
    with pytest.raises(lodkit.LoDMismatchError, match="levels above"):
        lodkit.ctc_loss(LoDTensor(np.zeros((4, 3)), [[2], [2, 2]]), nested)


def test_paddle_divides_only_the_gradient_by_the_frames():
    logits, labels = batch([5, 8], [2, 3], 4, 1)
    runs = []
    for by_times in (False, True):
        with lodkit.Tape() as tape:
            inputs = {"Logits": logits, "Label": labels.with_values(labels.values.reshape(-1, 1))}
            loss = lodkit.paddle.run_op("warpctc", inputs, {"norm_by_times": by_times})["Loss"]
        runs.append((np.asarray(loss), lodkit.lod.values_of(tape.gradient(loss, [logits])[0])))
    (loss, grad), (same, divided) = runs
    np.testing.assert_array_equal(loss, same)
    np.testing.assert_allclose(divided, grad / np.repeat([5, 8], [5, 8])[:, None], rtol=1e-5)


def test_labels_that_frames_are_too_few_for_cost_nothing_in_paddle():
    inputs = {"Logits": LoDTensor(np.zeros((1, 3)), [[1]]), "Label": LoDTensor([[1], [1]], [[2]])}
    with lodkit.Tape() as tape:
        loss = lodkit.paddle.run_op("warpctc", inputs)["Loss"]
    assert loss.tolist() == [[0]]
    assert not lodkit.lod.values_of(tape.gradient(loss, [inputs["Logits"]])[0]).any()


def test_padded_input_is_that_of_sequences():
    logits, labels = batch([5, 0, 8], [2, 0, 3], 4, 1)
    lengths = logits.lengths()
    padded = lodkit.parameter(lodkit.pack_rnn_sequence(logits.values, lengths))
    slots = {"Logits": padded, "LogitsLength": lengths, "LabelLength": labels.lengths()}
    with lodkit.Tape() as tape:
        loss = lodkit.paddle.run_op("warpctc", {**slots, "Label": lodkit.sequence_pad(labels)[0]})["Loss"]
    np.testing.assert_array_equal(loss.ravel(), lodkit.ctc_loss(logits, labels))
    grad = lodkit.ctc_loss_grad(logits, labels, np.ones(3, np.float32)).values
    np.testing.assert_array_equal(tape.gradient(loss, [padded])[0], lodkit.pack_rnn_sequence(grad, lengths))
