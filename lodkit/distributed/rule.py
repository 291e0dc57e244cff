"""The update of a rank's rows: an optimizer's operator, fused with the gradient of embedding_bag where that exists."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import ops
from ..arrays import compute_dtype, empty, writable
from ..arrays.types import Array
from ..base.errors import LodkitError, ShapeMismatchError
from ..kernels.cpu.primitives import device
from ..lod import LoDTensor, SelectedRows
from ..ops.bag_updates import ABSENT
from ..ops.shared.updates import check_rounding
from ..optim.checks import check_attrs
from ..registry import OPS

FUSED_POOLS = ("sum", "mean", "sqrt")


class Rule:
    """An optimizer's operator, which states it keeps, and its attributes.

    Parameters
    ----------
    name : str
        Of an operator that takes a parameter, its gradient and states.
    optional : sequence of str
        States that the operator does without, and that are kept all the same.
    attrs : dict
        Attributes of every step.
    """

    def __init__(self, name: str, optional: Sequence[str], attrs: dict[str, Any]) -> None:
        op = OPS.get(name) if isinstance(name, str) else None
        if op is None or not hasattr(op.definition, "optimizer"):
            known = sorted(name for name, op in OPS.items() if hasattr(op.definition, "optimizer"))
            raise ValueError(f"rule must be an optimizer's operator, one of {', '.join(known)}; got {name!r}")
        self.op: Any = op
        self.optimizer = op.definition.optimizer
        self.fused: Any = OPS.get(f"embedding_bag_{name}")
        parameters = op.signature.parameters
        possible = [*op.inputs][2:]
        if isinstance(optional, str):
            raise TypeError(f"states must be a list of names, got {optional!r}; pass [{optional!r}]")
        if unknown := set(optional) - set(possible):
            raise ValueError(f"{name} has no states {sorted(unknown)}; it has {', '.join(possible) or 'none'}")
        self._possible = possible
        self._tried: set[str] = set()
        self.names = self.optimizer.list_states(optional)
        self.attrs = {**({"lazy": True} if "lazy" in op.defaults else {}), **attrs}
        self._refuse(self.attrs)
        takes = sorted(parameters.keys() - {*op.inputs})
        if other := [attr for attr in attrs if attr not in takes]:
            raise TypeError(
                f"{name} has no attribute {other[0]!r}, nor has a sharded table; {name} takes {', '.join(takes)}"
            )
        check_attrs(op, {"lr": 1.0, **self.attrs}, 0)

    def _refuse(self, attrs):
        for name in ("mask", "return_step"):
            if attrs.get(name) is not None and attrs[name] is not False:
                raise ValueError(f"a sharded table takes no {name}, which is by rows of one array")

    def make_states(self, values: Array) -> dict[str, Array]:
        """First states of some rows: zeros, or what the operator starts from; float32 for rows of float16."""
        states = {}
        for name, (shape, dtype, start) in self._layouts(values.shape, values.dtype).items():
            # Huge pages, as for the values.
            states[name] = empty(shape, dtype)
            states[name][...] = start
        return states

    def _layouts(self, shape, dtype):
        """Shape, type and first value of each state of rows of a shape and type."""
        dtype = compute_dtype(np.dtype(dtype))
        return {name: self.optimizer.layout(name, shape, dtype) for name in self.names}

    def check_arrays(self, values: Any, states: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
        """Refuse rows, or states, that were replaced or resized since they were made: other ranks count on these."""
        if [*states] != self.names:
            raise LodkitError(
                f"table.states has {', '.join(states) or 'nothing'}, replaced since the table was made; assign a "
                f"dictionary of {', '.join(self.names) or 'nothing'}, in this order"
            )
        for name, (expected, kind, _) in {"values": (shape, dtype, None), **self._layouts(shape, dtype)}.items():
            array, what = (values, "values") if name == "values" else (states[name], f'states["{name}"]')
            if not isinstance(array, np.ndarray) or array.shape != expected or array.dtype != kind:
                raise ShapeMismatchError(
                    f"table.{what} is {_describe(array)}, replaced or resized since the table was made; assign an "
                    f"array of {kind} and shape {expected}, for the rows of this rank"
                )
            writable(array, f"table.{what}")

    def settled(
        self, values: Array, iteration: int, given: dict[str, Any], ranks: int, replicated: bool
    ) -> dict[str, Any]:
        """Attributes of a step, checked."""
        attrs = {**self.attrs, **{name: value for name, value in given.items() if value is not None}}
        self._refuse(attrs)
        if "lr" not in attrs:
            raise TypeError("update needs lr, here or when the table is made")
        if "iteration" in self.op._tests:
            attrs = {"iteration": iteration, **attrs}
        seed = attrs.get("rounding_seed")
        if seed is not None:
            attrs["rounding_seed"] = (seed + iteration) % (1 << 31)
        check_attrs(self.op, attrs, iteration)
        check_rounding(values, attrs.get("duplicates", "merge"), seed, None)
        if ranks > 1 and attrs.get("sigma"):
            raise ValueError(f"{self.op.name} over several ranks takes no sigma: its noise is by places in one array")
        if ranks > 1 and replicated and (self.optimizer.whole or attrs.get("clip_norm") is not None):
            raise ValueError(f"{self.op.name} takes a norm over all rows here: it would count hot rows on every rank")
        self._try(values, attrs)
        return attrs

    def _try(self, values, attrs):
        """Step a table without rows: what the operator refuses raises before anything travels."""
        tried = repr(sorted((name, x) for name, x in attrs.items() if name not in ("lr", "iteration", "rounding_seed")))
        if tried not in self._tried:
            empty_rows = SelectedRows._wrap(np.empty(0, np.int64), values[:0], 0)
            self.op(values[:0], empty_rows, *self.make_states(values[:0]).values(), **attrs)
            self._tried.add(tried)

    def by_row(self, states: dict[str, Array]) -> list[Array]:
        """The states that have a row for each of the table's."""
        return [states[name] for name in (self.names[:-1] if self.optimizer.single else self.names)]

    def takes_bags(self, attrs: dict[str, Any]) -> bool:
        """Whether the fused operator does such a step."""
        alone = any(attrs.get(name) not in (None, self.op.defaults.get(name)) for name in ABSENT if name != "lazy")
        spreads = self.optimizer.spreads({**self.op.defaults, **attrs})
        return self.fused is not None and not alone and not spreads

    def step_bags(self, values, states, bags, grad, weights, pool, attrs) -> None:
        """Step by the gradient of bags."""
        absent = (None,) * (len(self._possible) - len(states))
        attrs = {name: value for name, value in attrs.items() if name not in ABSENT}
        self.fused(values, bags, grad, *states.values(), *absent, weights, pool=pool, **attrs)

    def step_rows(self, values, states, grad, attrs, on=None) -> None:
        """Step by a gradient of rows; ``on`` is the device whose norms are those of all ranks."""
        arrays = values, *states.values()
        launch: Any = None if on is None else self.op.select(values, grad, *arrays[1:]).launch
        # On one device alone, which has no norms and rounds to nearest.
        if not isinstance(launch, functools.partial):
            self.op(values, grad, *arrays[1:], **attrs)
        elif self.optimizer.whole and not self.optimizer.single and attrs.get("lazy"):
            # Copies of the listed rows, as a dense update: ranks without any take part in the norms, too.
            grad = grad.merge()
            copies = [array[grad._rows] for array in arrays]
            launch = self.op.select(copies[0], grad.value, *copies[1:]).launch
            launch.func(on, copies[0], grad.value, *copies[1:], **attrs)
            device.put_together(grad._rows, copies, arrays)
        else:
            launch.func(on, values, grad, *arrays[1:], **attrs)


class RanksDevice:
    """The CPU as kernels see it, where a table's rows are on several ranks: norms are summed over all of them, and
    random roundings are those of the rows' ids."""

    def __init__(self, engine, dealing):
        self._engine, self._dealing = engine, dealing

    def __getattr__(self, name):
        found = getattr(device, name)
        return self._sum_norms(found) if name in ("squared_norm", "stepped_norms") else found

    def _sum_norms(self, norms):
        def sum_norms(*args):
            here = np.array(norms(*args))
            return tuple(self._engine.allreduce(here).tolist()) if here.ndim else float(self._engine.allreduce(here))

        return sum_norms

    def jitter(self, values, rows, seed, digits, least):
        local = np.arange(len(values)) if rows is None else rows
        device.jitter(values, self._dealing.ids(self._engine.rank, local), seed, digits, least)


def _describe(array):
    return f"{array.dtype} of shape {array.shape}" if isinstance(array, np.ndarray) else f"a {type(array).__name__}"


def rows_gradient(values: Array, bags: LoDTensor, grad: Array, weights: Array | None, pool: Any) -> SelectedRows:
    """The gradient of a table by that of its bags, a row for each id."""
    return ops.embedding_bag_grad(values, bags, grad, weights, pool=pool)
