"""Pickles name the public home of a class, not the file that it stands in today."""

from __future__ import annotations

import copy
import pickle
import pickletools

import numpy as np
import pytest

import lodkit

VALUES = {
    "LoDTensor": lodkit.LoDTensor(np.ones((3, 2)), [[2, 0], [1, 2]]),
    "SelectedRows": lodkit.SelectedRows([1, 1], np.ones((2, 2)), 3),
    "Features": lodkit.Features.from_dicts([{"a": [1, 2]}]) if hasattr(lodkit.Features, "from_dicts") else None,
    "RankTable": lodkit.lod_rank_table(lodkit.LoDTensor(np.ones((3, 2)), [[1, 2]])),
    "VarDesc": lodkit.VarDesc.of(np.ones((3, 2))),
    "VarType": lodkit.VarType.SELECTED_ROWS,
    "LoDError": lodkit.LoDError("lengths"),
    "StreamError": lodkit.paddle.StreamError("bytes"),
    "operator": lodkit.sgd,
    "registry": lodkit.OPS,
    "class": lodkit.LoDTensor,
}


def modules_of(data):
    """The modules of lodkit that a pickle names."""
    words = [argument for _, argument, _ in pickletools.genops(data) if isinstance(argument, str)]
    return {word for word in words if word.partition(".")[0] == "lodkit"}


@pytest.mark.parametrize("name", VALUES)
@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_pickles_name_the_public_home(name, protocol):
    data = pickle.dumps(VALUES[name], protocol)
    found = {word.partition(" ")[0] for word in modules_of(data)}
    assert found <= {"lodkit", "lodkit.paddle"}, found
    again = pickle.loads(data)
    assert type(again) is type(VALUES[name])
    if name == "LoDTensor":
        assert again.equals(VALUES[name])


@pytest.mark.parametrize("name", sorted(lodkit._HOME_OF))
def test_public_classes_say_where_they_are(name):
    value = getattr(lodkit, name)
    if isinstance(value, type) and name != "Dense":
        assert value.__module__ == "lodkit"
        assert getattr(lodkit, value.__name__) is value


def test_only_the_registry_of_operators_is_one_thing():
    types = lodkit.paddle.TYPES
    assert pickle.loads(pickle.dumps(types)) == types
    assert copy.copy(types) == types and copy.copy(types) is not types


def test_published_names_can_be_sent_to_another_process():
    for module, names in ((lodkit.caffe2, lodkit.caffe2.OPERATORS), (lodkit.paddle, lodkit.paddle.__all__)):
        for name in names:
            assert pickle.loads(pickle.dumps(getattr(module, name))) == getattr(module, name)
