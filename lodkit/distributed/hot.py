"""Hot rows: every rank has a copy; one rank updates it, from all gradients, and sends it to the others.

States are used at that rank alone, and travel when a checkpoint is saved.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..arrays.types import Array
from ..lod.offsets import lengths_to_offsets
from .messages import Part

if TYPE_CHECKING:
    from .table import ShardedTable


def counts_of(hot: int, ranks: int) -> Array:
    """How many of the hot rows each rank updates: hot row j is updated at rank ``j % ranks``."""
    return (hot + ranks - 1 - np.arange(ranks)) // ranks


def send_hot(table: ShardedTable) -> list[Part]:
    """The hot rows that this rank has updated, for all ranks."""
    return [table._part("hot", *_copies(table, table.values))] if len(table.dealing.hot) else []


def take_hot(table: ShardedTable, arrived: list[Array]) -> None:
    """Put the hot rows of all ranks in their places."""
    for rows in arrived:
        _put(table, table.values, rows)


def share_states(table: ShardedTable) -> None:
    """Give every rank the states of all hot rows; all ranks call it."""
    if len(table.dealing.hot):
        for array in table.rule.by_row(table.states):
            _put(table, array, table.engine.alltoallv(*_copies(table, array)))


def _copies(table, array):
    """The hot rows of an array that this rank updates, once for each rank; their numbers, and those of other ranks."""
    ranks, rank = table.engine.size, table.engine.rank
    counts = counts_of(len(table.dealing.hot), ranks)
    copies = np.concatenate([array[: len(table.dealing.hot)][rank::ranks]] * ranks)
    return copies, np.full(ranks, counts[rank]), counts


def _put(table, array, rows):
    ranks, hot = table.engine.size, array[: len(table.dealing.hot)]
    ends = lengths_to_offsets(counts_of(len(hot), ranks))
    for rank in range(ranks):
        hot[rank::ranks] = rows[ends[rank] : ends[rank + 1]]
