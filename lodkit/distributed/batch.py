"""A rank's own batch: what it asks of others, and what they send back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .. import ops
from ..arrays import check_gradient, from_lists
from ..arrays.ids import checked_ids
from ..base.errors import LodkitError
from ..base.loading import public
from ..kernels.cpu.primitives.device import values_grad
from ..lod import LoDTensor, check_bag, values_of
from ..lod.offsets import lengths_to_offsets
from ..ops.segments import check_weights
from ..ops.sequence_pool import with_outer_levels
from ..ops.shared.updates import check_grad_dtype
from ..registry.kinds import aligned
from .exchange import Exchange, Job
from .hot import send_hot, take_hot
from .messages import Part
from .plan import EVERY, Split, copy_array, homes, make_plan, split_bags, to_cpu
from .rule import FUSED_POOLS, rows_gradient

if TYPE_CHECKING:
    from .table import ShardedTable


@public(home="lodkit.distributed")
class Batch:
    """A lookup that has begun on every rank; ``ShardedTable.start`` makes it."""

    def __init__(self, table: ShardedTable, ids: Any, pool: str | None, weights: Any, attrs: dict[str, Any]) -> None:
        self.table, self._pool, self._attrs = table, pool, attrs
        self._ids, self._weights = ids, weights
        self._plan = self._split = self._owned = self._rows = self._shape = None
        self._exchange: Exchange | None = None
        self._waited = self.stepped = False

    def _take(self):
        """Check which arguments were given, and copy them."""
        attrs, pool, weights = self._attrs, self._pool, self._weights
        self._check_table()
        if other := sorted(attrs.keys() - ({"pad_value", "dtype"} if pool is not None else ())):
            what, takes = ("lookup", "nothing else") if pool is None else ("embedding_bag", "pad_value and dtype")
            remedy = "leave out ids of padding" if other[0] == "padding_idx" else f"it takes {takes}"
            raise TypeError(f"{what} of a ShardedTable takes no {other[0]}; {remedy}")
        if pool is None and weights is not None:
            raise TypeError("lookup of a ShardedTable takes no weights; give a pool")
        ids = from_lists(self._ids, "ids") if pool is None and isinstance(self._ids, list | tuple) else self._ids
        self._ids, self._weights = copy_array(ids, "ids"), copy_array(weights, "weights")

    def _check_table(self):
        if error := self.table._refusal():
            raise error

    def begin(self, what: str) -> None:
        """Check what was given; in an exchange, send ids and find out how many others send."""
        if self.table._on is None:
            self._take()
        else:
            self._exchange = Exchange(self.table.engine, what, [self.look_up()])

    def at_once(self) -> Any:
        """Begin, and return the result."""
        self.begin("lookup")
        return self._result()

    def wait(self) -> Any:
        """Return the rows, or the pooled bags: what ``lookup`` and ``embedding_bag`` return.

        All ranks call it, for several batches in the same order; for another one than the other ranks it raises. The
        rows are as they are now, after the updates since ``start``.
        """
        self.set_waited()
        if self._exchange is not None:
            self.table.count_call()
            self._exchange.rejoin(self.table._refusal())
        return self._result()

    def _result(self):
        if self._exchange is None:
            return self._reduce_directly()
        exchange, self._exchange = self._exchange, None
        return exchange.finish()[0]

    def set_waited(self) -> None:
        """Note that the rows have been asked for, which is possible once."""
        if self._waited:
            raise LodkitError("this batch was waited for already; start another one")
        self._waited = True

    def _reduce_directly(self):
        values = self.table.values
        if self._pool is None:
            return self._finish(ops.lookup_table(values, self._ids))
        return self._finish(ops.embedding_bag(values, self._ids, self._weights, pool=self._pool, **self._attrs))

    def _finish(self, result):
        """Note what the gradient must be like, and that an update may follow."""
        self._shape, self.table._last = values_of(result).shape, self
        return result

    def step_directly(self, grad: Any, given: dict[str, Any]) -> None:
        """Update a table that is whole here."""
        self._apply(*self._check_step(grad, given))

    def _apply(self, grad, attrs):
        table = self.table
        rule, values, states, weights = table.rule, table.values, table.states, values_of(self._weights)
        if self._pool is None:
            rule.step_rows(values, states, ops.lookup_table_grad(values, values_of(self._ids), grad), attrs)
        elif self._pool in FUSED_POOLS and rule.takes_bags(attrs):
            rule.step_bags(values, states, self._ids, grad, weights, self._pool, attrs)
        else:
            rule.step_rows(values, states, rows_gradient(values, self._ids, grad, weights, self._pool), attrs)
        table.iteration += 1

    def _check_step(self, grad, given):
        """A gradient, and the attributes of a step."""
        if grad is None:
            raise TypeError("update takes the gradient of the lookup's result, got None")
        table, grad = self.table, from_lists(values_of(to_cpu(grad)), "grad")
        self._check_table()
        if self._shape is None:
            raise LodkitError("update takes the gradient of a batch that was looked up: call wait() first")
        hot = len(table.dealing.hot) > 0
        attrs = table.rule.settled(table.values, table.iteration, given, table.engine.size, hot)
        check_gradient(grad, self._shape)
        check_grad_dtype(table.rule.op.name, table.values, grad)
        return grad, attrs

    def _call(self):
        """What all ranks must agree on."""
        if self._pool is None:
            return "rows"
        weights = "without" if self._weights is None else "with"
        return f"bags, {self._pool}, {weights} weights, {sorted(self._attrs.items())}"

    def look_up(self) -> Job:
        """The part of an exchange that looks rows up."""
        table = self.table
        self._take()
        if table._on is None:
            yield table._announce(self._call())
            yield []
            yield []
            return self._reduce_directly()
        self._check()
        if table.exchange == "partial" and self._pool is not None:
            return self._finish((yield from self._pool_partly()))
        return self._finish((yield from self._fetch()))

    def _check(self):
        """Check all inputs, and find out who owns which id."""
        table, ids = self.table, self._ids
        if self._pool is not None:
            ops.embedding_bag._check_attrs({"pool": self._pool, **self._attrs})
            if not isinstance(ids, LoDTensor):
                raise TypeError(
                    f"embedding_bag takes ids as a LoDTensor, got {type(ids).__name__}; pass LoDTensor(...)"
                )
            self._ids = ids = check_bag(ids)
            if self._weights is not None:
                weights = aligned(self._weights, ids, "weights")
                weights = np.asarray(from_lists(weights, "weights"))
                self._weights = check_weights(weights, len(ids.values), table.dtype, self._pool)
        flat = checked_ids(np.asarray(values_of(ids)), table.height)
        self._plan = make_plan(flat.reshape(-1), table.dealing, table.engine.rank)

    def _fetch(self):
        """Distinct rows travel, and are pooled here."""
        table, plan = self.table, self._plan
        announced = yield table._announce(self._call(), plan.counts)
        (asked,) = yield [table._part("ids", plan.local, plan.counts, announced[:, 0])]
        rows = ops.lookup_table(table.values, asked)
        (rows,) = yield [table._part("rows", rows, announced[:, 0], plan.counts)]
        if self._pool is None:
            found = ops.lookup_table(rows, plan.inverse.reshape(np.shape(values_of(self._ids))))
            return self._ids.with_values(found) if isinstance(self._ids, LoDTensor) else found
        if self._pool not in FUSED_POOLS:
            self._rows = rows  # for the gradient
        return ops.embedding_bag(
            rows, self._ids.with_values(plan.inverse), self._weights, pool=self._pool, **self._attrs
        )

    def _pool_partly(self):
        """Owners pool their ids of every bag; the parts are added here."""
        table, plan = self.table, self._plan
        if self._pool not in FUSED_POOLS:
            raise ValueError(
                f'exchange="partial" adds parts of bags: pool must be one of {FUSED_POOLS}, not {self._pool!r}'
            )
        split = split_bags(
            plan, self._ids._row_offsets(), np.where(plan.owners == EVERY, table.engine.rank, plan.owners)
        )
        announced = yield table._announce(self._call(), split.ids, split.bags)
        bags, factors = yield from self._send_bags(split, announced)
        pooled = ops.embedding_bag(table.values, bags, factors, dtype=self._attrs.get("dtype"))
        (parts,) = yield [table._part("bags", pooled, announced[:, 1], split.bags)]
        if not len(table.dealing.hot):
            self._split, self._owned = split, (bags, factors, announced)
        return self._add_parts(parts, split)

    def _add_parts(self, parts, split):
        """Add the owners' parts of each bag, in the order of the owners."""
        lengths = self._ids.lengths(absolute=True)
        total = np.zeros((len(lengths), *parts.shape[1:]), np.promote_types(parts.dtype, np.float32))
        ends = lengths_to_offsets(split.bags)
        for start, stop in zip(ends[:-1], ends[1:], strict=True):
            total[split.at[start:stop]] += parts[start:stop]
        total[lengths == 0] = self._attrs.get("pad_value", 0.0)
        return with_outer_levels(self._ids, -1, total.astype(self._attrs.get("dtype") or parts.dtype, copy=False))

    def step(self, grad: Any, given: dict[str, Any]) -> Job:
        """The part of an exchange that updates the table by the gradient of what was looked up."""
        table, (step, attrs) = self.table, self._check_step(grad, given)
        if table._on is None:
            yield table._announce(f"update by {sorted(attrs.items())}")
            yield []
            yield []
            return self._apply(step, attrs)
        if self._pool in FUSED_POOLS:
            yield from self._step_bags(step, attrs)
        else:
            yield from self._step_rows(step, attrs)
        take_hot(table, (yield send_hot(table)))
        table.iteration += 1
        return None

    def _step_rows(self, grad, attrs):
        """Owners get a gradient row for each id, in the order of ranks and positions."""
        table, plan = self.table, self._plan
        if self._pool is None:
            grad = grad.reshape(len(plan.inverse), table.width)
        else:
            bags = self._ids.with_values(plan.inverse)
            grad = rows_gradient(self._rows, bags, grad, self._weights, self._pool).value
        split = split_bags(plan, np.arange(len(plan.inverse) + 1), homes(plan))
        announced = yield table._announce(f"{self._call()}, update by {sorted(attrs.items())}", split.ids)
        numbers = split.ids, announced[:, 0]
        rows, grad = yield [
            table._part("positions", split.rows, *numbers),
            table._part("grads", ops.lookup_table(grad, split.positions), *numbers),
        ]
        table._step_rows(rows, grad, attrs)

    def _step_bags(self, grad, attrs):
        """Owners get the gradients of the bags that have ids of theirs, and these ids, in the order of the ranks."""
        table = self.table
        if self._owned is not None:
            split, (bags, factors, announced) = self._split, self._owned
            yield table._announce(f"{self._call()}, update by {sorted(attrs.items())}", split.ids, split.bags)
            (grad,) = yield [table._part("grads", ops.lookup_table(grad, split.at), split.bags, announced[:, 1])]
        else:
            split = split_bags(self._plan, self._ids._row_offsets(), homes(self._plan))
            announced = yield table._announce(
                f"{self._call()}, update by {sorted(attrs.items())}", split.ids, split.bags
            )
            more = table._part("grads", ops.lookup_table(grad, split.at), split.bags, announced[:, 1])
            bags, factors, grad = yield from self._send_bags(split, announced, more)
        table._step_bags(bags, factors, grad, attrs)

    def _send_bags(self, split: Split, announced, *more: Part):
        """Send owners their ids of each bag, and the factors of these; get the same of other ranks, and of ``more``."""
        table, by_id, by_bag = self.table, (split.ids, announced[:, 0]), (split.bags, announced[:, 1])
        parts = [table._part("positions", split.lengths, *by_bag), table._part("positions", split.rows, *by_id)]
        factors = self._factors()
        if factors is not None:
            each, numbers = (split.at, by_bag) if self._weights is None else (split.positions, by_id)
            parts.append(table._part("positions", factors[each], *numbers))
        lengths, rows, *rest = yield [*parts, *more]
        bags = LoDTensor(rows, [lengths])  # checked: other ranks sent both
        scale = None if factors is None else rest.pop(0)
        if scale is not None and self._weights is None:
            scale = np.repeat(scale, lengths)
        return (bags, scale, *rest)

    def _factors(self):
        """What multiplies the gradient of each bag, or of each id where there are weights; None for 1.

        Of whole bags, by the kernel that one process has: to the same bits.
        """
        if self._weights is None and self._pool == "sum":
            return None
        offsets, dtype = self._ids._row_offsets(), np.promote_types(self.table.dtype, np.float32)
        ones = np.ones(len(offsets) - 1, dtype)
        found = values_grad(np.empty(offsets[-1], dtype), None, None, offsets, self._weights, None, ones, self._pool)
        if self._weights is not None:
            return found
        by_bag = np.zeros(len(ones), dtype)
        full = offsets[1:] > offsets[:-1]
        by_bag[full] = found[offsets[:-1][full]]
        return by_bag
