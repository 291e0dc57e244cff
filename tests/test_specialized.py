"""Later calls, which run kernels specialized to their types: as first calls, errors too, in bounded memory."""

from __future__ import annotations

import numpy as np
import pytest
from calls import calling
from conftest import copy
from samples import SAMPLES
from test_every_op import same_bits

import lodkit
from lodkit import DTypeError, LoDTensor, RowIndexError
from lodkit.kernels.cpu.primitives import reduce

TABLE, BAGS = np.arange(12, dtype=np.float32).reshape(4, 3), LoDTensor([0, 1, 3], [[1, 2]])
INTEGERS, WEIGHTS = TABLE.astype(np.int32), np.array([2, 1, 3], np.float32)


def test_later_calls_give_what_the_first_gives():
    """The first call makes a plan, the second specializes the kernel, which the third runs."""
    tried = []
    for name, op in lodkit.OPS.items():
        op._load("cpu")
        if not any(hasattr(kernel.function, "specialize") for kernel in op.kernels.values()):
            continue
        for inputs, attrs in SAMPLES[name]:
            with calling(name, inputs, attrs):
                first, *later = (op.full(*map(copy, inputs), **attrs) for _ in range(3))
                for result in later:
                    same_bits(result, first)
        tried.append(name)
    assert tried


def test_inputs_beyond_the_last_are_refused():
    """None too, which stands for an optional input that is not given."""
    for name, op in lodkit.OPS.items():
        inputs, attrs = SAMPLES[name][0]
        given = [*inputs, *[None] * (len(op.inputs) + 1 - len(inputs))]
        if not op.variadic:
            with pytest.raises(TypeError, match=rf"takes {len(op.inputs)} input"):
                op.full(*given, **attrs)


@pytest.fixture
def small(monkeypatch, forget_plans):
    forget_plans()
    monkeypatch.setattr(reduce, "MAX_PLANS", 5)


def test_tables_of_plans_are_bounded(small):
    for columns in range(1, 12):
        table = np.ones((4, columns), np.float32)
        assert lodkit.embedding_bag(table, BAGS).tolist() == [[1] * columns, [2] * columns]
        assert len(reduce.plans) <= 5
    for columns in range(1, 12):
        lodkit.embedding_bag_columns(np.ones((4, 20 + columns), np.float32), BAGS, tables=[0])
        assert len(reduce.plans) <= 5


def test_calls_that_raise_keep_no_plan(small):
    for columns in range(1, 12):
        with pytest.raises(DTypeError):
            lodkit.embedding_bag(np.ones((4, columns), np.int32), BAGS, pool="mean")
    assert not reduce.plans and not reduce.reduction_of.cache_info().currsize


FAULTS = {
    "padding": ((TABLE, BAGS), {"padding_idx": 9}, RowIndexError, "padding_idx = 9 is outside"),
    "an id": ((TABLE[:3], BAGS), {}, RowIndexError, "3"),
    "padding and a type": (
        (TABLE.astype("i4"), BAGS),
        {"pool": "sqrt", "padding_idx": 9},
        RowIndexError,
        "padding_idx",
    ),
    "few weights": ((TABLE, BAGS, WEIGHTS[:2]), {}, ValueError, "weights"),
    "weighted maxima": ((TABLE, BAGS, WEIGHTS), {"pool": "max"}, ValueError, "max"),
    "a number": ((np.float32(3), BAGS), {}, ValueError, "table"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_later_calls_raise_as_the_first(fault):
    inputs, attrs, error, words = FAULTS[fault]
    said = set()
    for _ in range(4):
        with pytest.raises(error, match=words) as raised:
            lodkit.embedding_bag(*inputs, **attrs)
        said.add((type(raised.value), str(raised.value)))
        for given in ((TABLE, BAGS), (INTEGERS, BAGS), (TABLE, BAGS, WEIGHTS)):
            lodkit.embedding_bag(*given)
    assert len(said) == 1


@pytest.mark.parametrize("kind", ["int32", "int64", "uint64", ">i4", "uint8"])
def test_ids_of_other_types_are_converted(kind):
    bags = LoDTensor(np.array([0, 1, 3]).astype(kind), [[1, 2]])
    outside = LoDTensor(np.array([0, 9]).astype(kind), [[2]])
    for _ in range(3):
        assert lodkit.embedding_bag(TABLE, bags).tolist() == [[0, 1, 2], [12, 14, 16]]
        with pytest.raises(RowIndexError, match=r"ids\[1\] = 9 is outside"):
            lodkit.embedding_bag(TABLE, outside)
        with pytest.raises(DTypeError, match="ids must be integers, not float64"):
            lodkit.embedding_bag(TABLE, LoDTensor(np.array([0.0, 1]), [[2]]))


class Word(str):
    """A word that equals all others."""

    __hash__ = str.__hash__

    def __eq__(self, other):
        return True


@pytest.mark.parametrize("word", [np.str_("sum"), Word("sum")], ids=["numpy", "equal"])
def test_a_word_of_another_type_is_that_word(word):
    x = LoDTensor(np.array([2.0, 4.0]), [[2]])
    for _ in range(3):
        assert lodkit.sequence_pool(x, pool="max").tolist() == [4]
        assert lodkit.sequence_pool(x, pool=word).tolist() == [6]
        assert lodkit.sequence_pool(x, pool="sum").tolist() == [6]
