"""``Optimizer``: parameters by name, groups, states, schedules."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from .. import ops  # noqa: F401  fills OPS
from ..arrays import dtype_of, is_array, is_scalar, may_share_memory, to_device, writable, zeros_like
from ..errors import DTypeError, LodkitError, ShapeMismatchError
from ..lod import SelectedRows
from ..public import public
from ..registry import OPS, Op
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
        States are zeros at first, float32 for parameters of float16. Keep them for all rows, or for those only that
        ever had a gradient (of SelectedRows, on the CPU): for tables of many rows, few of which are read. The latter
        takes rules that leave other rows alone, as all do with ``lazy=True``.
    **attrs
        Attributes of the operator.

    Attributes
    ----------
    groups : list of dict
        ``params``, ``lr``, ``states`` and attributes; may be changed between steps.
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

    def __init_subclass__(cls, op, flags=None, **defaults):
        cls.__module__ = "lodkit.optim"
        cls.op, cls.flags, cls.defaults = OPS[op], flags or {}, defaults
        cls.states = tuple(s for s in list(cls.op.inputs)[2:] if s not in cls.flags.values())

    def __init__(self, params, *, lr, **attrs):
        groups = [{"params": params}] if isinstance(params, Mapping) else params
        if not isinstance(groups, list | tuple) or not all(isinstance(g, Mapping) and "params" in g for g in groups):
            raise TypeError('params must be a dictionary of arrays, or a list of groups {"params": {...}, ...}')
        self.iteration, self.groups, self._states = 0, [], {}
        for group in groups:
            made = {"lr": lr, "states": "all", **self.defaults, **attrs, **group, "params": dict(group["params"])}
            self._check_group(made)
            for name, param in made["params"].items():
                if name in self._states:
                    raise ValueError(f"two parameters are called {name!r}")
                for other, array in (self.params | made["params"]).items():
                    if other in self._states and may_share_memory(param, array):
                        raise ValueError(f"parameters {other!r} and {name!r} share memory, which would step twice")
                self._states[name] = self._made(made, name, param)
            self.groups.append(made)

    @property
    def params(self):
        """Parameters by name, of all groups."""
        return {name: param for group in self.groups for name, param in group["params"].items()}

    def step(self, grads):
        """Update the parameters.

        Parameters
        ----------
        grads : dict of str to array or SelectedRows, or list
            Gradients by the names of the parameters, or in their order, as ``Tape.gradient`` returns them; None where a
            parameter has none. Names, kinds, shapes and types of all are checked before the first update.
        """
        grads, plan = self._named(grads), []
        for group in self.groups:
            attrs = self._attrs(group)
            for name, param in group["params"].items():
                if grads[name] is not None:
                    self._check_grad(group, name, param, grads[name])
                    plan.append((name, param, grads[name], attrs))
        for name, param, grad, attrs in plan:
            states = self._states[name]
            if "iteration" in self.op._tests:
                attrs = {**attrs, "iteration": states["iteration"]}
            if "touched" in states:
                states["touched"].step(self.op, param, grad, attrs)
            else:
                self.op(param, grad, *(states[s] for s in self._names(states)), **attrs)
            states["iteration"] += 1
        self.iteration += 1

    def state_dict(self):
        """Return the states, by parameter, and the settings that are numbers: what ``lodkit.save`` takes.

        Arrays are those of the optimizer, not copies. Schedules are left out.
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

    def load_state_dict(self, state):
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
            self._check_group(group)
            for name, param in group["params"].items():
                made[name] = self._loaded(group, name, param, state["states"].get(name, {}))
        for name, states in made.items():
            self._states[name] = states
        for mine, group in zip(self.groups, merged, strict=True):
            mine.update(group)
        self.iteration = int(state["iteration"])

    # -- states ----------------------------------------------------------------------------------

    def _made(self, group, name, param):
        """States of a parameter: zeros."""
        if group["states"] == "touched":
            if not isinstance(param, np.ndarray):
                raise TypeError(f'{name}: states="touched" takes NumPy arrays, got {type(param).__name__}')
            return {"iteration": 0, "touched": TouchedRows(len(param), self._names(group), self._new(param[:0]))}
        return {"iteration": 0, **{s: self._new(param)(s) for s in self._names(group)}}

    def _new(self, param):
        """Maker of a state of zeros for a parameter, by name."""
        traits, last = self.op.definition.traits, self.states[-1] if self.states else None

        def new(state, rows=None):
            dtype = np.dtype(np.int64) if traits.counter and state == last else _compute_dtype(param)
            shape = tuple(param.shape)[:1] if traits.rowwise and state == last else tuple(param.shape)
            shape = shape if rows is None else (rows, *shape[1:])
            if isinstance(param, np.ndarray):
                return np.zeros(shape, dtype)
            if rows is None and shape == tuple(param.shape) and dtype == dtype_of(param):
                return zeros_like(param)
            from ..arrays.cuda import view

            return view(param).send(np.zeros(shape, dtype)).array

        return new

    def _names(self, group):
        """Names of the states, in the order of the operator's inputs; optional ones that are not kept are left out."""
        kept = {state for flag, state in self.flags.items() if group.get(flag) or state in group}
        return [s for s in list(self.op.inputs)[2:] if s in self.states or s in kept]

    def _loaded(self, group, name, param, given):
        """States of a parameter from those of a ``state_dict``, as copies."""
        made = self._made(group, name, param)
        if "touched" in made:
            made["touched"].load(name, given)
        for state in self._names(group) if "touched" not in made else ():
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
        made["iteration"] = int(given["iteration"])
        return made

    # -- checks ----------------------------------------------------------------------------------

    def _attrs(self, group):
        """Attributes of the operator for the next step, checked."""
        attrs = {k: v for k, v in group.items() if k not in ("params", "states", *self.flags)}
        if callable(attrs["lr"]):
            attrs["lr"] = attrs["lr"](self.iteration)
            if not is_scalar(attrs["lr"]):
                raise TypeError(f"the schedule returned {attrs['lr']!r} for step {self.iteration}; lr is a number")
        self.op._check_attrs(attrs)
        if not np.isfinite(np.asarray(attrs["lr"], float)).all():
            raise ValueError(f"lr must be finite, got {attrs['lr']} in step {self.iteration}")
        self.op.definition.traits.check({k: v for k, v in attrs.items() if k in self.op._tests})
        return attrs

    def _check_group(self, group):
        for name in group:
            if name not in ("params", "states", *self.flags, *self.op._tests) or name == "iteration":
                near = [a for a in (*self.op._tests, *self.flags) if a != "iteration"]
                raise TypeError(f"{type(self).__name__} has no attribute {name!r}; it takes {', '.join(near)}")
        if group["states"] not in ("all", "touched"):
            raise ValueError(f'states must be "all" or "touched", got {group["states"]!r}')
        attrs = self._attrs(group)
        traits = self.op.definition.traits
        spreads = traits.spreads({**self.op.defaults, **attrs})
        for name in ("mask", "rounding_seed"):
            if group["states"] == "touched" and attrs.get(name) is not None:
                raise ValueError(f'states="touched" takes no {name}, which is by rows of the table; use states="all"')
        if group["states"] == "touched" and (spreads or traits.whole):
            raise ValueError(
                f'states="touched": {self.op.name} changes rows without a gradient too'
                + ("; pass lazy=True" if not traits.whole else ", by norms over all of them")
            )
        for name, param in group["params"].items():
            if not isinstance(name, str) or "/" in name or not is_array(param) or not param.ndim:
                if isinstance(name, str) and "/" in name:
                    raise ValueError(f"params[{name!r}]: names have no '/', which separates keys in files")
                if isinstance(name, str) and is_array(param):
                    raise ShapeMismatchError(f"{name} has no dimension; pass {name}.reshape(1)")
                raise TypeError(f"params[{name!r}] must be an array by a string, got {type(param).__name__}")
            if dtype_of(param).kind != "f":
                raise DTypeError(f"{name} is {dtype_of(param)}; an optimizer updates floating numbers")
            if isinstance(param, np.ndarray):
                writable(param, name)

    def _named(self, grads):
        names = list(self._states)
        if isinstance(grads, list | tuple):
            if len(grads) != len(names):
                raise ValueError(f"{len(grads)} gradients for {len(names)} parameters: {', '.join(names)}")
            return dict(zip(names, grads, strict=True))
        if not isinstance(grads, Mapping):
            raise TypeError(f"grads must be a dictionary or a list, got {type(grads).__name__}")
        if grads.keys() != set(names):
            missing, unknown = sorted(set(names) - grads.keys()), sorted(grads.keys() - set(names))
            raise ValueError(f"grads lacks {missing} and has {unknown} that are no parameters; None is no gradient")
        return grads

    def _check_grad(self, group, name, param, grad):
        if not isinstance(grad, SelectedRows) and not is_array(grad):
            raise TypeError(f"{name}: the gradient must be an array or SelectedRows, got {type(grad).__name__}")
        if tuple(grad.shape) != tuple(param.shape):
            raise ShapeMismatchError(f"{name}: the gradient has shape {tuple(grad.shape)}, it {tuple(param.shape)}")
        if dtype_of(grad.value if isinstance(grad, SelectedRows) else grad) != dtype_of(param):
            raise DTypeError(f"{name}: the gradient is {grad.dtype}, the parameter {param.dtype}; convert one")
        if group["states"] == "touched" and not isinstance(grad, SelectedRows):
            raise TypeError(f'{name}: states="touched" takes SelectedRows, a dense gradient touches every row')

    def __repr__(self):
        shown = [
            f"  {name}: {dtype_of(p)} {tuple(p.shape)}, lr={g['lr']}, states={g['states']!r}"
            for g in self.groups
            for name, p in g["params"].items()
        ]
        return "\n".join([f"{type(self).__name__}(iteration={self.iteration})", *shown])


def _compute_dtype(param):
    """Type of states: float32 for parameters of float16."""
    dtype = dtype_of(param)
    return np.dtype(np.float32) if dtype == np.float16 else dtype
