"""Sharded tables in checkpoints: what is said of each, and which of its arrays are saved."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from .checkpoint import Checkpoint
from .checkpoint_exchange import Part, load, read_into, save
from .checkpoint_files import NAME, CheckpointError
from .dealing import DEALINGS, Dealing
from .engine import Engine

if TYPE_CHECKING:
    from .table import ShardedTable


def save_tables(tables: Mapping[str, ShardedTable], directory: str | os.PathLike[str], keep: int | None, extra: Any):
    """Save tables of one engine in one checkpoint; return its path."""
    described, parts = {}, {}
    for name, table in tables.items():
        if not NAME.fullmatch(name) or "." in name:
            raise ValueError(f"the table {name!r} must be called by letters, digits, _ and - to be saved in files")
        described[name] = _described(table)
        parts[f"{name}.values"] = Part(table.values, table.dealing)
        for state, array in table.states.items():
            by_row = len(array) == len(table.values) and state not in table.rule.single
            parts[f"{name}.{state}"] = Part(array, table.dealing if by_row else None)
    return save(next(iter(tables.values())).engine, directory, described, parts, keep=keep, extra=extra)
