"""What people type who know other libraries, and what the error says: argument, place or value, and a remedy.

A row is a call, words of its message apart by ``|``, and the remedy. This one stands in the message as it is, and runs
with the names of the table below; one that begins with ``~`` is what the message says in words.
"""

from __future__ import annotations

import numpy as np
import pytest
from mistaken_calls import CALLS
from mistaken_names import NAMED
from mistaken_values import VALUES

import lodkit

OPERATORS = [*CALLS, *NAMED]
MOST_CHARACTERS = 600


def make_names():
    """Names for calls and remedies: operators, then what the messages call their inputs."""
    rows = np.arange(6.0).reshape(3, 2)
    return {
        **lodkit.OPS,
        "np": np,
        "lodkit": lodkit,
        "optim": lodkit.optim,
        "OPS": lodkit.OPS,
        **{name: getattr(lodkit, name) for name in ("LoDTensor", "SelectedRows", "Features")},
        "table": np.arange(8.0).reshape(4, 2),
        "flat": np.array([1, 2, 0]),
        "ids": lodkit.LoDTensor([1, 2, 0], [[2, 1]]),
        "weights": np.ones(3),
        "lengths": [2, 1],
        "segments": [2, 1],
        "rows": rows,
        "data": rows,
        "x": lodkit.LoDTensor(rows, [[2, 1]]),
        "y": lodkit.LoDTensor([1, 2, 0], [[2, 1]]),
        "t": lodkit.LoDTensor([3.0, 1.0, 2.0], [[2, 1]]),
        "u": lodkit.LoDTensor([4.0, 5.0, 6.0], [[2, 1]]),
        "s": lodkit.SelectedRows([0, 2], np.ones((2, 2)), 4),
        "nested": lodkit.LoDTensor(np.arange(6.0), [[2, 1], [3, 1, 2]]),
        "query": lodkit.LoDTensor(np.ones((3, 4)), [[2, 1]]),
        "key": lodkit.LoDTensor(np.ones((3, 4)), [[2, 1]]),
        "value": lodkit.LoDTensor(np.ones((3, 4)), [[2, 1]]),
        "param": np.ones((4, 2)),
        "grad": np.full((4, 2), 0.5),
        **{name: np.zeros((4, 2)) for name in ("moment", "moment1", "moment2", "velocity", "square")},
        "logits": lodkit.LoDTensor(np.zeros((4, 3)), [[4]]),
        "labels": lodkit.LoDTensor([1, 2], [[2]]),
        "emission": lodkit.LoDTensor(np.zeros((3, 2)), [[2, 1]]),
        "label": lodkit.LoDTensor([0, 1, 1], [[2, 1]]),
        "transition": np.zeros((4, 2)),
        "filter": np.ones((6, 2)),
        "weight": np.ones((2, 3)),
        "texts": [["to", "be"], ["or"]],
        "sentences": ["to be", "or not"],
        "mask": np.array([True, False]),
    }


def run(code, names):
    """Run an expression, or a statement."""
    try:
        compiled = compile(code, "<call>", "eval")
    except SyntaxError:
        compiled = compile(code, "<call>", "exec")
    return eval(compiled, names)


def check_mistake(call, words, remedy, given=""):
    """Make a mistake, read the message, and do as it says. ``given`` sets names before both."""
    names = make_names()
    exec(given, names)
    with pytest.raises((TypeError, ValueError, LookupError, AttributeError, NotImplementedError)) as caught:
        run(call, names)
    message = str(caught.value)
    assert len(message) <= MOST_CHARACTERS, len(message)
    for word in filter(None, words.split(" | ")):
        assert word in message, f"{word!r} is not in: {message}"
    if not remedy.startswith("~"):
        assert remedy in message, f"{remedy!r} is not in: {message}"
    names = make_names()
    exec(given, names)
    run(remedy.lstrip("~ "), names)


@pytest.mark.parametrize("row", OPERATORS, ids=lambda row: row[0])
def test_a_call_of_an_operator_that_misfits(row):
    check_mistake(*row)


@pytest.mark.parametrize("row", VALUES, ids=lambda row: row[0])
def test_a_value_that_is_no_array(row):
    check_mistake(*row)


def test_there_are_two_hundred():
    calls = [row[0] for row in (*OPERATORS, *VALUES)]
    assert len(calls) == len(set(calls)) >= 200


def test_a_call_that_is_right_asks_for_no_explanation(monkeypatch):
    """Nor does an error of ids, whose message has all: the mistakes are looked for where inputs misfit."""
    from lodkit.registry import explaining

    asked = []
    monkeypatch.setattr(explaining, "explain_mistake", lambda *call: asked.append(call))
    names = make_names()
    run("embedding_bag(table, ids)", names)
    with pytest.raises(lodkit.RowIndexError, match=r"ids\[0\] = 9 is outside"):
        run("lookup_table(table, [9])", names)
    assert not asked


def test_what_an_input_raises_meanwhile_does_not_hide_the_error(monkeypatch):
    from lodkit.registry import mistakes

    def fail(*call):
        raise RuntimeError("of an object that is no array")

    monkeypatch.setattr(mistakes, "find_swap", fail)
    with pytest.raises(TypeError, match="relu: x must be a NumPy or CUDA array, got str"):
        lodkit.relu("word")


def test_arrays_without_end_are_not_looked_through():
    endless = np.broadcast_to(np.int64(1), 1 << 59)
    with pytest.raises(TypeError, match="no argument 'lengths'"):
        lodkit.LoDTensor(np.ones(3), lengths=endless)
    with pytest.raises(lodkit.NoKernelError, match="sequence_pool"):
        lodkit.sequence_pool(np.ones(3), lengths=endless)


def test_integers_where_they_belong_are_not_called_swapped():
    table = lodkit.LoDTensor(np.array([10, 20, 30]), [[1, 2]])
    with pytest.raises(lodkit.NoKernelError, match="data=LoDTensor") as caught:
        lodkit.gather(table, [2, 1, 0])
    assert "swapped" not in str(caught.value)


def test_lengths_in_a_lod_tensor_are_not_the_mistake():
    """Each row may be a length: an error is of what is wrong, and the lengths are taken."""
    lengths = lodkit.LoDTensor(np.array([2, 1, 0]), [[1, 2]])
    for attrs, text in (
        ({"max_length": -5}, "max_length = -5 is negative"),
        ({"dtype": "nothing"}, "dtype must be one of"),
    ):
        with pytest.raises(ValueError, match=text):
            lodkit.sequence_mask(lengths, **attrs)
    with pytest.raises(lodkit.OutputError, match="out has shape"):
        lodkit.sequence_mask(lengths, out=np.ones(3))
