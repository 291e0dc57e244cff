"""Errors that name the argument as it was given, the place and the value, where NumPy's or Python's would tell less."""

from __future__ import annotations

import pickle
import re
from fractions import Fraction

import numpy as np
import pytest

import lodkit
from lodkit import LoDTensor, optim

BATCH = LoDTensor([1.0, 2.0, 3.0], [[2, 1]])
TABLE = np.ones((3, 2))


class Other:
    """No number, and nothing like an array."""

    def __repr__(self):
        return "Other()"


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (
            lambda: lodkit.relu(np.array(["9007199254740993"])),
            lodkit.DTypeError,
            "convert text of whole numbers with np.asarray(x, np.int64), of others with np.asarray(x, np.float64)",
        ),
        (lambda: LoDTensor([1, 2, "3"], [[3]]), lodkit.DTypeError, "text ('3') at [2]; convert text of numbers with"),
        (lambda: LoDTensor([[1, 2], [3, "x"]]), lodkit.DTypeError, "values holds text ('x') at [1, 1]; make"),
        (lambda: LoDTensor([1, None]), lodkit.DTypeError, "values holds None at [1], a missing value"),
        (lambda: LoDTensor.from_nested([[1, "x"], [2]]), lodkit.DTypeError, "x holds text ('x') at [0, 1]; make"),
        (lambda: LoDTensor.from_nested([[], [1], [2, None]]), lodkit.DTypeError, "x holds None at [2, 1], a"),
        (lambda: LoDTensor.from_nested([[[1], []], [[2, "x"]]]), lodkit.DTypeError, "text ('x') at [1, 0, 1]"),
        (lambda: LoDTensor([1, 2], [[2**70]]), lodkit.DTypeError, f"[0] holds {2**70}, which 64 bits do not hold"),
        (lambda: LoDTensor([1, 2], [[1, 2**70]]), lodkit.DTypeError, "at [1], which 64 bits do not hold; pass smaller"),
        (lambda: lodkit.lookup_table(TABLE, [1, 2**70]), lodkit.DTypeError, f"ids holds {2**70} at [1], which 64 bits"),
        (lambda: lodkit.embedding_bag(TABLE, [["a"]]), lodkit.DTypeError, "ids holds text ('a'); make ids"),
        (lambda: lodkit.relu([True]), lodkit.DTypeError, "a list with np.asarray(x, np.int64)"),
        (lambda: lodkit.relu([1j]), lodkit.DTypeError, "not complex128; pass np.real(x).astype(np.float64), the"),
        (
            lambda: lodkit.lookup_table(TABLE, [True]),
            lodkit.DTypeError,
            "np.asarray(ids, np.int64), ones and zeros; the places of True are np.flatnonzero(...)",
        ),
        (lambda: lodkit.lookup_table(TABLE, [1.0]), lodkit.DTypeError, "a list with np.asarray(ids, np.int64)"),
        (
            lambda: lodkit.embedding_bag(TABLE, [[1], [0, None]]),
            lodkit.DTypeError,
            "ids holds None at [1, 1], a missing",
        ),
        (lambda: lodkit.embedding_bag(TABLE, [[1, [2]], [0]]), lodkit.LoDError, "ids: item 0 of level 1 is 1, not a"),
        (
            lambda: LoDTensor.from_nested([[1], [Fraction(1)]]),
            lodkit.DTypeError,
            "x holds numbers of type Fraction; convert each by float(...)",
        ),
        (
            lambda: LoDTensor([Fraction(1)]),
            lodkit.DTypeError,
            "values holds numbers of type Fraction; convert each by f",
        ),
        (lambda: LoDTensor([1], [[Fraction(1)]]), lodkit.DTypeError, "of type Fraction; convert each by int(...)"),
        (lambda: lodkit.relu([Fraction(1)]), lodkit.DTypeError, "x holds numbers of type Fraction; convert each by"),
        (lambda: lodkit.relu([1.0, None]), lodkit.DTypeError, "x holds None at [1], a missing value"),
        (lambda: lodkit.fc(TABLE, [["a"], ["b"]]), lodkit.DTypeError, "weight holds text ('a') at [0, 0]; make ids"),
        (
            lambda: lodkit.lookup_table(TABLE, [np.datetime64(1, "D")]),
            lodkit.DTypeError,
            "not datetime64[D]; convert with .astype(np.int64), a list with np.asarray(ids).astype(np.int64)",
        ),
        (lambda: lodkit.relu(np.ones(2, [("a", float)])), lodkit.DTypeError, "pass one field, x['name']"),
        (lambda: LoDTensor([10**5000, 1]), lodkit.DTypeError, "holds an integer of 16610 bits at [0], which 64 bits"),
        (lambda: BATCH.to(np.float32), ValueError, "float32'>; .astype(...) changes the type"),
        (lambda: LoDTensor(np.array([Fraction(1)])), lodkit.DTypeError, "convert with .astype(np.float64), a"),
        (lambda: LoDTensor.from_padded(TABLE, [2, 1, -1]), lodkit.LoDError, "lengths[2] = -1 is negative"),
        (lambda: LoDTensor.from_padded(TABLE, [[2, 1, 1]]), lodkit.LoDError, "lengths has shape (1, 3)"),
        (
            lambda: LoDTensor.from_offsets([1, 2, 3], [[0, 2, 3]]),
            lodkit.LoDError,
            "offsets[0] has shape (1, 3); a level is one-dimensional; pass levels one by one, from_offsets(",
        ),
        (lambda: LoDTensor([1, 2, 3], lod=[[[0, 3]]]), lodkit.LoDError, "lod[0] has shape (1, 2); a level is one-dim"),
        (
            lambda: LoDTensor.from_segment_ids([1, 2], [0, 2**61]),
            lodkit.SizeError,
            "LoDTensor.from_segment_ids: there is no memory for a call with ids",
        ),
        (lambda: lodkit.GrowingTable(-1), ValueError, "item is the shape of a row, of sizes from 0 on, got -1"),
        (lambda: lodkit.GrowingTable((2, -3)), ValueError, "got (2, -3)"),
        (lambda: lodkit.load(None), TypeError, "path must be a string or a path-like object, got None"),
        (lambda: lodkit.save(5, {}), TypeError, "path must be a string or a path-like object, got 5"),
        (lambda: lodkit.OPS.search(5), TypeError, "words must be a string, got 5"),
        (lambda: lodkit.plot.lengths(BATCH, ax=5), TypeError, "ax must be axes of matplotlib, got int"),
        (lambda: lodkit.batches(BATCH, size=2, seed="a"), TypeError, "seed must be an integer from 0 on, a Generator"),
        (lambda: lodkit.batches(BATCH, size=2, seed=-1), ValueError, "or None, got -1"),
        (lambda: BATCH + None, TypeError, "np.add takes LoDTensors, arrays and numbers, got NoneType: None"),
        (lambda: Other() * BATCH, TypeError, "np.multiply takes LoDTensors, arrays and numbers, got Other: Other()"),
        (lambda: lodkit.isnan(np.array(["x", "y"])), lodkit.DTypeError, "x holds text ('x') at [0]"),
        (lambda: lodkit.isinf.definition(np.array(["x"])), lodkit.DTypeError, "x holds text ('x'); make"),
        (lambda: lodkit.sgd(TABLE.copy(), TABLE, lr=np.nan), ValueError, "lr must be a number, got nan"),
        (lambda: lodkit.sgd.definition(TABLE.copy(), TABLE, lr=np.nan), ValueError, "lr must be a number, got nan"),
        (lambda: lodkit.sgd(TABLE.copy(), TABLE, lr=np.inf), ValueError, "lr must be finite, got inf"),
        (lambda: lodkit.sgd(TABLE.copy(), TABLE, lr=np.array([-np.inf])), ValueError, "lr must be finite, got -inf"),
        (lambda: optim.SGD({"a": TABLE}, lr=-1), ValueError, "lr must be finite and at least 0, got -1 in step 0"),
        (lambda: optim.Adagrad({"a": TABLE}), TypeError, "Adagrad needs lr, the learning rate: Adagrad("),
        (lambda: optim.RMSProp, AttributeError, "'lodkit.optim' has no attribute 'RMSProp'; did you mean RMSprop?"),
        (lambda: optim.SparseAdam, AttributeError, "has no attribute 'SparseAdam'; use Adam(..., lazy=True)"),
        (lambda: optim.Nothing, AttributeError, "has no attribute 'Nothing'; there are Ada"),
        (lambda: lodkit.OPS["bogus"], KeyError, "no operator is called 'bogus'; "),
    ],
)
def test_errors_tell_what_was_given(call, error, text):
    with pytest.raises(error, match=re.escape(text)):
        call()


def test_other_types_may_know_better_than_a_lod_tensor():
    class Knows:
        def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
            return f"mine: {ufunc.__name__}"

    assert BATCH + Knows() == "mine: add"


@pytest.mark.parametrize("name", sorted(n for n, op in lodkit.OPS.items() if hasattr(op.definition, "optimizer")))
def test_no_update_by_a_rate_that_is_no_number(name):
    op = lodkit.OPS[name]
    (inputs, attrs), *_ = op.example_function(np.dtype(np.float64))
    before = [np.array(x, copy=True) for x in inputs if isinstance(x, np.ndarray)]
    with pytest.raises(ValueError, match="lr must be a number, got nan"):
        op(*inputs, **{**attrs, "lr": float("nan")})
    after = [x for x in inputs if isinstance(x, np.ndarray)]
    assert all(np.array_equal(a, b) for a, b in zip(before, after, strict=True))


def test_a_schedule_below_zero_changes_nothing():
    table = TABLE.copy()
    optimizer = optim.SGD({"a": table}, lr=lambda step: 0.5 - step)
    optimizer.step([TABLE])
    with pytest.raises(ValueError, match=r"lr must be finite and at least 0, got -0.5 in step 1"):
        optimizer.step([TABLE])
    assert (table == 0.5).all()


def test_a_name_unlike_all_others_is_not_answered_by_all_of_them():
    with pytest.raises(lodkit.UnknownOperatorError, match=r"are in lodkit\.OPS, OPS\.search") as caught:
        lodkit.OPS["bogus"]
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize("suffix", ["npz", "safetensors"])
def test_a_dictionary_that_holds_itself_is_not_saved(suffix, tmp_path):
    state = {"a": np.ones(2)}
    state["me"] = [state]
    with pytest.raises(ValueError, match="nested too deep; does one contain itself"):
        lodkit.save(tmp_path / f"x.{suffix}", state)
    assert not [*tmp_path.iterdir()]


def test_an_input_that_is_none_is_named():
    with pytest.raises(TypeError, match="embedding_bag: ids must be a LoDTensor, got None; pass LoDTensor"):
        lodkit.embedding_bag(TABLE, None)
    with pytest.raises(TypeError, match="lookup_table: table must be a NumPy or CUDA array, got None; pass an array"):
        lodkit.lookup_table(None, [1])


@pytest.mark.parametrize(
    "call",
    [
        lambda x: lodkit.relu(x),
        lambda x: lodkit.fc(np.ones((2, 2)), x),
        lambda x: lodkit.sgd(np.ones((2, 2)), x, lr=0.5),
        lambda x: lodkit.adagrad(np.ones((2, 2)), x, np.ones((2, 2)), lr=0.5),
        lambda x: lodkit.sum(np.ones((2, 2)), x),
        lambda x: lodkit.elementwise_mul(np.ones((2, 2)), x),
        lambda x: lodkit.concat_columns(np.ones((2, 2)), x),
        lambda x: lodkit.scatter_assign(np.ones((2, 2)), [0, 1], x),
        lambda x: lodkit.weighted_sum(np.ones((2, 2)), [1.0], x, [1.0]),
        lambda x: lodkit.embedding_bag(
            np.ones((2, 2)), [[0, 1], [0, 1]], x[0] + x[1] if type(x) is list else x.ravel()
        ),
    ],
)
def test_a_list_of_another_type_is_taken_as_the_error_says(call):
    given = [[True, False], [True, True]]
    with pytest.raises(lodkit.DTypeError, match=r"a list with np.asarray\(\w+, np.\w+\)$") as caught:
        call(given)
    wanted = re.search(r"np\.(\w+)\)$", str(caught.value))[1]
    call(np.asarray(given, wanted))


def test_a_tensor_with_levels_is_taken_as_the_error_says():
    scores = LoDTensor([1, 2, 3], [[2, 1]])
    with pytest.raises(lodkit.DTypeError, match=r"not int64; convert with \.astype\(np\.float64\), a tensor"):
        lodkit.sequence_softmax(scores)
    assert lodkit.sequence_softmax(scores.astype(np.float64)).same_lod(scores)


@pytest.mark.parametrize(
    ("pool", "dtype"),
    [
        ("sum", "m8[s]"),
        ("logsumexp", "m8[s]"),
        ("sum", np.complex64),
        ("max", np.complex64),
        ("logsumexp", np.complex64),
    ],
)
def test_the_error_of_a_type_names_operator_and_input(pool, dtype):
    table, bags = np.ones((3, 4), dtype), LoDTensor([0, 1, 2], [[2, 1]])
    with pytest.raises(
        lodkit.DTypeError, match=rf"^embedding_bag: table: {pool} takes .*not {re.escape(str(np.dtype(dtype)))}"
    ):
        lodkit.embedding_bag(table, bags, pool=pool)
    with pytest.raises(lodkit.DTypeError, match=rf"^sequence_pool: x: {pool} takes"):
        lodkit.sequence_pool(LoDTensor(table, [[2, 1]]), pool=pool)


def test_a_padded_array_of_more_dimensions_than_numpy_has():
    values = np.ones((1, 2))
    assert LoDTensor(values, [[1]] * 62).to_padded().shape == (1,) * 63 + (2,)
    with pytest.raises(lodkit.LoDError, match=r"65 dimensions, of lod_level 63 .*at most 64; use to_list\(\)"):
        LoDTensor(values, [[1]] * 63).to_padded()


def test_the_type_of_an_error_follows_the_choices():
    x = LoDTensor(np.ones(3), [[3]])
    for wrong in ("bad", np.str_("bad")):
        with pytest.raises(ValueError, match="pool must be one of"):
            lodkit.sequence_pool(x, pool=wrong)
    for wrong, error in (
        (3, ValueError),
        (np.int64(3), ValueError),
        ("8", ValueError),
        ([8], TypeError),
        (True, TypeError),
    ):
        with pytest.raises(error, match="bits must be one of"):
            lodkit.quantize_rows(np.ones((2, 2), np.float32), bits=wrong)


WORD = "w" * 10**6


@pytest.mark.parametrize(
    ("call", "kind"),
    [
        (lambda: lodkit.vocabulary([["a"]], unknown=None)[WORD], lodkit.LodkitError),
        (lambda: lodkit.Vocabulary([WORD, WORD]), ValueError),
        (lambda: lodkit.Vocabulary(["a"], unknown=WORD), ValueError),
        (lambda: lodkit.run(WORD, 1), lodkit.LodkitError),
        (lambda: lodkit.sequence_pool(lodkit.LoDTensor([1.0], [[1]]), pool=WORD), ValueError),
        (lambda: lodkit.LoDTensor([WORD], [[1]]), lodkit.LodkitError),
        (lambda: lodkit.LoDTensor.from_nested([[[WORD]]]), Exception),
        (lambda: lodkit.optim.SGD({WORD: 1}, lr=1.0), TypeError),
        (lambda: lodkit.optim.SGD({f"{WORD}{i}": np.ones(2) for i in range(9)}, lr=1.0).step({}), ValueError),
        (lambda: lodkit.caffe2.LengthsSum(np.ones(2), np.array([2]), **{WORD: 1}), TypeError),
        (lambda: lodkit.distributed.ShardedTable(2, 2, rule=WORD), ValueError),
        (lambda: lodkit.bounds_check(WORD), ValueError),
        (lambda: lodkit.LoDTensor([1.0], [[1]]).astype(WORD), TypeError),
    ],
)
def test_messages_of_long_words_are_short(call, kind):
    with pytest.raises(kind) as caught:
        call()
    assert len(str(caught.value)) <= 2000


def test_of_a_long_message_the_middle_is_left_out():
    """The place stands first in it, and the remedy last; pickles keep it."""
    error = lodkit.RowIndexError("ids[7] = 9 " + "x" * 5000 + "; pass smaller ones")
    assert len(str(error)) < 2000
    assert str(error).startswith("ids[7] = 9 xxx")
    assert str(error).endswith("xxx; pass smaller ones")
    assert " ... (3,130 characters) ... " in str(error)
    assert str(pickle.loads(pickle.dumps(error))) == str(error)
    assert lodkit.RowIndexError("y" * 2000).args == ("y" * 2000,)
    assert lodkit.LodkitError(3, None).args == (3, None)
