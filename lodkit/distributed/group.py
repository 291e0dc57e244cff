"""Several tables in one exchange: what they send at a time is one message to each rank."""

from __future__ import annotations

import pathlib
from collections.abc import Iterator, Mapping
from os import PathLike
from typing import Any, Self

from ..base.loading import public
from ..base.tracebacks import surface
from .batch import Batch
from .checkpoint_exchange import load
from .checkpoint_tables import first_refusal, load_table, save_tables
from .engine import as_engine
from .exchange import Exchange, Job
from .table import ShardedTable


@public(home="lodkit.distributed")
class ShardedTables(Mapping[str, ShardedTable]):
    """Tables by name, looked up and updated together: as many messages as for one.

    Parameters
    ----------
    tables : dict of str to ShardedTable
        Of one engine.

    Examples
    --------
    >>> import numpy as np, lodkit
    >>> tables = ShardedTables({"user": ShardedTable(9, 2, init=1.0), "item": ShardedTable(5, 3, init=2.0)})
    >>> ids = lodkit.LoDTensor([0, 3, 3], [[1, 2]])
    >>> pooled = tables.embedding_bag({"user": ids, "item": ids}, pool="mean")
    >>> pooled["item"]
    array([[2., 2., 2.],
           [2., 2., 2.]], dtype=float32)
    >>> tables.update({name: np.ones_like(x) for name, x in pooled.items()}, lr=0.1)
    """

    def __init__(self, tables: Mapping[str, ShardedTable]) -> None:
        if not isinstance(tables, Mapping) or not tables:
            raise TypeError(f"tables must be a dictionary of ShardedTables by name, got {tables!r:.80}")
        self._tables = dict(tables)
        for name, table in self._tables.items():
            if not isinstance(name, str) or not isinstance(table, ShardedTable):
                raise TypeError(f"tables[{name!r}] must be a ShardedTable by a string, got {type(table).__name__}")
        if len({id(table) for table in self._tables.values()}) < len(self._tables):
            raise ValueError("a table stands under two names: give its ids together")
        engines = {name: (t.engine.rank, t.engine.size, t.engine.transport) for name, t in self._tables.items()}
        if len({*engines.values()}) != 1:
            raise ValueError(f"a group needs tables of one engine, got {engines}")
        self._engine = next(iter(self._tables.values())).engine

    def __getitem__(self, name: str) -> ShardedTable:
        return self._tables[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._tables)

    def __len__(self) -> int:
        return len(self._tables)

    def __repr__(self):
        return "\n".join(["ShardedTables", *(f"  {name}: {table!r}" for name, table in self.items())])

    @surface
    def start(
        self, ids: Mapping[str, Any], *, pool: str | None = None, weights: Mapping[str, Any] | None = None, **attrs: Any
    ) -> Batches:
        """Begin lookups of all tables, and return at once; see ``ShardedTable.start``.

        Parameters
        ----------
        ids : dict of str to LoDTensor, or to array
            For every table.
        pool : str, optional
            As in ``embedding_bag``; without one, as in ``lookup``.
        weights : dict of str to array, optional
            Tables without are not weighted.
        """
        return self._start("start", ids, pool, weights, attrs)

    def _start(self, what, ids, pool, weights, attrs):
        batches: dict[str, Batch] = {}

        def job(name: str) -> Job:
            self._check_names("ids", ids)
            factors = {} if weights is None else self._check_names("weights", weights, all_of_them=False)
            batches[name] = Batch(self[name], ids[name], pool, factors.get(name), attrs)
            return (yield from batches[name].look_up())

        return Batches(self._exchange(what, job), batches)

    @surface
    def lookup(self, ids: Mapping[str, Any]) -> dict[str, Any]:
        """Return the rows of ids, by table; see ``ShardedTable.lookup``."""
        return self._start("lookup", ids, None, None, {}).finish()

    @surface
    def embedding_bag(
        self,
        ids: Mapping[str, Any],
        weights: Mapping[str, Any] | None = None,
        *,
        pool: str = "sum",
        pad_value: float = 0.0,
        dtype: str | None = None,
    ) -> dict[str, Any]:
        """Return the pooled rows of each bag, by table; see ``ShardedTable.embedding_bag``."""
        return self._start("lookup", ids, pool, weights, {"pad_value": pad_value, "dtype": dtype}).finish()

    @surface
    def update(self, grads: Mapping[str, Any], *, batches: Batches | None = None, **attrs: Any) -> None:
        """Step all tables; see ``ShardedTable.update``.

        Parameters
        ----------
        grads : dict of str to array
            For every table.
        batches : Batches, optional
            What ``start`` returned; by default each table's last lookup.
        **attrs
            Attributes of all operators, for this step.
        """

        def job(name: str) -> Job:
            self._check_names("grads", grads)
            if batches is not None and not isinstance(batches, Batches):
                raise TypeError(f"batches must be what start returned, got {type(batches).__name__}")
            return (yield from self[name]._step(grads[name], batches and batches.batches[name], attrs))

        self._exchange("update", job).finish()

    @surface
    def save(self, directory: str | PathLike[str], *, keep: int | None = 3, extra: Any = None) -> pathlib.Path:
        """Save all tables in one checkpoint, of one moment; see ``ShardedTable.save``."""
        return save_tables(self, directory, keep, extra)

    @classmethod
    @surface
    def load(cls, directory: str | PathLike[str], comm: Any = None, *, verify: bool = True, **options: Any) -> Self:
        """Return the tables of the newest checkpoint, on any number of ranks; see ``ShardedTable.load``.

        ``options`` are those of all tables: a dealing by its name, ``lr``.
        """
        engine = as_engine(comm)
        checkpoint = load(engine, directory, verify)
        return cls({name: load_table(ShardedTable, checkpoint, engine, name, **options) for name in checkpoint.tables})

    def _check_names(self, what, given, all_of_them=True):
        """What is given by table, of the group's tables, and of all of them."""
        if not isinstance(given, Mapping):
            raise TypeError(f"{what} must be a dictionary by the names of the tables, got {type(given).__name__}")
        if unknown := [name for name in given if name not in self]:
            raise ValueError(f"{what}: there is no table {unknown[0]!r}; the group has {', '.join(self)}")
        if missing := [name for name in self if all_of_them and name not in given]:
            raise ValueError(f"{what} lacks the table {missing[0]!r}; a rank without any passes an empty array")
        return given

    def _exchange(self, what, job):
        return Exchange(self._engine, f"{what} of {', '.join(self)}:", [job(name) for name in self])


@public(home="lodkit.distributed")
class Batches:
    """Lookups of several tables that have begun; ``ShardedTables.start`` makes it."""

    def __init__(self, exchange: Exchange, batches: dict[str, Batch]) -> None:
        self._exchange, self.batches = exchange, batches

    def wait(self) -> dict[str, Any]:
        """Return the results of the lookups, by table; all ranks call it, as ``Batch.wait``."""
        for batch in self.batches.values():
            batch.set_waited()
        next(iter(self.batches.values())).table.count_call()
        self._exchange.rejoin(first_refusal(batch.table for batch in self.batches.values()))
        return self.finish()

    def finish(self) -> dict[str, Any]:
        """Return the results, where no other call of this rank came between."""
        return dict(zip(self.batches, self._exchange.finish(), strict=True))
