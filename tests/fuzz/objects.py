"""Methods of LoDTensor and SelectedRows, as calls: name -> ``make(rng)``, which gives a function and its inputs."""

from __future__ import annotations

import copy
import pickle

import numpy as np

import lodkit
from lodkit import LoDTensor, SelectedRows
from lodkit.distributed import ShardedTable, run_threads

DEEP = LoDTensor(np.arange(12.0).reshape(6, 2), [[2, 1], [3, 1, 2]])
FLAT = LoDTensor(np.arange(6, dtype=np.float32), [[3, 0, 2, 1]])
ALONE = LoDTensor(None, [[2, 1], [3, 1, 2]])
IDS = LoDTensor(np.array([1, 5, 5, 0, 11, 2]), [[3, 0, 2, 1]])
GRAD = SelectedRows([4, 1, 4], np.arange(6.0).reshape(3, 2), 6)


def _method(kind, function):
    """A function of an object of a kind; what was mutated into another one has no such method."""

    def run(x, *arguments):
        if not isinstance(x, kind):
            raise TypeError(f"no {kind.__name__}")
        return function(x, *arguments)

    return run


def _pickled(x):
    """A copy by pickle. That no pickle holds so many bytes is Python's to say, not lodkit's."""
    try:
        return pickle.loads(pickle.dumps(x))
    except (MemoryError, OverflowError) as error:
        raise lodkit.SizeError(f"pickle: {error}") from error


def _of(function, *inputs):
    """Calls of a function of a LoDTensor."""
    run = _method(LoDTensor, function)
    return lambda rng: (run, copy.copy(rng.choice([DEEP, FLAT, DEEP, ALONE])), *inputs)


def _rows(function, *inputs):
    run = _method(SelectedRows, function)
    return lambda rng: (run, GRAD, *inputs)


def _changed(function):
    """A function that changes a copy in place, and returns it."""

    def run(x, argument):
        made = copy.copy(x)
        function(made, argument)
        return made

    return run


def _table(keys, values, more):
    """Slots of a table that grows, whose values are set in between."""
    table = lodkit.GrowingTable(2, capacity=2)
    slots = table.slots(keys)
    table.values = values
    return slots, table.lookup(more), table.keys, table.slots(keys, grow=False)


def _features(lengths, keys, counts, values, others):
    """Features of lists, read in every way that looks at their structure."""
    made = lodkit.Features(lengths, keys, counts, values)
    other = lodkit.Features(lengths, others, counts, values)
    both = made.merge(other)
    tables = {3: np.ones((12, 2)), 1: np.ones((12, 1))}
    parts = [both.feature(1), both.has(3), both[1:], both[[0, 0]], lodkit.concat([made, both]), made.to_list()]
    return both.values, made.pool(tables), parts


def _weighted(lengths, keys, counts, values, inner):
    """Features of maps, whose values weight the rows of their keys."""
    made = lodkit.Features(lengths, keys, counts, values, inner)
    return made.values, made.pool({1: np.ones((12, 2))}), made.feature(3), made.merge(made), made[::-1].to_list()


def _columns(first, second, mask):
    """Features of columns, and of a dense array, where a mask says which are present."""
    made = lodkit.Features.from_columns({1: first, 3: second}, [mask, None])
    dense = lodkit.Features.from_dense(np.ones((3, 2)), [1, 3])
    return made.values, made.merge(dense), made.has(1), dense.feature(3)


def _learned(keys, weights):
    """Gradients by the values of a table that grows, and a step by them."""
    table = lodkit.GrowingTable(2, capacity=8)
    table.slots(keys)
    with lodkit.Tape() as tape:
        rows = table.lookup(keys)
    grad = tape.gradient(rows, [table.values], weights)[0]
    table.update(lodkit.sgd, grad, lr=0.5)
    return grad, table.values


def _sharded(bags, weights, grad, more):
    """A step of a table that two ranks share, and what they read afterwards."""

    def rank(engine):
        table = ShardedTable(12, 2, engine, rule="adagrad", lr=0.1, dealing="hash")
        pooled = table.embedding_bag(bags, weights)
        table.update(grad)
        return pooled, table.lookup(more)

    return run_threads(2, rank)


def _steps(param, grad, more):
    """Steps of an optimizer that keeps states of touched rows, and these states in another one."""
    made, again = (lodkit.optim.Adagrad({"x": np.array(param)}, lr=0.1, states="touched") for _ in range(2))
    for each in (grad, more):
        made.step({"x": each})
    again.load_state_dict(made.state_dict())
    return made.params["x"]


OBJECTS = {
    "Features": lambda rng: (_features, [2, 0, 1], [3, 1, 3], [2, 1, 0], np.array([5, 2, 7]), [1, 1, 2]),
    "Features of maps": lambda rng: (_weighted, [2, 0, 1], [1, 3, 1], [2, 1, 0], np.ones(3), np.array([5, 2, 7])),
    "Features of columns": lambda rng: (_columns, np.arange(3.0), np.ones(3), [True, False, True]),
    "Tape of a table": lambda rng: (_learned, np.array([7, -3, 7]), np.ones((3, 2))),
    "ShardedTable": lambda rng: (_sharded, IDS, np.ones(6), np.ones((4, 2), np.float32), np.array([3, 0, 11])),
    "GrowingTable": lambda rng: (_table, np.array([7, -3, 7]), np.ones((4, 2), np.float32), np.array([5, 7, 1, 2])),
    "optim.Adagrad": lambda rng: (_steps, np.ones((6, 2)), GRAD, GRAD),
    "RankTable": lambda rng: (lambda lod: lodkit.RankTable(lod).items, [[0, 2, 5]]),
    "split": _of(lambda t, parts: lodkit.split(t, parts), 2),
    "Vocabulary.words": lambda rng: (lambda ids: lodkit.Vocabulary(["a", "b"]).words(ids), np.array([0, 1, 0])),
    "LoDTensor[list]": _of(lambda t, i: t[i], [1, 0, 1]),
    "LoDTensor[array]": _of(lambda t, i: t[i], np.array([1, 0])),
    "LoDTensor[mask]": _of(lambda t, i: t[np.asarray(i)], [True, False]),
    "LoDTensor[int]": _of(lambda t, i: t[i], 1),
    "LoDTensor[pair]": _of(lambda t, i, j: t[i, j], 0, 1),
    "LoDTensor[slice]": _of(lambda t, i, j: t[i:j], 0, 2),
    "LoDTensor.slice": _of(lambda t, *i: t.slice(*i), 1, 0),
    "LoDTensor.slice_in_level": _of(lambda t, *i: t.slice_in_level(*i), 0, 0, 1),
    "LoDTensor.set_values": _of(_changed(LoDTensor.set_values), np.arange(6.0)),
    "LoDTensor.with_values": _of(lambda t, v: t.with_values(v), np.arange(6.0)),
    "LoDTensor.set_lod": _of(_changed(LoDTensor.set_lod), [[0, 2, 6]]),
    "LoDTensor.set_lengths": _of(_changed(LoDTensor.set_recursive_sequence_lengths), [[2, 4]]),
    "LoDTensor.offsets": _of(lambda t, level: (t.offsets(level), t.offsets(level, absolute=True)), -1),
    "LoDTensor.lengths": _of(lambda t, level: (t.lengths(level), t.lengths(level, absolute=True)), -1),
    "LoDTensor.segment_ids": _of(lambda t, level: t.segment_ids(level), -1),
    "LoDTensor.max_length": _of(lambda t, level: t.max_length(level), -1),
    "LoDTensor.sequences": _of(lambda t, level: t.sequences(level), -1),
    "LoDTensor.to_padded": _of(lambda t, pad, most: t.to_padded(pad, most), 0, 3),
    "LoDTensor.to_list": _of(lambda t: t.to_list()),
    "LoDTensor.repr": _of(lambda t: (repr(t), t.padding_waste(), t.nbytes)),
    "LoDTensor.html": _of(lambda t: t._repr_html_()),
    "LoDTensor.append_level": _of(lambda t, n: t.append_level(n), [2, 1, 3]),
    "LoDTensor.drop_level": _of(lambda t, level: t.drop_level(level), None),
    "LoDTensor.equals": _of(lambda t, u: (t.equals(u), t.same_lod(u)), FLAT),
    "LoDTensor.pickle": _of(_pickled),
    "LoDTensor.add": _of(lambda t, u: t + u, FLAT),
    "LoDTensor.from_lengths": lambda rng: (LoDTensor.from_lengths, np.arange(6.0), [2, 4]),
    "LoDTensor.from_offsets": lambda rng: (LoDTensor.from_offsets, np.arange(6.0), [0, 2, 6]),
    "LoDTensor.from_segment_ids": lambda rng: (LoDTensor.from_segment_ids, np.arange(4.0), [0, 2, 0, 1], 3),
    "LoDTensor.from_padded": lambda rng: (LoDTensor.from_padded, np.arange(12.0).reshape(3, 4), [4, 0, 2]),
    "LoDTensor.from_uniform": lambda rng: (LoDTensor.from_uniform, np.arange(12.0).reshape(3, 4)),
    "LoDTensor.from_nested": lambda rng: (LoDTensor.from_nested, [[1, 2], [], [3]]),
    "LoDTensor.from_sequences": lambda rng: (lambda *x: LoDTensor.from_sequences(x), np.ones(3), np.ones(2)),
    "concat": lambda rng: (lambda *x: lodkit.concat(x), FLAT, FLAT),
    "batches": _of(lambda t, size: list(lodkit.batches(t, size=size, seed=0)), 2),
    "empty": lambda rng: (lambda size: lodkit.empty(size).shape, [2, 3]),
    "SelectedRows.merge": _rows(lambda x: x.merge()),
    "SelectedRows.to_dense": _rows(lambda x: x.to_dense()),
    "SelectedRows.norm": _rows(lambda x, most: (x.norm(), x.clip_by_norm(most)), 1.0),
    "SelectedRows.split": _rows(lambda x, sections: x.split(sections), [2, 4]),
    "SelectedRows.add": _rows(lambda x, y: (x + y, x * 2), GRAD),
    "SelectedRows.add_dense": _rows(lambda x, y: x + y, np.ones((6, 2))),
    "SelectedRows.repr": _rows(lambda x: (repr(x), x.nbytes, x.get_tensor())),
    "SelectedRows.pickle": _rows(_pickled),
}
