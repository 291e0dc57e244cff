"""Ids that are no rows, at every entry that takes ids: equal to the height, negative, the largest there is."""

from __future__ import annotations

import numpy as np
import pytest
from ids_outside import LARGEST, check_operator, check_published, documents_ids, has_integers, refusal, says
from samples import CAFFE2, PADDLE, SAMPLES, some_of

import lodkit
from lodkit import LoDTensor, SelectedRows

#: Operators that raise RowIndexError for an attribute, and ignore ids that it does not list.
OF_ATTRIBUTES = {"sparse_to_dense_mask"}


@pytest.mark.parametrize("name", lodkit.OPS)
def test_every_operator_refuses_them(name):
    """And says so: the documentation of an operator names the error that it raises, and no other operator's does."""
    op = lodkit.OPS[name]
    found = check_operator(name, SAMPLES[name])
    rest = [x for inputs, _ in SAMPLES[name] for x in op._accept(tuple(inputs))[1:]]
    if not name.endswith("_grad") and (found or any(map(has_integers, rest))):
        assert found == documents_ids(op) or name in OF_ATTRIBUTES


@pytest.mark.parametrize("name", some_of([*CAFFE2, *PADDLE], 3))
def test_published_names_refuse_them(name):
    if name in CAFFE2:
        *inputs, last = CAFFE2[name]
        attrs, inputs = (last, inputs) if isinstance(last, dict) else ({}, [*inputs, last])
        check_published(lambda *values: getattr(lodkit.caffe2, name)(*values, **attrs), inputs)
    if name in PADDLE:
        slots, attrs = PADDLE[name]
        check_published(
            lambda *values: lodkit.paddle.run_op(name, dict(zip(slots, values, strict=True)), attrs), slots.values()
        )


BATCH = LoDTensor(np.arange(6.0), [[1, 3, 2]])
WORDS = lodkit.Vocabulary(["a", "b", "c"])
SHARDED = lodkit.distributed.Ranges(3, 2)
ENTRIES = {
    "SelectedRows": (lambda n: SelectedRows([0, n, 2], np.ones((3, 1)), 3), -1),
    "a sequence": (lambda n: BATCH[n], -4),
    "sequences": (lambda n: BATCH[np.array([0, n])], -4),
    "a word": (lambda n: WORDS.words(n), -1),
    "words": (lambda n: WORDS.words([0, n]), -1),
    "owners": (lambda n: SHARDED.owners([0, n]), -1),
    "local rows": (lambda n: SHARDED.local([0, n]), -1),
    "a simulation": (lambda n: lodkit.distributed.simulate(LoDTensor([0, n], [[2]]), SHARDED, width=1), -1),
}


@pytest.mark.parametrize("name", ENTRIES)
def test_other_entries_refuse_them(name):
    """Of three rows, sequences or words; of sequences, which count from the end too, -3 is the least."""
    call, below = ENTRIES[name]
    for number in (3, below, LARGEST):
        message = refusal(call, number)
        assert message and says(message, number) and says(message, 3), message
        if not name.startswith("a "):
            assert says(message, 1), message
    assert refusal(call, 2) is None and refusal(call, below + 1) is None
