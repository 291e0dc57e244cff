"""``Optimizer``: parameters by name, groups, states, schedules."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import numpy as np

from .. import ops  # noqa: F401  fills OPS
from ..arrays import compute_dtype, dtype_of, is_scalar, may_share_memory, to_device, zeros_like
from ..arrays.recorded import plain_view
from ..arrays.sizes import memory_for
from ..arrays.types import Scalar
from ..base.errors import LodkitError
from ..base.loading import public
from ..base.signals import uninterrupted
from ..base.tracebacks import surface
from ..lod import SelectedRows
from ..registry import OPS, Op
from .checks import asks_for_lr, check_group, check_rate, counted, named, refuse_shared
from .master_weights import MASTER, keeps_master, make_master, step_master, widen_gradient
from .settings import Settings
from .touched import TouchedRows


@public(home="lodkit.optim")
class Optimizer:
    """Base of the optimizers: an operator, applied to named arrays in place.

    Parameters
    ----------
    params : dict of str to array, or list of dicts
        Arrays by name; they are updated in place. Groups are dictionaries ``{"params": {...}, "lr": ...}`` with
        attributes of their own.
    lr : float, one-element array, or callable
        Learning rate; a callable gets the number of steps done, and returns the rate of the next one.
    states : {"all", "touched"}
        States are zeros at first, float32 for parameters of float16 and bfloat16. Keep states for all rows, or only for
        rows that have had a gradient (SelectedRows on the CPU). The latter saves memory if few rows of a large table
        are read. ``"touched"`` needs an optimizer that leaves other rows alone, as all do with ``lazy=True``.
    master_weights : bool
        True to keep a float32 copy, a state, of each float16 and bfloat16 parameter. The copy is updated and rounded
        into the parameter, so that small steps add up. If other code writes to the parameter, the copy takes those
        numbers. Gradients may be float32. On the CPU.
    **attrs
        Attributes of the operator. To a ``rounding_seed`` the steps done are added, as no step may repeat one.

    Attributes
    ----------
    groups : list of dict
        ``params``, ``lr``, ``states`` and attributes; may be changed between steps, except what decides which states
        are kept.
    iteration : int
        Steps done.

    Examples
    --------
    >>> import numpy as np, lodkit
    >>> table = np.zeros((5, 2))
    >>> optimizer = lodkit.optim.Adagrad({"table": table}, lr=lambda step: 0.5 / (1 + step))
    >>> optimizer.step({"table": lodkit.SelectedRows([1, 3], [[1.0, 2.0], [3.0, 4.0]], 5)})
    >>> table[1].round(3)
    array([-0.5, -0.5])
    """

    op: Op
    states: tuple[str, ...]
    flags: dict[str, str]
    defaults: dict[str, Any]
    _inputs: tuple[str, ...]

    def __init_subclass__(cls, op: str, flags: dict[str, str] | None = None, **defaults: Any) -> None:
        cls.__module__ = "lodkit.optim"
        cls.op, cls.flags, cls.defaults = OPS[op], flags or {}, defaults
        cls._inputs = tuple(cls.op.inputs)[2:]
        cls.states = tuple(s for s in cls._inputs if s not in cls.flags.values())

    @surface
    @asks_for_lr
    def __init__(
        self,
        params: Mapping[str, Any] | Sequence[Mapping[str, Any]],
        *,
        lr: Scalar | Callable[[int], float],
        **attrs: Any,
    ) -> None:
        groups = [{"params": params}] if isinstance(params, Mapping) else params
        if not isinstance(groups, list | tuple) or not all(isinstance(g, Mapping) and "params" in g for g in groups):
            raise TypeError('params must be a dictionary of arrays, or a list of groups {"params": {...}, ...}')
        # In the instance, for Python would ask the class's operator to bind itself.
        self.op = type(self).op
        self.iteration, self.groups, self._checked = 0, [], []
        self._states: dict[str, Any] = {}
        for group in groups:
            made = {"lr": lr, "states": "all", **self.defaults, **attrs, **group, "params": dict(group["params"])}
            check_group(self, made)
            for name, param in made["params"].items():
                if name in self._states:
                    raise ValueError(f"two parameters are called {name!r}")
                for other, array in (self.params | made["params"]).items():
                    if other in self._states and may_share_memory(param, array):
                        raise ValueError(f"parameters {other!r} and {name!r} share memory, which would step twice")
                self._states[name] = self._made(made, name, param)
            self.groups.append(made)
            self._checked.append(Settings(self, made))
        self._numbers = {name: i for i, name in enumerate(self._states)}

    def __setattr__(self, name, value):
        if name == "params":
            raise AttributeError("params are kept with their states; make another optimizer for others")
        if name in self.op._tests and name != "iteration":
            raise AttributeError(f"{name} is a setting of a group: optimizer.groups[0][{name!r}] = ...")
        super().__setattr__(name, value)

    @property
    def params(self) -> dict[str, Any]:
        """Parameters by name, of all groups."""
        return {name: param for group in self.groups for name, param in group["params"].items()}

    @surface
    def step(self, grads: Mapping[str, Any] | Sequence[Any], *, missing: Literal["raise", "skip"] = "raise") -> None:
        """Update the parameters, all of them: Ctrl-C waits for the last.

        Parameters
        ----------
        grads : dict of str to array or SelectedRows, or list
            Gradients by the names of the parameters, or in their order, as ``Tape.gradient`` returns them. Names,
            kinds, shapes and types of all are checked before the first update.
        missing : {"raise", "skip"}
            Result of a gradient that is None, or not in the dictionary: an error, or no update of its parameter.
        """
        self._check_changed()
        grads, plan = named(grads, self._states.keys(), missing), []
        for group, settings in zip(self.groups, self._checked, strict=True):
            attrs = self._step_attrs(settings.attrs)
            if attrs is not settings.attrs:
                # The schedule may have changed the groups after this one.
                self._check_changed()
            for name, param, kept in settings.parameters:
                grad = grads.get(name)
                if grad is not None:
                    array, states = plain_view(param), self._states[name]
                    arrays = [states[state] for state in kept]
                    settings.good.check(self.op, group, name, array, (array, *arrays), grad, states, attrs)
                    plan.append((name, array, grad, arrays, self._param_attrs(name, states, attrs)))
        refuse_shared(plan)
        with uninterrupted():
            for name, array, grad, arrays, attrs in plan:
                states = self._states[name]
                self._step(array, grad, arrays, states, attrs)
                states["iteration"] += 1
            self.iteration += 1

    def _step(self, array, grad, arrays, states, attrs):
        """Update a parameter and its states."""
        if "touched" in states:
            states["touched"].step(self.op, array, grad, attrs)
        elif MASTER in states:
            spreads = self.op.definition.optimizer.spreads({**self.op.defaults, **attrs})
            rows = None if spreads or not isinstance(grad, SelectedRows) else grad._rows
            grad, (*arrays, master) = widen_gradient(grad), arrays
            step_master(lambda copy: self.op(copy, grad, *arrays, **attrs), array, master, rows)
        else:
            self.op(array, grad, *arrays, **attrs)

    def state_dict(self) -> dict[str, Any]:
        """Return the states, by parameter, and the settings that are numbers: what ``lodkit.save`` takes.

        Arrays are the optimizer's own, not copies. Schedules are left out.
        """
        states = {}
        for name, found in self._states.items():
            touched = found.get("touched")
            states[name] = {**found, **touched.state_dict()} if touched else dict(found)
            states[name].pop("touched", None)
        groups = [
            {**{k: v for k, v in g.items() if k != "params" and not callable(v)}, "params": [*g["params"]]}
            for g in self.groups
        ]
        return {"optimizer": type(self).__name__, "iteration": self.iteration, "groups": groups, "states": states}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Take the states and settings of ``state_dict()``; what does not fit raises before anything changes."""
        if not isinstance(state, Mapping) or state.get("optimizer") != type(self).__name__:
            found = state.get("optimizer") if isinstance(state, Mapping) else type(state).__name__
            raise LodkitError(f"the state is of {found!r}, this optimizer is {type(self).__name__}")
        if missing := {"groups", "states", "iteration"} - state.keys():
            raise LodkitError(f"the state lacks {', '.join(sorted(missing))}; pass what state_dict() returned")
        try:
            self._load(state)
        except (TypeError, AttributeError, KeyError, IndexError) as error:
            raise LodkitError(f"the state is damaged ({error!r}); pass what state_dict() returned") from None

    def _load(self, state):
        names, groups = [[*g["params"]] for g in self.groups], state["groups"]
        if [g["params"] for g in groups] != names:
            raise LodkitError(f"the state has parameters {[g['params'] for g in groups]}, this optimizer {names}")
        merged = [{**mine, **g, "params": mine["params"]} for mine, g in zip(self.groups, groups, strict=True)]
        for mine, group in zip(self.groups, merged, strict=True):
            group["lr"] = mine["lr"] if callable(mine["lr"]) else group["lr"]  # a schedule stays
        made = {}
        for group in merged:
            check_group(self, group)
            for name, param in group["params"].items():
                made[name] = self._loaded(group, name, param, state["states"].get(name, {}))
        iteration = counted("the iteration", state["iteration"])
        with uninterrupted():
            self._states.update(made)
            for mine, group in zip(self.groups, merged, strict=True):
                mine.update(group)
            self.iteration, self._checked = iteration, [Settings(self, group) for group in self.groups]

    def _made(self, group, name, param):
        """States of a parameter: zeros."""
        if group["states"] == "touched":
            if not isinstance(param, np.ndarray):
                raise TypeError(f'{name}: states="touched" takes NumPy arrays, got {type(param).__name__}')
            names = self._names(group) + [MASTER] * keeps_master(group, param)
            return {"iteration": 0, "touched": TouchedRows(len(param), names, self._new(param[:0]))}
        states = {"iteration": 0, **{s: self._new(param)(s) for s in self._names(group)}}
        return {**states, MASTER: make_master(plain_view(param))} if keeps_master(group, param) else states

    def _new(self, param):
        """Maker of a state for a parameter, by name: of zeros, but for one."""

        def new(state, rows=None):
            shape, dtype, start = tuple(param.shape), _compute_dtype(param), 0.0
            if state != MASTER:
                shape, dtype, start = self.op.definition.optimizer.layout(state, shape, dtype)
            shape = shape if rows is None or shape == (1,) else (rows, *shape[1:])
            if isinstance(param, np.ndarray):
                with memory_for(f"the state {state}, of shape {shape} and type {dtype}"):
                    return np.full(shape, start, dtype) if start else np.zeros(shape, dtype)
            if not start and rows is None and shape == tuple(param.shape) and dtype == dtype_of(param):
                return zeros_like(param)
            from ..arrays.cuda import view

            return view(param).send(np.full(shape, start, dtype)).array

        return new

    def _names(self, group):
        """Names of the states, in the order of the operator's inputs; optional ones that are not kept are left out."""
        kept = {state for flag, state in self.flags.items() if group.get(flag) or state in group}
        return [s for s in self._inputs if s in self.states or s in kept]

    def _loaded(self, group, name, param, given):
        """States of a parameter from those of a ``state_dict``, as copies."""
        made = self._made(group, name, param)
        if "touched" in made:
            made["touched"].load(name, given)
        for state in [s for s in made if s not in ("iteration", "touched")]:
            mine, array = made[state], given.get(state)
            if array is None or tuple(array.shape) != tuple(mine.shape) or dtype_of(array) != dtype_of(mine):
                raise LodkitError(
                    f"{name}: the state {state} is missing, or not {dtype_of(mine)} of shape {mine.shape}"
                )
            if isinstance(mine, np.ndarray):
                made[state] = np.array(to_device(array, "cpu"), order="C")
            else:
                from ..arrays.cuda import view

                made[state] = view(param).send(np.asarray(to_device(array, "cpu"))).array
        if "iteration" not in given:
            raise LodkitError(f"{name}: the state lacks its iteration")
        made["iteration"] = counted(f"{name}: the iteration", given["iteration"])
        return made

    def _check_changed(self):
        """Check the groups that were changed since the last step."""
        if len(self.groups) == len(self._checked) and all(map(Settings.are_of, self._checked, self.groups)):
            return
        if [name for group in self.groups for name in group["params"]] != [*self._states]:
            raise LodkitError(f"groups must have the parameters {', '.join(self._states)}, as when they were made")
        for i, (group, checked) in enumerate(zip(self.groups, self._checked, strict=True)):
            if checked.are_of(group):
                continue
            check_group(self, group)
            checked.check_kept(group, ("states", MASTER, *self.flags))
            self._checked[i] = Settings(self, group)

    def _group_attrs(self, group):
        """Attributes of the operator in a group."""
        return {k: v for k, v in group.items() if k not in ("params", "states", MASTER, *self.flags)}

    def _step_attrs(self, attrs):
        """Attributes of a group with the rate of the next step, which is checked here, the others with the group."""
        lr = attrs["lr"]
        if callable(lr):
            lr = lr(self.iteration)
            if not is_scalar(lr):
                raise TypeError(f"the schedule returned {lr!r} for step {self.iteration}; lr is a number")
            attrs = {**attrs, "lr": lr}
        check_rate(self.op, lr, self.iteration)
        return attrs

    def _param_attrs(self, name, states, attrs):
        """The attributes with those that are another one at each step of a parameter."""
        if "iteration" in self.op._tests:
            attrs = {**attrs, "iteration": states["iteration"]}
        if attrs.get("rounding_seed") is not None:
            attrs = {**attrs, "rounding_seed": (attrs["rounding_seed"] + states["iteration"]) % (1 << 31)}
        if "seed" in self.op._tests:  # no two parameters share their noise
            attrs = {**attrs, "seed": attrs.get("seed", self.op.defaults["seed"]) + (self._numbers[name] << 32)}
        return attrs

    def __repr__(self):
        shown = [
            f"  {name}: {dtype_of(p)} {tuple(p.shape)}, lr={g['lr']}, states={g['states']!r}"
            for g in self.groups
            for name, p in g["params"].items()
        ]
        return "\n".join([f"{type(self).__name__}(iteration={self.iteration})", *shown])

    def _repr_html_(self) -> str:
        from .tables import html

        return html(self)


def _compute_dtype(param):
    """Type of states: float32 for parameters of float16 and bfloat16."""
    return compute_dtype(dtype_of(param))
