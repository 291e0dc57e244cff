"""A parameter is an array wherever one is taken: by operators, optimizers, files, pickle, compiled functions."""

from __future__ import annotations

import copy
import pickle

import numba
import numpy as np
import pytest
from conftest import copy as copied
from conftest import flat
from samples import SAMPLES

import lodkit
from lodkit import LoDTensor, SelectedRows, parameter
from lodkit.arrays.recorded import Parameter

rng = np.random.default_rng(5)
IDS = LoDTensor([1, 2, 2, 0, 3], [[2, 1, 2]])


def matrix():
    return rng.normal(size=(4, 3))


def first_samples():
    for name in sorted(lodkit.OPS):
        for inputs, attrs in SAMPLES.get(name, ())[:2]:
            if any(is_floating(x) for x in inputs):
                yield pytest.param(name, inputs, attrs, id=name)


def is_floating(x):
    array = x.values if isinstance(x, LoDTensor) else x.value if isinstance(x, SelectedRows) else x
    return isinstance(array, np.ndarray) and array.dtype.kind == "f"


@pytest.mark.parametrize(("name", "inputs", "attrs"), [*first_samples()])
def test_operators_take_parameters_as_arrays(name, inputs, attrs):
    """The same bits, at the first call and later; what an update returns is the parameter that was given."""
    op = lodkit.OPS[name]
    for _ in range(2):
        given = [parameter(copied(x)) if is_floating(x) else copied(x) for x in inputs]
        got, expected = op(*given, **attrs), op(*map(copied, inputs), **attrs)
        for a, b in zip(flat(got), flat(expected), strict=True):
            np.testing.assert_array_equal(np.asarray(a), b)
        if op.updates and isinstance(given[0], np.ndarray):
            assert (got[0] if isinstance(got, tuple) else got) is given[0]


def test_calls_of_parameters_look_at_their_types_once(monkeypatch):
    op, W = lodkit.embedding_bag, parameter(matrix())
    op(W, IDS)
    monkeypatch.setattr(type(op), "_accept", None)
    op(W, IDS)


def test_results_that_share_memory_with_a_parameter():
    W = parameter(matrix())
    for made in (lodkit.sequence_reshape(LoDTensor(W, [[4]]), new_dim=6), lodkit.lod_reset(W, [1, 3])):
        assert type(made.values) is Parameter and np.shares_memory(made.values, W)
    assert np.ravel(np.lib.stride_tricks.as_strided(W, (2,), (8,), subok=True)).tolist() == W[0, :2].tolist()


def test_an_update_by_lists_returns_the_parameter():
    W = parameter(np.zeros((2, 2)))
    assert lodkit.sgd(W, [[1.0, 2.0], [3.0, 4.0]], lr=1.0) is W
    assert W.tolist() == [[-1, -2], [-3, -4]]


def test_a_parameter_is_an_array():
    x = matrix()
    W = parameter(x)
    assert isinstance(W, np.ndarray) and np.shares_memory(W, x) and parameter(W) is W
    for made in (pickle.loads(pickle.dumps(W)), copy.copy(W), copy.deepcopy({"W": W})["W"]):
        assert type(made) is Parameter and not np.shares_memory(made, x)
        np.testing.assert_array_equal(made, x)
    assert b"recorded" not in pickle.dumps(W)
    with pytest.raises(ValueError, match="does not own its data"):
        W.resize(2, refcheck=False)
    assert str(W) == str(x) and repr(W) == repr(x).replace("array(", "Parameter(").replace("\n", "\n    ")
    assert f"{W[0, 0]:.3f}" == f"{x[0, 0]:.3f}" and W.tolist() == x.tolist() and float(W[0, 0]) == x[0, 0]
    assert type(W * 2) is type(W.copy()) is type(W > 0) is type(np.asarray(W)) is np.ndarray
    np.testing.assert_array_equal(total_of_rows(W), x.sum(axis=1))
    W += 1
    W[0] = 7
    assert type(W) is Parameter and x[0].tolist() == [7] * 3


@numba.njit
def total_of_rows(x):
    return x.sum(axis=1)


def test_files_and_optimizers(tmp_path):
    x = matrix()
    W = parameter(x.copy())
    lodkit.save(tmp_path / "W.npz", {"W": W})
    assert type(lodkit.load(tmp_path / "W.npz")["W"]) is np.ndarray
    np.testing.assert_array_equal(lodkit.load(tmp_path / "W.npz")["W"], x)
    steps = [lodkit.optim.Adam({"W": w}, lr=0.1) for w in (W, x)]
    for optimizer in steps:
        for grad in (np.ones((4, 3)), SelectedRows([1, 1], np.ones((2, 3)), 4)):
            optimizer.step([grad])
    np.testing.assert_array_equal(W, x)
    assert steps[0].params["W"] is W


@pytest.mark.parametrize("made", [[1.0, 2.0], np.ones(3, np.float16), np.ones((2, 3))[:, ::2], np.float32(3)])
def test_what_a_parameter_may_be_made_of(made):
    W = parameter(made)
    assert type(W) is Parameter
    np.testing.assert_array_equal(W, made)


@pytest.mark.parametrize(
    ("x", "error", "message"),
    [
        (np.arange(3), lodkit.DTypeError, r"must hold floating numbers, not int64; .*astype\(np.float64\)"),
        (np.ma.masked_array([1.0]), TypeError, "masked"),
        ("W", TypeError, "takes arrays, LoDTensors and SelectedRows, got str"),
        (LoDTensor(None, [[2]]), TypeError, "got NoneType"),
    ],
)
def test_what_a_parameter_may_not_be(x, error, message):
    with pytest.raises(error, match=message):
        parameter(x)
