"""Names of other libraries: those that exist mean the same, the others say what does it."""

from __future__ import annotations

import copy
import pickle
import pydoc
import re

import numpy as np
import pytest

import lodkit
from lodkit import Features, LoDTensor, SelectedRows
from lodkit.lod.elsewhere import FEATURES, LOD_TENSOR, SELECTED_ROWS

VALUES = {
    "t": (LOD_TENSOR, LoDTensor(np.array([1.0, 3.0, 2.0, 4.0]), [[2, 2]])),
    "s": (SELECTED_ROWS, SelectedRows([3, 1], np.array([[1.0, 2.0], [3.0, 4.0]]), 5)),
    "f": (FEATURES, Features([2, 1], [1, 3, 1], [2, 1, 1], [0, 1, 1, 0])),
}
NAMES = {
    "LoDTensor": LoDTensor,
    "SelectedRows": SelectedRows,
    "Features": Features,
    "lodkit": lodkit,
    "np": np,
    "copy": copy,
    "low": 1,
    "high": 2,
    "weight": np.ones((1, 2)),
    "f": lambda rows: rows * 2,
    "mask": np.array([True, False]),
    "lengths": [[1, 3]],
    "values": np.arange(4.0),
    "offsets": [0, 1, 4],
    "segment_ids": [0, 0, 1, 1],
    "starts": [0, 1],
    "limits": [1, 4],
    "length": 2,
    "lists": [[1], [2, 3]],
    "array": np.ones((2, 3)),
    "u": VALUES["t"][1],
    "tables": {1: np.ones((2, 3)), 3: np.ones((2, 3))},
}
CASES = [
    pytest.param(letter, name, calls, id=f"{letter}.{name}")
    for letter, (table, _) in VALUES.items()
    for names, calls in table.items()
    for name in names.split()
]


@pytest.mark.parametrize(("letter", "name", "calls"), CASES)
def test_a_name_says_what_does_it(letter, name, calls):
    value = VALUES[letter][1]
    with pytest.raises(AttributeError, match=rf"{type(value).__name__} has no '{name}'; use ") as caught:
        getattr(value, name)
    assert not hasattr(value, name)
    assert getattr(value, name, 3) == 3
    assert name not in dir(value)
    for call in calls:
        call = call.replace("NAME", name)
        assert call in str(caught.value)
        if name in ("cuda", "detach", "from_packed_sequence") or "value.detach" in call:
            continue
        column = "fc(" in call or "softmax(t)" in call  # these take rows of several numbers
        names = {**NAMES, letter: value.with_values(value.values[:, None]) if column else copy.deepcopy(value)}
        if "pd." in call:
            names["pd"] = pytest.importorskip("pandas")
        if "scipy" in call:
            pytest.importorskip("scipy")
        exec(call, names)


def test_no_name_of_the_tables_hides_a_member():
    for letter, (table, value) in VALUES.items():
        listed = [name for names in table for name in names.split()]
        assert len(listed) == len(set(listed)), letter
        shown = {name for name in dir(value) if not name.startswith("_")}
        assert not shown & set(listed)
        assert {"to", "dtype", "device"} <= shown
        assert not [name for name in shown if not hasattr(value, name)]


def test_other_names_raise_as_ever():
    for _, value in VALUES.values():
        with pytest.raises(AttributeError, match=r"object has no attribute 'nonsense'"):
            value.nonsense
        with pytest.raises(AttributeError):
            value.sum = 3
        assert type(pickle.loads(pickle.dumps(value))) is type(value)
        assert type(copy.copy(value)) is type(copy.deepcopy(value)) is type(value)
        assert re.search(r"class (LoDTensor|SelectedRows|Features)", pydoc.plain(pydoc.render_doc(type(value))))


@pytest.mark.parametrize("values", [np.arange(6).reshape(3, 2), np.arange(3.0)])
def test_members_agree_with_numpy(values):
    t = LoDTensor(values, [[2, 1]])
    assert t.ndim == values.ndim
    assert t.tolist() == t.to_list()
    made = t.astype("float32")
    assert made.dtype == np.float32
    assert made.same_lod(t)
    np.testing.assert_array_equal(made.values, values)
    other = t.copy()
    assert other.equals(t)
    assert not np.shares_memory(other.values, t.values)
    assert LoDTensor(None, [[2]]).copy().same_lod(LoDTensor(None, [[2]]))
    with pytest.raises(lodkit.LodkitError, match="values"):
        LoDTensor(None, [[2]]).astype("int32")
    with pytest.raises(lodkit.DTypeError, match="text"):
        t.astype(str)


def test_a_copy_on_a_tape_is_recorded():
    x = LoDTensor(np.array([[1.0], [2.0]]), [[2]])
    with lodkit.Tape() as tape:
        y = lodkit.mean(lodkit.relu(x).copy() * 3.0)
    np.testing.assert_allclose(tape.gradient(y, [x])[0].values, [[1.5], [1.5]])
