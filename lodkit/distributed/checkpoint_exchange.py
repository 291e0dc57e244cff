"""Checkpoints of all ranks together: rows go to the ranks that write them, and back to those that own them.

Each rank writes, and reads, a range of the rows of each array, block by block, whatever the dealing: what a checkpoint
holds does not depend on it, and no rank needs memory for more than a few blocks. What fails at one rank is put off
until all have agreed, for a rank that raised alone would leave the others waiting in an exchange.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import pathlib
from typing import Any, NamedTuple

import numpy as np

from ..arrays import empty
from ..arrays.checks import integer
from ..base.files import sync_folder
from ..base.signals import uninterrupted
from ..lod.offsets import lengths_to_offsets
from ..models.storage import save as save_file
from .calls import announce
from .checkpoint import Checkpoint
from .checkpoint_files import (
    EXTRA,
    FORMAT,
    MAX_NAME_CHARACTERS,
    NAME,
    CheckpointError,
    NoCheckpointError,
    ShardWriter,
    as_path,
    prune,
    record_of,
    remove,
    saving_alone,
    shard_name,
    start,
    write_manifest,
)
from .dealing import Dealing, Ranges

# Bytes that a rank writes, or reads, between two exchanges, at most.
BLOCK = 1 << 24
# Rows of a block, at most: routing takes some 50 bytes a row, however short it is.
ROWS = 1 << 18


class Held(NamedTuple):
    """The rows of an array that a rank holds, and how they are dealt; without a dealing all ranks hold all of them."""

    local: np.ndarray[Any, Any]
    dealing: Dealing | None = None

    @property
    def in_place(self):
        """Whether each rank holds just the rows that it writes, in order: nothing needs to travel."""
        return self.dealing is None or (type(self.dealing) is Ranges and not len(self.dealing.hot))

    @property
    def shape(self):
        return (self.dealing.height if self.dealing else len(self.local), *self.local.shape[1:])


class Agreement:
    """Steps that each rank takes by itself, and after which all go on or all raise."""

    def __init__(self, engine, what):
        self.engine, self.what, self.error = engine, what, None

    def do(self, function, *args):
        """Call a function, unless one has failed at this rank before."""
        if self.error is None:
            try:
                return function(*args)
            except Exception as error:
                self.error = error
        return None

    def reach(self, value=None):
        """The values of all ranks, which JSON can write; raise at all ranks where one of them has failed."""
        kind = "" if isinstance(self.error, CheckpointError) else f"{type(self.error).__name__}: "
        error = self.error and f"{kind}{self.error}"
        texts = gather_texts(self.engine, json.dumps({"error": error, "value": value}))
        verdicts = [json.loads(text) for text in texts]
        failed = {}
        for rank, verdict in enumerate(verdicts):
            if verdict["error"] is not None:
                failed.setdefault(verdict["error"], []).append(str(rank))
        if failed:
            where = "; ".join(f"rank {', '.join(ranks)}: {error}" for error, ranks in failed.items())
            raise CheckpointError(f"{self.what}: {where}") from self.error
        return [verdict["value"] for verdict in verdicts]

    def at_root(self, function, *args):
        """What a function gives at rank 0, at every rank."""
        return self.reach(self.do(function, *args) if self.engine.rank == 0 else None)[0]


def save(engine, directory, tables, parts, *, keep=3, extra=None):
    """Save arrays by row ranges, at all ranks together; return the path of the checkpoint.

    ``tables`` describes them, in what JSON can write; ``parts`` has a Held by name, the same names in the same order at
    every rank; ``extra``, of rank 0, is what ``lodkit.save`` takes.
    """
    if keep is not None and integer(keep, "keep") < 1:
        raise ValueError(f"keep must be at least 1, or None to keep all, got {keep}")
    if wrong := [name for name in parts if not NAME.fullmatch(name)]:
        raise ValueError(
            f"the array {wrong[0]!r} becomes a name of files: take at most {MAX_NAME_CHARACTERS} letters, digits, _, - "
            "and ."
        )
    all_ranks = Agreement(engine, f"{as_path(directory)}: nothing was saved, earlier checkpoints stay")
    with uninterrupted(), contextlib.ExitStack() as lock:
        if engine.rank == 0:
            all_ranks.do(lock.enter_context, saving_alone(directory))
        path = pathlib.Path(all_ranks.at_root(lambda: os.path.abspath(start(directory))))
        try:
            records = _write(all_ranks, path, parts, extra)
            arrays = {name: {"shape": part.shape, "dtype": part.local.dtype.str} for name, part in parts.items()}
            content = {"format": FORMAT, "tables": tables, "arrays": arrays, "files": records}
            all_ranks.at_root(_commit, path, content)
        except CheckpointError:
            if engine.rank == 0:
                with contextlib.suppress(OSError):
                    remove(path)
            raise
        all_ranks.what = f"{path}: was saved, but earlier checkpoints could not be removed"
        all_ranks.at_root(prune, directory, keep)
    return path


def _write(all_ranks, path, parts, extra):
    """Write the files of all ranks; return their records."""
    engine, writers = all_ranks.engine, {}
    try:
        all_ranks.do(_open, engine, path, parts, writers)
        all_ranks.reach()
        for name, part in parts.items():
            for first, last in blocks(engine, part):
                rows = fetch(engine, part, first, last)
                if first < last:
                    all_ranks.do(writers[name].write, rows)
    finally:
        for writer in writers.values():
            if all_ranks.error is None:
                all_ranks.do(writer.finish)
            writer.close()
    records = [writer.record for writer in writers.values()]
    if extra is not None and engine.rank == 0:
        all_ranks.do(save_file, path / EXTRA, extra)
        records.append(all_ranks.do(record_of, path / EXTRA))
    all_ranks.do(sync_folder, path)
    return [record for found in all_ranks.reach(records) for record in found]


def _open(engine, path, parts, writers):
    """Make a file for the rows of each array that this rank writes; none where there are no rows."""
    for name, part in parts.items():
        first, last = rows_to_write(engine, part)
        if first < last:
            shape = (last - first, *part.shape[1:])
            writers[name] = ShardWriter(path / shard_name(name, first), name, first, shape, part.local.dtype)


def _commit(path, content):
    """Make a checkpoint whole, if its files are here: other machines may have written to disks of their own."""
    for record in content["files"]:
        file = path / record["name"]
        try:
            # Opening the file asks the server of a network file system.
            with open(file, "rb") as found:
                size = os.fstat(found.fileno()).st_size
        except FileNotFoundError:
            size = None
        if size != record["bytes"]:
            raise CheckpointError(f"{file} was written, but is not seen here; give a directory that all ranks share")
    write_manifest(path, content)


def rows_to_write(engine, part, rank=None):
    """First and last row that a rank writes, and reads; of what all hold rank 0 takes all."""
    rank, height = engine.rank if rank is None else rank, part.shape[0]
    if part.dealing is None:
        return (0, height) if rank == 0 else (0, 0)
    return rank * height // engine.size, (rank + 1) * height // engine.size


def blocks(engine, part):
    """The ranges of rows that this rank writes, as many at each rank: the last ones may be empty."""
    step = min(ROWS, max(1, BLOCK // max(1, part.local[:0].itemsize * math.prod(part.shape[1:]))))
    longest = max(last - first for first, last in (rows_to_write(engine, part, rank) for rank in range(engine.size)))
    first, last = rows_to_write(engine, part)
    for start_ in range(0, longest, step):
        yield min(first + start_, last), min(first + start_ + step, last)


def fetch(engine, part, first, last):
    """The rows of a range, from their owners."""
    if part.in_place:
        return part.local[first - rows_to_write(engine, part)[0] :][: last - first]
    hot, order, local, counts = _route(engine, part.dealing, first, last)
    lent = engine.alltoall(counts[:, None])[:, 0]
    asked = engine.alltoallv(local[order], counts, lent)
    rows = empty((last - first, *part.shape[1:]), part.local.dtype)
    rows[hot] = part.local[local[hot]]
    rows[order] = engine.alltoallv(part.local[asked], lent, counts)
    return rows


def deliver(engine, part, first, last, rows):
    """Put the rows of a range, which this rank has read, where their owners keep them; not the hot ones."""
    if part.in_place:
        part.local[first - rows_to_write(engine, part)[0] :][: last - first] = rows
        return
    _, order, local, counts = _route(engine, part.dealing, first, last)
    received = engine.alltoall(counts[:, None])[:, 0]
    places = engine.alltoallv(local[order], counts, received)
    part.local[places] = engine.alltoallv(rows[order], counts, received)


def _route(engine, dealing, first, last):
    """Places of the hot rows of a range; places of the others, by owner; local row of each; how many each rank owns."""
    owners, local = dealing.checked_locate(np.arange(first, last))
    order = np.argsort(owners, kind="stable")
    hot, order = np.split(order, [np.count_nonzero(owners < 0)])
    return hot, order, local, np.bincount(owners[order], minlength=engine.size)


def load(engine, directory, verify=True):
    """Open a checkpoint at all ranks, the newest that rank 0 sees, and compare checksums, each rank of some files.

    Rank 0 alone looks whether all files are there.
    """
    all_ranks = Agreement(engine, f"{as_path(directory)}: not loaded")
    announce(engine, f"load from {as_path(directory)}")
    path, none = all_ranks.at_root(_find_checkpoint, directory)
    if none:
        raise NoCheckpointError(none)
    checkpoint = all_ranks.do(Checkpoint, path, False)
    if verify:
        all_ranks.do(lambda: checkpoint.verify(engine.rank, engine.size))
    all_ranks.reach()
    return checkpoint


def _find_checkpoint(directory):
    """The path of the checkpoint to take, and None; or None, and why there is none."""
    try:
        return os.path.abspath(Checkpoint(directory).path), None
    except NoCheckpointError as error:
        return None, f"{error}"


def read_into(engine, checkpoint, name, part):
    """Read the rows of an array that this rank holds; one rank reads them from the files, and all the hot ones."""
    all_ranks = Agreement(engine, f"{checkpoint.path}: not loaded")
    if part.dealing is None:
        all_ranks.do(lambda: np.copyto(part.local, checkpoint.rows(name)))
    else:
        hot = part.dealing.hot
        all_ranks.do(lambda: np.copyto(part.local[: len(hot)], checkpoint.pick(name, hot)))
        for first, last in blocks(engine, part):
            rows = all_ranks.do(checkpoint.rows, name, first, last)
            unread = np.zeros((last - first, *part.shape[1:]), part.local.dtype)
            deliver(engine, part, first, last, unread if rows is None else rows)
    all_ranks.reach()


def gather_texts(engine, text):
    """The texts of all ranks, by rank."""
    data = np.frombuffer(text.encode(), np.uint8)
    counts = np.full(engine.size, len(data))
    received = announce(engine, "a step of a checkpoint", counts[:, None])[:, 0]
    found = engine.alltoallv(np.tile(data, engine.size), counts, received)
    return [part.tobytes().decode() for part in np.split(found, lengths_to_offsets(received)[1:-1])]
