"""ShardedTable: the rows of a table, dealt to ranks."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from ..arrays import check_values
from ..arrays.checks import integer
from ..arrays.types import Array, DenseLike, DTypeLike
from ..base.errors import LodkitError
from ..base.loading import public
from ..base.tracebacks import surface
from ..lod import LoDTensor, SelectedRows
from ..lod.repr_text import amount
from .batch import Batch
from .calls import COLUMNS, NUMBERS
from .checkpoint_tables import SavedTable
from .dealing import Dealing, as_dealing
from .engine import as_engine
from .exchange import Exchange
from .initial import as_init, filled_rows, name_of
from .messages import Part, Traffic
from .rule import RanksDevice, Rule, rows_gradient


@public(home="lodkit.distributed")
class ShardedTable(SavedTable):
    """A table whose rows are dealt to the ranks of an engine, with the states of its optimizer.

    Each rank looks up, and gives gradients of, a batch of its own; all ranks make the same calls. Lookups, and updates
    by the gradients of all ranks' batches, have the bits that one process gets with the batches one after another, for
    any number of ranks and any dealing. Exceptions, which agree to rounding: ``exchange="partial"``, and rules with a
    norm over all rows (lars, lamb, wngrad, storm, dpsgd, and any with ``clip_norm``).

    Tables are NumPy's. Ids, weights and gradients on a GPU are taken, and copied through host memory; results are
    NumPy's.

    An error that a rank finds in its own inputs is raised on every rank before anything is sent or written: there as
    it is, elsewhere as a ``RankError`` that names the rank.

    Parameters
    ----------
    height, width : int
        Shape of the whole table.
    comm : optional
        A communicator of mpi4py, a process group of torch.distributed, or an ``Engine``. By default MPI's world under
        ``mpirun``, else this process alone.
    rule : str
        The optimizer: an operator such as ``"adagrad"``, with the operator's defaults.
    dtype : data-type, default float32
    init : {"uniform", "normal"}, number or callable
        First values. ``"uniform"`` spreads them over ``[-1 / sqrt(height), 1 / sqrt(height))``; a callable
        ``init(ids, width)`` gives the rows of int64 ids. All depend on ids alone, not on ranks.
    dealing : {"ranges", "hash"} or Dealing
        Which rank owns which row.
    hot : sequence of int, optional
        Ids of rows that every rank holds, so that nobody asks for them. Each is updated at one rank, which sends
        the row to all others after every update.
    exchange : {"rows", "partial"}
        What travels in ``embedding_bag``: distinct rows, to be pooled where they were asked for; or what owners have
        pooled of each bag, which is less where bags are long or ranks few, and adds up in another order.
    seed : int
        Of ``init``.
    states : sequence of str
        Optional states to keep: ``["largest"]`` makes adam AMSGrad.
    lr : float, optional
        Learning rate, where ``update`` is given none.
    **attrs
        Attributes of the operator. ``lazy`` is True by default. To a ``rounding_seed`` the updates done are added.

    Attributes
    ----------
    values : array of shape (local rows, width)
        This rank's rows; ``dealing.rows(engine.rank)`` are their ids.
    states : dict of str to array
        Of these rows; of hot rows those that this rank updates, ``hot[rank::ranks]``, until a checkpoint is saved.
    iteration : int
        Updates done.
    engine : Engine
    dealing : Dealing
    traffic : dict of str to Traffic
        What was sent to other ranks, by purpose: ``counts``, ``ids``, ``rows`` and ``bags`` of lookups, ``positions``,
        ``grads`` and ``hot`` of updates.

    Examples
    --------
    One process, as with the operators; under ``mpirun`` the same lines run on every rank:

    >>> import numpy as np, lodkit
    >>> table = ShardedTable(4, 2, rule="sgd", init=1.0, lr=0.5)
    >>> ids = lodkit.LoDTensor([0, 3, 3], [[1, 2]])
    >>> table.embedding_bag(ids)
    array([[1., 1.],
           [2., 2.]], dtype=float32)
    >>> table.update(np.ones((2, 2), np.float32))
    >>> table.lookup([0, 1, 3])
    array([[0.5, 0.5],
           [1. , 1. ],
           [0. , 0. ]], dtype=float32)
    """

    @surface
    def __init__(
        self,
        height: int,
        width: int,
        comm: Any = None,
        *,
        rule: str = "adagrad",
        dtype: DTypeLike = np.float32,
        init: Any = "uniform",
        dealing: Literal["ranges", "hash"] | Dealing = "ranges",
        hot: DenseLike | None = None,
        exchange: Literal["rows", "partial"] = "rows",
        seed: int = 0,
        states: tuple[str, ...] | list[str] = (),
        **attrs: Any,
    ) -> None:
        self.height, self.width = integer(height, "height"), integer(width, "width")
        if self.width < 0:
            raise ValueError(f"width must not be negative, got {width}")
        if exchange not in ("rows", "partial"):
            raise ValueError(f'exchange must be "rows" or "partial", got {exchange!r}')
        self.dtype = check_values(np.dtype(dtype), "ShardedTable", floating=True)
        self.engine, self.exchange = as_engine(comm), exchange
        self.dealing = self.asked_dealing = as_dealing(dealing, self.height, self.engine.size, hot)
        # One rank holds all rows, in order.
        whole = self.engine.size == 1 and not isinstance(dealing, Dealing)
        self.dealing = as_dealing("ranges", self.height, 1) if whole else self.dealing
        self.rule = Rule(rule, states, attrs)
        init_rows = as_init(init, self.height, integer(seed, "seed"))
        self.values = filled_rows(init_rows, self.dealing, self.engine.rank, self.width, self.dtype)
        self.states = self.rule.make_states(self.values)
        self.iteration = 0
        self.traffic: dict[str, Traffic] = {}
        self._on = None if whole else RanksDevice(self.engine, self.dealing)
        self._last: Batch | None = None
        # Ranks make their tables in one order.
        self.engine.tables += 1
        kind = f"{self.height} x {self.width} {self.dtype}, {rule}, {exchange}, {self.dealing.identity()}"
        self._described = f"table {self.engine.tables} ({kind}, init {name_of(init)}, seed {seed})"

    def _refusal(self):
        """The error of values or states that are not like those that the table was made with, or None."""
        try:
            shape = int(self.dealing.counts[self.engine.rank]), self.width
            return self.rule.check_arrays(self.values, self.states, shape, self.dtype)
        except LodkitError as error:
            return error

    def __repr__(self):
        size = amount(self.values.nbytes + sum(s.nbytes for s in self.states.values()))
        return (
            f"<ShardedTable: {self.height} rows of {self.width} {self.dtype}, {self.rule.op.name}; rank "
            f"{self.engine.rank} of {self.engine.size} ({self.engine.transport}) has {len(self.values)}, {size}>"
        )

    @surface
    def start(
        self, ids: Any, *, pool: str | None = None, weights: DenseLike | LoDTensor | None = None, **attrs: Any
    ) -> Batch:
        """Begin a lookup, and return it at once; its ids travel while this rank computes.

        Start the next batch before the update by this one, and ``wait`` for it afterwards: its rows are updated then.

        Parameters
        ----------
        ids : LoDTensor, array or list of int32 or int64
            Copied, as weights are: the update by this batch takes them as they are now.
        pool : str, optional
            As in ``embedding_bag``; without one, as in ``lookup``.
        weights, pad_value, dtype
            As in ``embedding_bag``; not of a lookup.

        Returns
        -------
        Batch
            ``wait()`` gives the result; ``update`` takes the batch.
        """
        batch = Batch(self, ids, pool, weights, attrs)
        batch.begin("start")
        return batch

    @surface
    def lookup(self, ids: Any) -> Array | Any:
        """Return the row of each id.

        Parameters
        ----------
        ids : array of int32 or int64 of any shape, LoDTensor, or list
            This rank's own; may be empty.

        Returns
        -------
        array of shape (*ids.shape, width), or LoDTensor of the structure of ids

        Raises
        ------
        RowIndexError
            An id is negative or not below the height.
        RankError
            Another rank has refused its ids.
        """
        return Batch(self, ids, None, None, {}).at_once()

    @surface
    def embedding_bag(
        self,
        ids: LoDTensor,
        weights: DenseLike | LoDTensor | None = None,
        *,
        pool: str = "sum",
        pad_value: float = 0.0,
        dtype: str | None = None,
    ) -> Array | Any:
        """Return the pooled rows of each bag; see ``lodkit.embedding_bag``.

        Parameters
        ----------
        ids : LoDTensor of int32 or int64
            This rank's own bags, the innermost sequences; there may be none.
        weights : array of shape (number of ids,), or LoDTensor, optional
        pool : {"sum", "mean", "sqrt", "max", "min", "prod", "logsumexp", "logmeanexp"}
            With ``exchange="partial"`` one of the first three.
        pad_value : float
        dtype : "float32", optional

        Returns
        -------
        array of shape (bags, width), or LoDTensor of such rows when ids have levels above the bags

        Raises
        ------
        RowIndexError
            An id is negative or not below the height.
        RankError
            Another rank has refused its batch.
        """
        return Batch(self, ids, pool, weights, {"pad_value": pad_value, "dtype": dtype}).at_once()

    @surface
    def update(self, grad: DenseLike | LoDTensor, *, batch: Batch | None = None, **attrs: Any) -> None:
        """Step the rows that the batches of all ranks have read.

        Parameters
        ----------
        grad : array or LoDTensor of the shape and the table's type
            Gradient of the lookup's result on this rank.
        batch : Batch, optional
            The lookup; by default the last one that returned.
        **attrs
            Attributes of the operator, for this step: ``lr``, for one.

        Raises
        ------
        ShapeMismatchError, DTypeError
            The gradient is not like the result of the lookup. Nothing was changed, on any rank.
        RankError
            Another rank has refused its gradient.
        """
        if self._on is None:
            batch = self._look_up(batch)
            batch.step_directly(grad, attrs)
            self._done_with(batch)
        else:
            Exchange(self.engine, "update", [self._step(grad, batch, attrs)]).finish()

    def _step(self, grad, batch, attrs):
        batch = self._look_up(batch)
        yield from batch.step(grad, attrs)
        self._done_with(batch)

    def _look_up(self, batch):
        batch = self._last if batch is None else batch
        if batch is not None and not isinstance(batch, Batch):
            raise TypeError(f"batch must be what start returned, got {type(batch).__name__}")
        if batch is None or batch.table is not self or batch.stepped:
            raise LodkitError("update follows a lookup of this table, each once; look up again, or pass another batch")
        return batch

    def _done_with(self, batch):
        batch.stepped, self._last = True, None if self._last is batch else self._last

    def _step_rows(self, rows, grad, attrs):
        grad = SelectedRows(rows, grad, len(self.values))  # checked: other ranks sent the rows
        self.rule.step_rows(self.values, self.states, grad, attrs, self._on)

    def _step_bags(self, bags, factors, grad, attrs):
        if self.rule.takes_bags(attrs):
            self.rule.step_bags(self.values, self.states, bags, grad, factors, "sum", attrs)
        else:
            rows = rows_gradient(self.values, bags, grad, factors, "sum")
            self.rule.step_rows(self.values, self.states, rows, attrs, self._on)

    def _announce(self, what, *counts):
        """The call that all ranks make, and the numbers that each gets first: up to three."""
        return f"{what} of {self._described}", self.count_call(*counts)

    def count_call(self, *counts: Any) -> Array:
        """The numbers of the message that begins a call, which is counted."""
        numbers = np.zeros((self.engine.size, NUMBERS + COLUMNS), np.int64)
        numbers[:, NUMBERS : NUMBERS + len(counts)] = np.transpose(counts)
        ones = np.ones(self.engine.size, np.int64)
        return self._part("counts", numbers, ones, ones).array[:, NUMBERS:]

    def _part(self, purpose, array, counts, expected):
        """A part of a message, counted."""
        part = Part(array, np.ascontiguousarray(counts), np.ascontiguousarray(expected))
        return self.traffic.setdefault(purpose, Traffic()).add(self.engine.rank, part)
