"""Objects whose attributes, or arrays, are set between two of their calls: name -> ``make(rng)``, as in ``objects``."""

from __future__ import annotations

import copy
import tempfile

import numpy as np

import lodkit
from lodkit import LoDTensor, SelectedRows
from lodkit.arrays.recorded import plain_view
from lodkit.distributed import Checkpoint, ShardedTable, run_threads

from .objects import IDS

_FOLDER = tempfile.TemporaryDirectory()  # removed where the lane ends: workers leave without
HEIGHT = 12


def _saved(engine):
    rows = ShardedTable(HEIGHT, 2, engine, rule="sgd", init=lambda ids, width: np.repeat(ids[:, None], width, axis=1))
    rows.save(_FOLDER.name)


run_threads(3, _saved)


def _on_two_ranks(job, bags):
    """What a job gives on two ranks; errors of lodkit's own as one kind, since any rank's may come first."""
    if not isinstance(bags, LoDTensor):
        raise TypeError("no LoDTensor")
    try:
        return run_threads(2, job)
    except (lodkit.LodkitError, TypeError) as error:
        raise ValueError(f"a rank refused: {error}") from error


def _picked(ids):
    """Rows of a checkpoint that lie in three files."""
    return Checkpoint(_FOLDER.name).pick("table.values", ids)


def _reshaped(array, shape):
    """Resize an array of lodkit's in place, as NumPy allows where it owns its memory, else give it another shape."""
    array = plain_view(array)  # a parameter is a view
    if array.flags.owndata:
        array.resize(shape, refcheck=False)
    else:
        array.shape = shape


def _sharded(rule, pool):
    """A step of a table of two ranks, whose values are set at one of them since the lookup."""

    def run(bags, values, grad):
        def rank(engine):
            table = ShardedTable(HEIGHT, 2, engine, rule=rule, init=0.0, lr=0.1)
            table.lookup(bags.values) if pool is None else table.embedding_bag(bags, pool=pool)
            if not engine.rank:
                table.values = values
            table.update(grad)
            return table.values

        return _on_two_ranks(rank, bags)

    return lambda rng: (run, IDS, np.ones((6, 2), np.float32), np.ones((6 if pool is None else 4, 2), np.float32))


def _sharded_states(bags, shape, grad):
    """The same, with the states in another shape."""

    def rank(engine):
        table = ShardedTable(HEIGHT, 2, engine, rule="adam", init=0.0, lr=0.1)
        table.lookup(bags.values)
        _reshaped(table.states["moment2"], shape)
        table.update(grad)
        return table.values

    return _on_two_ranks(rank, bags)


def _batch(bags, lod, grad):
    """A batch whose ids get another structure between its lookup and its update."""

    def rank(engine):
        table, mine = ShardedTable(HEIGHT, 2, engine, rule="adagrad", init=1.0, lr=0.1), copy.copy(bags)
        batch = table.start(mine, pool="sum")
        mine.set_lod(lod)
        pooled = batch.wait()
        table.update(grad, batch=batch)
        return pooled, table.values

    return _on_two_ranks(rank, bags)


def _growing(keys, shape, more):
    """A table that grows, whose values and state have another shape since."""
    table = lodkit.GrowingTable(2, capacity=4)
    slots = table.slots(keys)
    for array in (table.state("moment"), table.values):
        _reshaped(array, shape)
    grad = SelectedRows(slots, np.ones((len(slots), 2), np.float32), 4)
    table.update(lodkit.adagrad, grad, "moment", lr=0.5)
    return table.slots(more), table.values, table.state("moment")


def _features(lengths, keys, counts, lod, values):
    """Features whose values get another structure, and other values."""
    made = lodkit.Features(lengths, keys, counts, np.arange(3.0))
    made.values.set_lod(lod)
    made.values.set_values(values)
    both = made.merge(made)
    parts = [both.feature(1), both.has(3), both[1:], both[[0, 0]], lodkit.concat([made, both]), made.to_list()]
    return both.keys, both.values, parts


def _taped(values, lod, shape):
    """Gradients of a batch that got another structure, and whose array another shape, since the calls."""
    x = LoDTensor(np.array(values), [[3, 0, 2, 1]])
    with lodkit.Tape() as tape:
        pooled, widest = lodkit.sequence_pool(x, pool="mean"), lodkit.sequence_pool(x, pool="max")
        soft = lodkit.sequence_softmax(x)
    x.set_lod(lod)
    found = tape.gradient([pooled, widest, soft], [x])
    _reshaped(x.values, shape)
    return found, tape.gradient([pooled, widest, soft], [x])


SETTINGS = {
    "Checkpoint.pick": lambda rng: (_picked, np.array([0, 3, 5, 11])),
    "ShardedTable.values by sgd": _sharded("sgd", None),
    "ShardedTable.values by maxima": _sharded("sgd", "max"),
    "ShardedTable.values by sums": _sharded("adagrad", "sum"),
    "ShardedTable.states": lambda rng: (_sharded_states, IDS, [3, 4], np.ones((6, 2), np.float32)),
    "Batch.ids": lambda rng: (_batch, IDS, [[0, 6, 6]], np.ones((4, 2), np.float32)),
    "GrowingTable.values": lambda rng: (_growing, np.array([7, -3]), [4, 2], np.array([5, 7, 1, 2])),
    "Features.values": lambda rng: (
        *(_features, [2, 0, 1], [3, 1, 3], [2, 1, 0]),
        *([[0, 2, 2, 3], [0, 2, 3, 3]], np.arange(3.0)),
    ),
    "Tape": lambda rng: (_taped, np.arange(6.0), [[0, 2, 6]], [3, 2]),
}
