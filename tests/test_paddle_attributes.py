"""What saved programs of Paddle carry beside what their operators read."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
from inferred import described

import lodkit
from lodkit import LoDTensor
from lodkit.paddle import SlotError, infer_op, run_op
from lodkit.paddle._attributes import OF_ALL, fixed_attributes, unread_attributes

SAVED = {
    "padding_idx": -1,
    "is_sparse": False,
    "is_distributed": False,
    "grad_inplace": False,
    "remote_prefetch": False,
    "epmap": [],
    "trainer_id": 0,
    "table_names": [],
    "height_sections": [],
    "entry": "none",
    "entry_config": "",
    "op_role": 0,
    "op_role_var": [],
    "op_namescope": "/",
    "op_callstack": ["File"],
    "op_device": "",
}


def test_attributes_of_saved_programs_are_taken():
    slots = {"W": np.arange(12.0).reshape(6, 2), "Ids": np.array([[1]])}
    assert run_op("lookup_table", slots, SAVED)["Out"].tolist() == [[2, 3]]
    assert infer_op("lookup_table", described(slots), SAVED)["Out"].dims == (1, 2)
    x = LoDTensor(np.ones((2, 1)), [[2]])
    for name, more in (("sequence_softmax", {"use_cudnn": True}), ("sequence_pool", {"is_test": True})):
        assert run_op(name, {"X": x}, {**more, "op_role": 2})["Out"].shape[1:] == (1,)


@pytest.mark.parametrize("name", lodkit.paddle.TYPES)
def test_unread_attributes_are_those_that_nothing_reads(name):
    read = inspect.signature(lodkit.paddle.TYPES[name]).parameters
    assert not unread_attributes(name).intersection(read)
    assert not read.keys() & fixed_attributes(name)
    assert unread_attributes(name) >= OF_ALL


def test_attributes_of_one_value_are_taken_and_others_refused():
    slots = {"Param": np.ones((2, 1)), "Grad": np.ones((2, 1)), "LearningRate": np.array([0.5])}
    assert run_op("sgd", slots, {"multi_precision": False})["ParamOut"].tolist() == [[0.5], [0.5]]
    for value in (True, np.ones(2)):
        with pytest.raises(NotImplementedError, match="sgd takes multi_precision=False only, got"):
            run_op("sgd", slots, {"multi_precision": value})
    with pytest.raises(SlotError, match="it has multi_precision"):
        run_op("sgd", slots, {"multi_precisions": False})


def test_attributes_of_others_are_refused_by_name():
    with pytest.raises(SlotError, match="sequence_pool has no attribute 'epmap'; it has pooltype, pad_value"):
        run_op("sequence_pool", {"X": LoDTensor(np.ones((2, 1)), [[2]])}, {"epmap": []})
