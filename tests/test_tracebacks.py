"""Errors that lodkit raises on purpose end at the user's line, in Python, IPython and pytest; all others are whole."""

from __future__ import annotations

import os
import pdb
import pickle
import subprocess
import sys
import textwrap
import traceback

import numpy as np
import pytest

import lodkit
from lodkit import Features, LoDTensor, SelectedRows, Tape
from lodkit.base.tracebacks import shorten, surface

TABLE = np.zeros((4, 2))
X = LoDTensor(np.arange(6.0), [[2, 4]])


@pytest.fixture(autouse=True)
def _short(monkeypatch):
    monkeypatch.delenv("LODKIT_FULL_TRACEBACK")


def places(error):
    """File and function of each frame but those of the tests' own helpers."""
    frames = traceback.extract_tb(error.__traceback__)
    return [(os.path.basename(f.filename), f.name) for f in frames if f.name not in ("caught", "poisoned")]


def caught(call):
    try:
        call()
    except Exception as error:
        return error
    raise AssertionError("nothing was raised")


def in_tape():
    with Tape():
        lodkit.lookup_table(TABLE, [9])


CALLS = {
    "an id": lambda: lodkit.lookup_table(TABLE, [9]),
    "an id in a bag": lambda: lodkit.embedding_bag(TABLE, LoDTensor([9], [[1]])),
    "an attribute": lambda: lodkit.sequence_pool(X, pol="sum"),
    "a missing attribute": lambda: lodkit.sgd(TABLE, TABLE),
    "swapped inputs": lambda: lodkit.lookup_table(np.array([1, 2]), TABLE),
    "an attribute by position": lambda: lodkit.sequence_pool(X, "mean"),
    "text": lambda: lodkit.edit_distance(["kitten"], ["sitting"]),
    "an argument of a function": lambda: lodkit.split(X, chunks=2),
    "an argument of a method": lambda: X.to_padded(padding=2),
    "a kind": lambda: lodkit.relu(SelectedRows([1], [[1.0]], 3)),
    "out=": lambda: lodkit.lookup_table(TABLE, [1], out=np.zeros(3)),
    "no array": lambda: lodkit.sequence_pool("word"),
    "by name": lambda: lodkit.run("lookup_table", TABLE, [9]),
    "infer": lambda: lodkit.relu.infer(3),
    "select": lambda: lodkit.relu.select("word"),
    "lengths": lambda: LoDTensor([1, 2, 3], [[1]]),
    "nested lists": lambda: LoDTensor.from_nested([[1], [2, "a"]]),
    "an index": lambda: X[9],
    "a slice": lambda: X.slice(9),
    "rows": lambda: SelectedRows([9], [[1.0]], 4),
    "padding": lambda: X.to_padded(max_length="long"),
    "parts of a batch": lambda: lodkit.concat([X, 3]),
    "a file": lambda: lodkit.load("no-such-file"),
    "keys": lambda: lodkit.GrowingTable(2).lookup(["a"]),
    "Features": lambda: Features([1], [1], [2], [1]),
    "an optimizer": lambda: lodkit.optim.Adagrad({"t": TABLE}, lr=1, rate=1),
    "a step": lambda: lodkit.optim.SGD({"t": TABLE}, lr=1).step([np.zeros(3)]),
    "Caffe2's name": lambda: lodkit.caffe2.SparseLengthsSum(TABLE, [9], [1]),
    "Paddle's name": lambda: lodkit.paddle.run_op("lookup_table", {"W": TABLE, "Ids": [[9]]}),
    "words": lambda: lodkit.vocabulary("a b"),
    "words of ids": lambda: lodkit.Vocabulary(["a"]).words([3]),
    "ids of words": lambda: lodkit.Vocabulary(["a"])([["b"]]),
    "a picture of lengths": lambda: lodkit.plot.lengths(3),
    "a picture of levels": lambda: lodkit.plot.structure(3),
    "a picture of rows": lambda: lodkit.plot.rows(X),
    "gradients": lambda: Tape().gradient(TABLE, TABLE),
}


@pytest.mark.parametrize("what", CALLS)
def test_no_frame_of_lodkit_is_shown(what):
    error = caught(CALLS[what])
    assert places(error) == [("test_tracebacks.py", "<lambda>")]
    assert error.__cause__ is None
    assert error.__context__ is None or error.__suppress_context__


TORCH_CALLS = {
    "a bag": lambda t, ours: ours.EmbeddingBag(4, 2)(t.tensor([9]), t.tensor([0])),
    "a bag for inference": lambda t, ours: ours.EmbeddingBag(4, 2).requires_grad_(False)(LoDTensor([9], [[1]])),
    "weights of a mean": lambda t, ours: ours.EmbeddingBag(4, 2)(LoDTensor([1], [[1]]), per_sample_weights=t.ones(1)),
    "a pool": lambda t, ours: ours.SequencePool()(t.zeros(3)),
    "a pool of offsets": lambda t, ours: ours.SequencePool()(t.zeros(3), t.tensor([0, 2])),
    "an operator": lambda t, ours: ours.lookup_table(t.zeros(4, 2), [9]),
    "an operator with a gradient": lambda t, ours: ours.lookup_table(t.zeros(4, 2, requires_grad=True), [9]),
    "an optimizer": lambda t, ours: ours.optim.SGD([t.zeros(3)], lr=1, rate=1),
    "a group": lambda t, ours: ours.optim.SGD([t.zeros(3)], 1).add_param_group({"params": [t.ones(2)], "rate": 1}),
    "a step": lambda t, ours: with_bad_rate(t, ours).step(),
}


def with_bad_rate(torch, ours):
    optimizer = ours.optim.SGD([torch.zeros(3)], lr=1)
    optimizer.param_groups[0]["lr"] = abs
    return optimizer


@pytest.mark.parametrize("what", TORCH_CALLS)
def test_frames_of_pytorch_stay_and_none_of_lodkit(what):
    torch = pytest.importorskip("torch")
    error = caught(lambda: TORCH_CALLS[what](torch, lodkit.interop.torch))
    files = [frame.filename for frame in traceback.extract_tb(error.__traceback__)]
    assert files[:3] == 3 * [__file__]  # ``caught``, and two lambdas
    assert not [file for file in files if file.startswith(os.path.dirname(lodkit.__file__))]


def test_the_error_itself_is_the_same(monkeypatch):
    short = caught(CALLS["an id"])
    monkeypatch.setenv("LODKIT_FULL_TRACEBACK", "1")
    whole = caught(CALLS["an id"])
    assert (type(short), str(short)) == (type(whole), str(whole))
    assert places(whole)[-1] == ("ids.py", "ids_in_range")
    assert str(pickle.loads(pickle.dumps(short))) == str(short)
    monkeypatch.setenv("LODKIT_FULL_TRACEBACK", "0")
    assert len(places(caught(CALLS["an id"]))) == 1


def test_inside_a_tape():
    assert places(caught(in_tape)) == [("test_tracebacks.py", "in_tape")]


def test_an_error_of_numpy_is_explained_in_one_line_more(monkeypatch):
    call = lambda: lodkit.lookup_table(np.float64(3), [1])  # noqa: E731
    error = caught(call)
    assert isinstance(error, lodkit.LodkitError)
    assert len(places(error)) <= 2
    assert error.__cause__ is None


def test_a_cause_is_shown_without_frames_of_lodkit():
    error = caught(lambda: lodkit.lookup_table(TABLE, [[1], [1, 2]]))
    assert places(error) == [("test_tracebacks.py", "<lambda>")]
    assert isinstance(error.__cause__, ValueError)
    assert places(error.__cause__) == []


def test_a_users_function_between_two_calls_is_shown():
    def step(inputs, memories, static):
        return (lodkit.lookup_table(TABLE, [9]),), memories

    error = caught(lambda: lodkit.dynamic_rnn(step, X, np.zeros(2)))
    assert places(error) == [("test_tracebacks.py", "<lambda>"), ("test_tracebacks.py", "step")]


def test_errors_of_a_users_function_keep_all_frames():
    def step(inputs, memories, static):
        raise KeyError("mine")

    found = places(caught(lambda: lodkit.dynamic_rnn(step, X, np.zeros(2))))
    assert found[-1] == ("test_tracebacks.py", "step")
    assert ("dynamic_rnn.py", "dynamic_rnn") in found


def test_a_defect_of_lodkit_keeps_all_frames(monkeypatch):
    kernel = lodkit.tanh.select(TABLE)

    def broken(*inputs, **attrs):
        return kernel(None, None, None, None, None)

    monkeypatch.setitem(lodkit.tanh._plans, (np.ndarray,), broken)
    found = places(caught(lambda: lodkit.tanh(TABLE)))
    assert ("<tanh>", "tanh") in found


def test_surface_keeps_signature_and_result():
    @surface
    def double(x: int) -> int:
        """Twice."""
        return 2 * x

    assert (double(3), double.__doc__, double.__name__) == (6, "Twice.", "double")
    error = ValueError("never raised")
    shorten(error)
    assert error.__traceback__ is None


SCRIPT = textwrap.dedent(
    """
    import numpy as np, lodkit

    def train():
        lodkit.lookup_table(np.zeros((4, 2)), [9])
    """
)


def run(arguments, folder, **env):
    env = {**os.environ, "LODKIT_FULL_TRACEBACK": "0", "IPYTHONDIR": str(folder), **env}
    return subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, check=False, cwd=folder, env=env
    )


def test_plain_python_shows_two_frames(tmp_path):
    (tmp_path / "train.py").write_text(SCRIPT + "\ntrain()\n")
    lines = run(["train.py"], tmp_path).stderr.splitlines()
    assert [line.strip() for line in lines if line.startswith("  File")] == [
        f'File "{tmp_path}/train.py", line 7, in <module>',
        f'File "{tmp_path}/train.py", line 5, in train',
    ]
    assert lines[-1].startswith("lodkit.RowIndexError: ids[0] = 9 is outside [0, 4)")
    assert "gather" in run(["train.py"], tmp_path, LODKIT_FULL_TRACEBACK="1").stderr


def test_ipython_shows_the_users_lines_only(tmp_path):
    pytest.importorskip("IPython")
    (tmp_path / "train.py").write_text(SCRIPT)
    command = ["-m", "IPython", "--no-banner", "--colors=nocolor", "-c", "import train; train.train()"]
    shown = run(command, tmp_path).stdout
    assert "RowIndexError: ids[0] = 9" in shown
    assert "lodkit.lookup_table(np.zeros((4, 2)), [9])" in shown
    assert "operators.py" not in shown
    assert "skipping" not in shown


def test_pytest_shows_the_users_lines_only(tmp_path):
    (tmp_path / "test_train.py").write_text(SCRIPT + "\ndef test_it():\n    train()\n")
    shown = run(["-m", "pytest", "-q", "-p", "no:cacheprovider", "test_train.py"], tmp_path).stdout
    assert "test_train.py:5: RowIndexError" in shown
    assert "operators.py" not in shown


def test_a_debugger_lands_on_the_users_line():
    error = caught(CALLS["an id"])
    debugger = pdb.Pdb()
    debugger.setup(None, error.__traceback__)
    assert debugger.curframe.f_code.co_name == "<lambda>"
