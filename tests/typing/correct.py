"""Code as users write it, right: type checkers find no error, and it runs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, assert_type

import numpy as np

import lodkit
from lodkit import LoDTensor, SelectedRows, VarDesc, VarType
from lodkit.registry import Call, Op
from lodkit.typing import Array, ArrayLike, ArrayOrLoDTensor, DenseLike, Scalar, Value

# Operators: arrays, lists and numbers go in; the result says what comes out.
table = np.ones((5, 2))
ids = LoDTensor([1, 2, 2], [[2, 1]])
nested = LoDTensor(np.ones((3, 2)), [[1, 1], [2, 1]])
bags = lodkit.embedding_bag(table, ids, pool="mean", padding_idx=np.int64(0))
assert_type(bags, ArrayOrLoDTensor)
total: float = bags.sum()
vector: Array = bags
assert_type(lodkit.relu([[-1.0, 2.0]]), Array)
assert_type(lodkit.relu(nested), LoDTensor)
assert_type(lodkit.lookup_table(table, [0, 1]), Array)
assert_type(lodkit.lookup_table(table, ids, padding_idx=0), LoDTensor)
assert_type(lodkit.fc_grad(table, np.ones((2, 3)), np.ones((5, 3))), tuple[Array, Array, Array])
assert_type(lodkit.sum(table, table), Array)
assert_type(lodkit.unique([3, 1, 3]), Array)
values, inverse = lodkit.unique([3, 1, 3], return_inverse=True)

# A result with levels is pooled again.
sentences = lodkit.sequence_pool(nested, pool="max")
articles = lodkit.sequence_pool(sentences, pool="last")

# Results go into arrays that are there.
assert_type(lodkit.relu(table, out=np.empty_like(table)), Array)
lodkit.sequence_pool(ids, pool="sum", out=np.empty(2, np.int64))

# Gradients are of the kind that was asked for; updates return what they were given.
grad = lodkit.lookup_table_grad(table, [1, 1], np.ones((2, 2)))
assert_type(grad, SelectedRows)
assert_type(lodkit.lookup_table_grad(table, [1], np.ones((1, 2)), is_sparse=False), Array)
assert_type(lodkit.sgd(table, grad, lr=0.1), Array)
lodkit.sgd(table, np.ones_like(table), lr=1)
lodkit.sgd(table, grad, lr=np.float32(0.1), duplicates="sequential", mask=np.ones(5, bool))
assert_type(lodkit.adagrad(table, grad, np.zeros_like(table), lr=np.array([0.1])), tuple[Array, Array])
assert_type(lodkit.merge_selected_rows(grad), SelectedRows)
assert_type(lodkit.scale(grad, scale=2.0), SelectedRows)


class Tensor:
    """An array of another library, as checkers see those of PyTorch and CuPy."""

    @property
    def __cuda_array_interface__(self) -> Any:
        raise AttributeError


def other_library(t: Tensor, rows: SelectedRows) -> None:
    assert_type(lodkit.relu(t), Tensor)
    assert_type(lodkit.fc(t, np.ones((2, 3))), Tensor)
    assert_type(lodkit.lookup_table(t, [1, 2]), Tensor)
    assert_type(lodkit.sgd(t, rows, lr=0.1), Tensor)
    assert_type(lodkit.fc_grad(t, t, t), tuple[Tensor, Tensor, Tensor])


# Members of the types.
assert_type(ids.lengths(), Array)
assert_type(ids.recursive_sequence_lengths(), list[list[int]])
assert_type(ids.with_values([0.5, 1.5, 2.5]), LoDTensor)
assert_type(ids[0:1], LoDTensor)
assert_type(ids.same_lod(ids), bool)
assert_type(LoDTensor.from_lengths(table, [2, 3]).max_length(), int)
assert_type(LoDTensor.from_padded(table[:, :, None], [1, 2, 1, 0, 2]), LoDTensor)
assert_type(ids.to_padded(pad_value=-1), Array)
days = LoDTensor(np.array(["2026-01-05"], "datetime64[D]"), [[1, 0]])
assert_type(days.to_padded(np.datetime64("NaT")), Array)
lodkit.sequence_pool(days, pool="max", pad_value=np.datetime64("NaT"))
assert_type(ids + 1, LoDTensor)
assert_type(2 * -ids, LoDTensor)
assert_type(ids == 2, LoDTensor)
lengths: Array = np.exp(nested).lengths()
assert_type(grad * 2, SelectedRows)
assert_type(grad.norm(), float)
assert_type(grad.merge().height, int)
assert_type(VarDesc("x", VarType.LOD_TENSOR, np.float32, [-1, 2]).dims, tuple[int, ...])
assert_type(VarDesc.of(ids).unknown_batch(), VarDesc)
assert_type(lodkit.concat([ids, ids]), LoDTensor)
batches: Iterator[LoDTensor] = lodkit.batches(ids, size=1, seed=0)
for some, _labels in lodkit.batches(ids, [0, 1], size=2, bucket=True):
    assert_type(some, LoDTensor)
with lodkit.Tape() as tape:
    y = lodkit.relu(tape.watch(table))
by_table = tape.gradient(y, [table])[0]
weight = lodkit.parameter(table)
with lodkit.Tape() as tape:
    y = lodkit.relu(weight)
by_weight = tape.gradient(y, [weight], unconnected="zero")[0]
features = lodkit.Features([1], [7], [2], [0.5, 1.5])
assert_type(features.values, LoDTensor)
optimizer = lodkit.optim.Adam({"table": table}, lr=lambda step: 0.1 / (1 + step))
optimizer.step({"table": by_table})
result: Any = lodkit.run("relu", table)
described: VarDesc = lodkit.relu.infer(VarDesc.of(table))


# Functions of one's own around operators.
def pooled(weights: DenseLike, words: LoDTensor, rate: Scalar) -> Value:
    return lodkit.embedding_bag(np.ones((3, 2)), words)


def trained(update: Op[..., Any], param: ArrayLike) -> Any:
    return update(param, np.ones_like(param), lr=0.1)


trained(lodkit.sgd, np.ones(3))


# Operators of one's own: the decorator keeps the signature.
@lodkit.op
def twice(x: lodkit.Dense, /, *, by: float = 2.0) -> Array:
    """Return ``by * x``."""
    return np.asarray(by * x)


@twice.kernel("cpu")
def _(x: lodkit.Dense, /, *, by: float) -> Array:
    return np.asarray(by * x)


@twice.infer_rule
def _(x: VarDesc, /, *, by: float = 2.0) -> VarDesc:
    return x.but(dims=x.dims)


@twice.gradient
def _(call: Call, grad: Array) -> Array:
    return twice(grad, **call.attrs)


assert_type(twice(table, by=3), Array)
assert_type(twice(table, out=np.empty_like(table)), Array)
