"""Old names of attributes warn at the user's line, and give what the new names give, wherever a call may go."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

import lodkit
from lodkit import LoDTensor
from lodkit.registry.usage import RENAMED

X = LoDTensor(np.array([1.0, 2.0, 3.0]), [[1, 2]])
GRAD = np.ones((2, 3))
CALLS = {
    "sequence_pad": ((X,), {"padded_length": 3}),
    "sequence_pad_grad": ((X, GRAD), {"padded_length": 3}),
    "sequence_pad_value_grad": ((X, np.zeros(1), GRAD), {"padded_length": 3}),
    "lengths_pad": ((X.values, np.array([1, 2])), {"target_length": 3}),
}


def numbers_of(result):
    return [np.asarray(getattr(x, "values", x)).tolist() for x in (result if isinstance(result, tuple) else (result,))]


def test_every_renamed_attribute_has_a_call():
    assert {name: set(names) for name, names in RENAMED.items()} == {name: set(CALLS[name][1]) for name in CALLS}
    for name, names in RENAMED.items():
        assert set(names.values()) <= set(inspect.signature(lodkit.OPS[name]).parameters)
        assert not set(names) & set(inspect.signature(lodkit.OPS[name]).parameters)


@pytest.mark.parametrize("name", CALLS)
def test_an_old_name_warns_at_the_line_of_the_call(name):
    inputs, attrs = CALLS[name]
    op, ((old, value),) = lodkit.OPS[name], attrs.items()
    new = RENAMED[name][old]
    with pytest.warns(DeprecationWarning, match=f"{name}: {old} is renamed to {new}; pass {new}={value}") as warned:
        found = op(*inputs, **attrs)
    assert [(warning.filename, warning.lineno) for warning in warned] == [(__file__, warned[0].lineno)]
    assert numbers_of(found) == numbers_of(op(*inputs, **{new: value}))
    descs = [lodkit.VarDesc.of(x) for x in inputs]
    with pytest.warns(DeprecationWarning, match=old):
        assert op.infer(*descs, **attrs) == op.infer(*descs, **{new: value})
    with pytest.warns(DeprecationWarning, match=old):
        assert str(op.explain(*inputs, **attrs)) == str(op.explain(*inputs, **{new: value}))


@pytest.mark.parametrize("name", CALLS)
def test_an_old_name_beside_the_new_one_raises(name):
    inputs, attrs = CALLS[name]
    (old,) = attrs
    new = RENAMED[name][old]
    with pytest.raises(TypeError, match=f"{name} got {old}= and {new}=; .*: pass {new}= alone"):
        lodkit.OPS[name](*inputs, **attrs, **{new: 3})


def test_a_tape_and_an_array_to_fill_take_an_old_name():
    x = lodkit.parameter(np.array([1.0, 2.0, 3.0]))
    with lodkit.Tape() as tape, pytest.warns(DeprecationWarning, match="padded_length"):
        padded, _ = lodkit.sequence_pad(LoDTensor(x, [[1, 2]]), padded_length=1, truncate=True)
    assert tape.gradient(padded, [x])[0].tolist() == [1, 1, 0]
    out = np.zeros(6)
    with pytest.warns(DeprecationWarning, match="target_length"):
        lodkit.lengths_pad(X.values, np.array([1, 2]), target_length=3, out=out)
    assert out.tolist() == [1, 0, 0, 2, 3, 0]
