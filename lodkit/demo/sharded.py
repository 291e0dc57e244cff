"""The main job on several ranks, its table sharded: ``mpirun -n 4 python -m lodkit --distributed``.

Each rank computes some blocks of every batch, and keeps some rows of the table. Blocks are the same for any number of
ranks, and so is the order in which they are summed: the same losses and parameters, to the last bit.
"""

from __future__ import annotations

import contextlib
import dataclasses
import pathlib
import sys

import numpy as np

import lodkit

from ..distributed import Alone, Checkpoint, NoCheckpointError, Ranges, RankError, ShardedTable
from ..distributed.calls import raise_together
from ..distributed.checkpoint_files import whole_checkpoints
from ..lod import values_of
from ..lod.offsets import lengths_to_offsets
from ..models.storage import StorageError
from .checkpoint import STATE, CheckpointError, checked_state, read_state
from .models import MODELS, OPTIMIZERS
from .process import first_on_machine
from .train import Job

BLOCKS = 8  # of a batch: ranks beyond have no texts, and more of them make small products slow
TEXTS = 256  # of a block in a test


class ShardedModel:
    """A model whose table is dealt to ranks; the other parameters are the same on all of them."""

    def __init__(self, words, labels, config, engine, dealing="ranges"):
        self.config, self.engine, self.device = config, engine, "cpu"
        self.network, optimizer = MODELS[config.model](config), OPTIMIZERS[config.optimizer]
        parameters = self.network.parameters(words, labels, config.seed)
        # Drawn whole at each rank, for the numbers of a single process, which keeps its rows.
        values = parameters.pop("table")
        self.dense = {name: lodkit.parameter(array) for name, array in parameters.items()}
        self.optimizer = optimizer(self.dense, lr=config.lr)
        attrs = {"lr": config.lr, "lazy": False} if "lazy" in optimizer.op.defaults else {"lr": config.lr}
        attrs |= {
            name: value for name, value in optimizer.defaults.items() if name in optimizer.op.signature.parameters
        }
        self.table = ShardedTable(
            *values.shape, engine, rule=optimizer.op.name, init=lambda ids, _: values[ids], dealing=dealing, **attrs
        )

    def restore(self, parameters, state):
        """Take saved parameters, without the table, and the state of their optimizer."""
        self.dense = {name: lodkit.parameter(parameters[name]) for name in self.dense}
        self.optimizer = OPTIMIZERS[self.config.optimizer](self.dense, lr=self.config.lr)
        self.optimizer.load_state_dict(state)

    def _share(self, bounds):
        """First and last of the blocks between some bounds that this rank computes."""
        ranks = np.arange(self.engine.size + 1) * (len(bounds) - 1) // self.engine.size
        return ranks[self.engine.rank], ranks[self.engine.rank + 1]

    def _blocks(self, ids, bounds):
        """Yield what the model takes of the table for each block of this rank, and where the block is."""
        first, last = self._share(bounds)
        found = self.network.look_up_sharded(self.table, ids[bounds[first] : bounds[last]])
        for start, stop in zip(bounds[first:last], bounds[first + 1 :], strict=False):
            if start < stop:
                yield found[start - bounds[first] : stop - bounds[first]], slice(start, stop)

    def step(self, ids, labels):
        """Train by a batch, of which each rank is given all; returns its loss."""
        bounds = np.arange(BLOCKS + 1) * len(labels) // BLOCKS
        sums, table_grads = [], []
        for found, where in self._blocks(ids, bounds):
            found = lodkit.parameter(found)
            with lodkit.Tape() as tape:
                losses = lodkit.softmax_with_cross_entropy(self.network.scores(self.dense, found), labels[where])
            share = np.full(losses.shape, 1 / len(labels), losses.dtype)
            by_table, *grads = tape.gradient(losses, [found, *self.dense.values()], share)
            table_grads.append(values_of(by_table))
            sums.append(np.concatenate([*map(np.ravel, grads), [np.sum(losses, dtype=np.float64) / len(labels)]]))
        width = sum(array.size for array in self.dense.values()) + 1
        total = self.engine.sum_blocks(np.array(sums).reshape(-1, width))
        ends = lengths_to_offsets(np.array([array.size for array in self.dense.values()]))
        parts = np.split(total[:-1].astype(np.float32), ends[1:-1])
        self.table.update(np.concatenate([np.zeros((0, self.table.width), np.float32), *table_grads]))
        self.optimizer.step([part.reshape(array.shape) for part, array in zip(parts, self.dense.values(), strict=True)])
        return float(total[-1])

    def accuracy(self, ids, labels):
        bounds = np.append(np.arange(0, len(labels), TEXTS), len(labels))
        right = 0
        for found, where in self._blocks(ids, bounds):
            right += np.count_nonzero(self.network.scores(self.dense, found).argmax(axis=1) == labels[where])
        return float(self.engine.allreduce(np.array([right]))[0] / len(labels))


class ShardedJob(Job):
    """Data, model and state of a training run on all ranks of an engine.

    Making one exchanges nothing, so that ranks whose data or settings are wrong can say so first; ``prepare`` does.
    """

    def __init__(self, config, engine, resume=None):
        self.engine, self.resume = engine, resume
        super().__init__(config, resume=resume)

    def make(self, words, labels, config, device):
        return ShardedModel(words, labels, config, self.engine)

    @staticmethod
    def read(folder):
        return read_sharded(folder, rows=False)

    def prepare(self):
        """Load the table, and let one rank of each machine compile: all at once they would take its cores in turns."""
        if self.resume is not None:
            self.model.table = ShardedTable.load(self.resume, self.engine)
        if first_on_machine():
            words = len(self.vocabulary)
            dealing = Ranges(words, 1) if self.engine.size > 1 else "ranges"  # what ranks call, or one process
            model = ShardedModel(words, len(self.names), self.config, Alone(), dealing)
            ids, labels = self.train
            model.step(*next(iter(lodkit.batches(ids, labels, size=self.config.batch, seed=0))))
        self.engine.barrier()

    def facts(self):
        table, sent = self.model.table, self.model.table.traffic
        steps, size = max(table.iteration, 1), sum(traffic.bytes for traffic in sent.values())
        by = ", ".join(f"{purpose} {traffic.bytes / 1e6:.1f}" for purpose, traffic in sent.items() if traffic.bytes)
        return f"table: {table!r}\nsent by rank 0: {size / 1e6:.1f} MB{f' ({by})' if by else ''} in {steps:,} updates"

    def save(self, folder):
        """Write a checkpoint, all ranks together."""
        state = {"config": dataclasses.asdict(self.config), "epoch": self.epoch, "labels": self.names}
        state |= {"words": self.words, "parameters": self.model.dense, "optimizer": self.model.optimizer.state_dict()}
        self.model.table.save(folder, extra=state)


def read_sharded(folder, rows=True):
    """Read a state that a sharded job saved, as one process reads it; its table whole, or its shape alone."""
    try:
        checkpoint = Checkpoint(folder)
        state = checked_state(folder, checkpoint.extra())
        shape, dtype = (checkpoint.arrays["table.values"][key] for key in ("shape", "dtype"))
        zeros = np.broadcast_to(np.zeros((), dtype), shape)  # takes no memory
        state["parameters"]["table"] = checkpoint.rows("table.values") if rows else zeros
    except NoCheckpointError as error:
        if pathlib.Path(folder, STATE).exists():
            raise CheckpointError(f"{folder}: one process saved this state; resume it without --distributed") from None
        raise CheckpointError(f"{error}") from None
    except KeyError:
        raise CheckpointError(f"{folder}: the checkpoint has no table of this job") from None
    return state


def read_any(folder):
    """Read a state that one process saved, or many."""
    alone = pathlib.Path(folder, STATE).exists() or not pathlib.Path(folder).is_dir() or not whole_checkpoints(folder)
    return read_state(folder) if alone else read_sharded(folder)


def run_at_all_ranks(engine, function, *args):
    """What a function gives at each rank; where it raises at any rank, all raise: rank 0, which speaks, tells why."""
    result = error = None
    try:
        result = function(*args)
    except Exception as found:
        error = found
    failed = engine.allgather(np.array([error is not None]))[:, 0]
    if failed.any():
        try:
            raise_together(engine, error, failed)
        except Exception:
            if engine.rank:
                sys.exit(2)
            raise
    return result


@contextlib.contextmanager
def ending_together(engine):
    """End all ranks if this one fails, for the others would wait for it; of what all have raised rank 0 tells."""
    try:
        yield
    except (RankError, StorageError):
        if engine.rank:
            sys.exit(2)
        raise
    except (Exception, KeyboardInterrupt) as error:
        if engine.size == 1:
            raise
        engine.abort(f"error: rank {engine.rank}: {type(error).__name__}: {error}")
