"""Sharded tables in checkpoints: what is said of each, and which of its arrays are saved."""

from __future__ import annotations

import json
import pathlib
from collections.abc import Iterable, Mapping
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from ..base.errors import LodkitError, cut_message
from ..base.tracebacks import surface
from .calls import announce
from .checkpoint import Checkpoint
from .checkpoint_exchange import Held, load, read_into, save
from .checkpoint_files import NAME, CheckpointError, as_path
from .dealing import DEALINGS, Dealing, Hashed
from .engine import Alone, Engine, as_engine
from .hot import share_states

if TYPE_CHECKING:
    from .table import ShardedTable

Kind = Literal["ranges", "hash"]


class SavedTable:
    """The part of ShardedTable that saves and loads it."""

    @surface
    def save(self, directory: str | PathLike[str], *, keep: int | None = 3, extra: Any = None) -> pathlib.Path:
        """Save values, states and iteration in a new checkpoint, whole or not at all; all ranks call it.

        Each rank writes a range of the rows, in blocks of at most 16 MiB, whatever the dealing. The checkpoint counts
        from the moment at which its manifest, which is written last, has its name; a job that is killed before leaves
        the earlier checkpoints, and the next save removes what it left.

        Parameters
        ----------
        directory : str or path-like
            Where the checkpoints of this job are; on a file system that all ranks share.
        keep : int or None
            How many checkpoints to keep, this one counted; None keeps all.
        extra : optional
            What belongs to the same moment: dense parameters, an epoch. What ``lodkit.save`` takes; rank 0's is saved.

        Returns
        -------
        pathlib.Path
            The checkpoint, a directory.

        Raises
        ------
        CheckpointError
            A rank could not write: a full disk, for one. Raised on all ranks, with the rank and its error; earlier
            checkpoints are as they were.
        """
        return save_tables({"table": self}, directory, keep, extra)

    @classmethod
    @surface
    def load(
        cls,
        directory: str | PathLike[str],
        comm: Any = None,
        *,
        name: str = "table",
        dealing: Kind | Dealing | None = None,
        hot: Any = None,
        verify: bool = True,
        **options: Any,
    ) -> Self:
        """Return the table of the newest checkpoint, on any number of ranks; all ranks call it.

        Each file is read by one rank to compare its checksum, and each row by the rank in whose range it lies.

        Parameters
        ----------
        directory : str or path-like
            What was given to ``save``, or one of the checkpoints in it.
        comm : optional
            As for ``ShardedTable``.
        name : str
            Of the table, where ``ShardedTables.save`` saved it.
        dealing, hot : optional
            As for ``ShardedTable``; those of the saved table by default.
        verify : bool
            Compare checksums first. Without, each file is read once, and only missing and cut files are found.
        **options
            ``exchange``, and attributes such as ``lr``: others than were saved.

        Returns
        -------
        ShardedTable
            It goes on as the saved one would have, to the same bits.

        Raises
        ------
        NoCheckpointError
            No checkpoint was saved to the end: start anew.
        CheckpointError
            The newest checkpoint is damaged; the message names the file, and the checkpoint before, which may be given
            as the directory.
        """
        engine = as_engine(comm)
        return load_table(cls, load(engine, directory, verify), engine, name, dealing=dealing, hot=hot, **options)


def save_tables(
    tables: Mapping[str, Any], directory: str | PathLike[str], keep: int | None, extra: Any
) -> pathlib.Path:
    """Save tables of one engine in one checkpoint; return its path."""
    described: dict[str, Any] = {}
    parts: dict[str, Held] = {}
    engine = next(iter(tables.values())).engine
    call = f"save of {', '.join(tables)} in {as_path(directory)}, keep={keep}"
    announce(engine, call, error=first_refusal(tables.values()))
    for table in tables.values():
        share_states(table)
    for name, table in tables.items():
        if not NAME.fullmatch(name) or "." in name:
            raise ValueError(f"the table {name!r} becomes a name of files: take letters, digits, _ and -")
        described[name] = _describe(table)
        parts |= _parts(name, table)
    return save(engine, directory, described, parts, keep=keep, extra=extra)


def first_refusal(tables: Iterable[Any]) -> Exception | None:
    """The error of the first table whose arrays are not like those that it was made with, or None."""
    return next(filter(None, (table._refusal() for table in tables)), None)


def load_table(make: Any, checkpoint: Checkpoint, engine: Engine, name: str, **options: Any) -> Any:
    """Make a table, and read the rows of this rank from a checkpoint that all ranks have opened."""
    if name not in checkpoint.tables:
        known = ", ".join(checkpoint.tables)
        message = f"{checkpoint.path} has no table {name!r}, but {known}: give name=, or load ShardedTables"
        raise KeyError(cut_message(message))
    saved = checkpoint.tables[name]
    try:
        _check_described(saved)
        _without_rows(make, saved, {})
    except (KeyError, TypeError, ValueError, LodkitError) as error:
        raise CheckpointError(f"{checkpoint.path}: the manifest does not describe {name!r} ({error!r})") from None
    given = {key: value for key, value in options.items() if value is not None}
    _check_arrays(checkpoint, name, saved["height"], _without_rows(make, saved, given))
    settings = _settings(saved, engine.size, given)
    table = make(saved["height"], saved["width"], engine, init=lambda ids, width: 0, **settings)
    for key, part in _parts(name, table).items():
        read_into(engine, checkpoint, key, part)
    table.iteration = saved["iteration"]
    return table


def _check_described(saved):
    """Raise where a manifest says what save does not write of a table."""
    dealing, attrs = saved["dealing"], saved["attrs"]
    sizes = [saved[key] for key in ("height", "width", "iteration")]
    known = all(type(x) is int and x >= 0 for x in [*sizes, *dealing["hot"], dealing["seed"] or 0])
    known = known and max(sizes) < 2**62 and max([-1, *dealing["hot"]]) < saved["height"]
    if not known or dealing["kind"] not in (None, *DEALINGS):
        raise ValueError("height, width, iteration or dealing")
    if not all(isinstance(saved[key], str) for key in ("dtype", "rule", "exchange")) or {*attrs} & {*saved, "hot"}:
        raise ValueError("dtype, rule, exchange or attrs")


def _without_rows(make, saved, given):
    """A table like a saved one, without rows: it says what arrays there must be."""
    settings = _settings_of(saved) | {key: value for key, value in given.items() if key not in ("dealing", "hot")}
    return make(0, saved["width"], Alone(), init=0, **settings)


def _check_arrays(checkpoint, name, height, table):
    """Raise unless a checkpoint has the arrays of a table of so many rows, before memory is taken for them."""
    for key, part in _parts(name, table).items():
        found, dtype = checkpoint.arrays.get(key), part.local.dtype
        shape = part.shape if part.dealing is None else (height, *part.shape[1:])
        if found is None or (tuple(found["shape"]), found["dtype"]) != (shape, dtype.str):
            raise CheckpointError(
                f"{checkpoint.path}: {key} is {found}, where {table.rule.op.name} needs {shape} {dtype}"
            )


def _parts(name, table: ShardedTable):
    """The arrays of a table, by name; states of one number for all rows are the same at every rank."""
    single = table.rule.names[-1:] if table.rule.optimizer.single else []
    parts = {f"{name}.values": Held(table.values, table.dealing)}
    for state, array in table.states.items():
        parts[f"{name}.{state}"] = Held(array, None if state in single else table.dealing)
    return parts


def _describe(table: ShardedTable):
    """What the manifest says of a table."""
    dealing = table.asked_dealing
    kind = next((kind for kind, known in DEALINGS.items() if type(dealing) is known), None)
    attrs = {}
    for name, value in table.rule.attrs.items():
        value = np.asarray(value).item() if isinstance(value, np.generic | np.ndarray) else value
        try:
            attrs[name] = json.loads(json.dumps(value, allow_nan=False))
        except (TypeError, ValueError):
            raise ValueError(f"{name}={value!r} cannot be saved: give it to update, not to the table") from None
    return {
        "height": table.height,
        "width": table.width,
        "dtype": table.dtype.str,
        "rule": table.rule.op.name,
        "states": list(table.rule.names),
        "attrs": attrs,
        "iteration": table.iteration,
        "exchange": table.exchange,
        "dealing": {"kind": kind, "seed": getattr(dealing, "seed", None), "hot": dealing.hot.tolist()},
    }


def _settings(saved, ranks, given):
    """What makes a table like a saved one, beside height and width; what was given comes first."""
    settings = _settings_of(saved) | given
    if "dealing" not in given:
        kind, seed, hot = (saved["dealing"][key] for key in ("kind", "seed", "hot"))
        if kind is None:
            raise ValueError("the saved table was dealt by a class of your own: give dealing")
        hot = given.get("hot", hot)
        if seed:
            settings["dealing"] = Hashed(saved["height"], ranks, hot, seed=seed)
            settings.pop("hot", None)
        else:
            settings |= {"dealing": kind, "hot": hot}
    return settings


def _settings_of(saved):
    return {key: saved[key] for key in ("rule", "dtype", "states", "exchange")} | saved["attrs"]
