"""PyTorch's optimizers by lodkit's rules: one class for each of ``lodkit.optim``, with the same name and attributes.

They update parameters in place by ``param.grad``: dense, sparse COO, or the ``BagGradient`` of a fused EmbeddingBag.
"""

from __future__ import annotations

import inspect
import typing

import numpy as np
import torch

from ... import optim as _rules
from ...arrays import to_dtype
from ...arrays.ids import checked_ids
from ...base.errors import LodkitError
from ...base.signals import uninterrupted
from ...base.tracebacks import surface
from ...lod import SelectedRows
from ...ops.bag_updates import ABSENT
from ...optim.checks import asks_for_lr, counted, refuse_shared, unknown_class
from ...optim.master_weights import MASTER, check_master, step_master, widen_gradient
from ...registry import OPS
from .bag_gradient import BagGradient
from .operands import tensor
from .parameters import array_of_state, check_param, gradient_array, is_written, writable_array

#: Attributes of rules that have no meaning for a group of parameters: arrays of one of them, and what steps count.
_LEFT_OUT = ("mask", "return_step", "iteration")
#: What groups hold besides attributes: PyTorch's, and those of its schedulers.
_OTHERS = ("params", "param_names", "initial_lr", "max_lr", "min_lr", "max_momentum", "base_momentum", "swa_lr")
_HINTS = {
    "betas": "pass beta1 and beta2",
    "eps": "it is epsilon here",
    "alpha": "it is decay here",
    "rho": "it is decay here",
    **dict.fromkeys(("foreach", "fused", "capturable", "differentiable"), "lodkit's kernels have no such choice"),
}


class Optimizer(torch.optim.Optimizer):
    """Base of the optimizers: a rule of ``lodkit.optim`` for the parameters of PyTorch's modules.

    Parameters
    ----------
    params : iterable of parameters, of (name, parameter), or of groups
        On the CPU or a GPU, of floating numbers.
    lr : float
        Learning rate; PyTorch's schedulers change the rate of each group.
    master_weights : bool
        True to keep a float32 copy, a state, of each float16 and bfloat16 parameter. The copy is updated and rounded
        into the parameter, so that small steps add up. On the CPU.
    **attrs
        Attributes of the operator, as in ``lodkit.optim``; groups may have their own. ``lazy=True`` updates, by a
        sparse gradient, only its rows, as SparseAdam does; without it the result equals the dense gradient's.
    """

    rule: type[_rules.Optimizer]
    _names: tuple[str, ...]

    @surface
    @asks_for_lr
    def __init__(self, params, lr, **attrs):
        self._refuse_unknown(attrs)
        super().__init__(params, {**self._defaults(), **attrs, "lr": lr})
        for group in self.param_groups:
            self._recipe(group)

    @classmethod
    def _defaults(cls):
        rule = cls.rule
        known = {k: v for k, v in rule.op.defaults.items() if k not in _LEFT_OUT}
        return {**known, MASTER: False, **dict.fromkeys(rule.flags, False), **rule.defaults}

    @classmethod
    def _refuse_unknown(cls, names):
        for name in names:
            if name not in cls._names:
                hint = f" ({_HINTS[name]})" if name in _HINTS else ""
                raise TypeError(f"{cls.__name__} has no attribute {name!r}{hint}; it takes {', '.join(cls._names)}")

    @surface
    def add_param_group(self, param_group):
        """Add a group, as PyTorch does; an attribute that the optimizer lacks raises."""
        if isinstance(param_group, dict):
            self._refuse_unknown([name for name in param_group if name not in _OTHERS])
        super().add_param_group(param_group)
        try:
            group = self.param_groups[-1]
            recipe, _ = self._recipe(group)
            for name, param in _named(group, len(self.param_groups) - 1):
                check_param(name, param)
                _state_names(recipe, name, param)
        except Exception:
            self.param_groups.pop()
            raise

    @torch.no_grad()
    @surface
    def step(self, closure=None):  # type: ignore[override]
        """Update the parameters that have gradients; all gradients are checked before the first update.

        Ctrl-C waits for the last one.

        Parameters
        ----------
        closure : callable, optional
            Computes the loss again, and the gradients; its result is returned.
        """
        with torch.enable_grad():
            loss = None if closure is None else closure()
        updates, number = [], 0
        for i, group in enumerate(self.param_groups):
            recipe, attrs = self._recipe(group)
            for name, param in _named(group, i):
                recipe._numbers, number = {name: number}, number + 1
                if param.grad is not None:
                    updates.append(self._planned(recipe, attrs, name, param))
        refuse_shared([(u.name, u.array, u.grad) for u in updates if not isinstance(u.grad, tuple)])
        with uninterrupted():
            for update in updates:
                update.run()
        return loss

    def _recipe(self, group):
        """The rule of a group, made again when attributes other than the learning rate change; and its attributes."""
        attrs = {name: group[name] for name in self._names if name in group}
        lr = attrs["lr"]
        if callable(lr) or (isinstance(lr, torch.Tensor) and lr.numel() != 1):
            raise TypeError(f"lr must be a number, got {lr!r}; let a scheduler of torch.optim.lr_scheduler change it")
        lr = float(attrs.pop("lr"))
        known = self.__dict__.setdefault("_recipes", {}).get(id(group))
        if known is None or known[0] != attrs:
            known = self._recipes[id(group)] = attrs, self.rule({}, lr=lr, **attrs)
        recipe = known[1]
        recipe.groups[0]["lr"] = lr
        return recipe, recipe._step_attrs({**recipe._checked[0].attrs, "lr": lr})

    def _planned(self, recipe, attrs, name, param):
        """The update of a parameter, checked."""
        check_param(name, param)
        state = self.state[param]
        names = _state_names(recipe, name, param)
        if not state:
            self._fill(recipe, state, names, param)
        if [*state] != ["iteration", *names]:
            raise ValueError(
                f"{name}: its states are {', '.join(state)}, the rule now keeps {', '.join(names)}; what decides which "
                "states are kept cannot be changed: make another optimizer"
            )
        arrays = {s: array_of_state(state[s], s, name) for s in names}
        own = recipe._param_attrs(name, state, attrs)
        numbers, grad = writable_array(param, name), param.grad
        if isinstance(grad, BagGradient):
            if self._is_fused(own):
                return _Update(name, param, numbers, (*grad.joined(),), arrays, own, state, OPS[self._fused_name()])
            grad = grad.selected_rows()
            if grad.dtype != numbers.dtype and MASTER not in arrays:
                grad = grad.merge()
                grad = grad._with_value(to_dtype(grad.value, numbers.dtype))
        else:
            grad = gradient_array(grad, name, numbers.shape)
        group, settings = recipe.groups[0], recipe._checked[0]
        settings.good.check(recipe.op, group, name, numbers, (numbers, *arrays.values()), grad, arrays, own)
        return _Update(name, param, numbers, grad, arrays, own, state, recipe.op)

    def _fill(self, recipe, state, names, param):
        """Make the states of a parameter."""
        shape, kind = tuple(param.shape) or (1,), _EXACT.get(param.dtype, param.dtype)
        made = {"iteration": 0}
        for name in names:
            if name == MASTER:
                made[name] = param.detach().reshape(shape).float().contiguous()
                continue
            size, dtype, start = self.rule.op.definition.optimizer.layout(name, shape, _NUMPY[kind])
            # NumPy asks for huge pages, which PyTorch does not: rows anywhere in a state are found faster.
            fresh = torch.from_numpy(np.full(size, start, dtype) if start else np.zeros(size, dtype))
            made[name] = fresh if param.is_cpu else param.detach().new_empty(size, dtype=fresh.dtype).copy_(fresh)
        state.update(made)  # an interrupt leaves all or none

    @classmethod
    def _fused_name(cls):
        return f"embedding_bag_{cls.rule.op.name}"

    @classmethod
    def _is_fused(cls, attrs):
        """Whether the rule has an update by bags, and with these attributes changes their rows alone."""
        op = cls.rule.op
        asked = any(attrs.get(name) for name in ABSENT if name != "lazy")
        return cls._fused_name() in OPS and not asked and not op.definition.optimizer.spreads({**op.defaults, **attrs})

    @surface
    def load_state_dict(self, state_dict):
        """Take the states and settings of ``state_dict()``; what does not fit raises before anything changes."""
        params = [p for group in self.param_groups for p in group["params"]]
        saved = [i for group in state_dict["param_groups"] for i in group["params"]]
        for group in state_dict["param_groups"]:
            if unknown := [name for name in group if name not in (*_OTHERS, *self._names)]:
                rule = f"the state is not of {__name__}.{type(self).__name__}, but of PyTorch's own maybe"
                raise LodkitError(f"{rule}: its groups have {', '.join(unknown)}; pass what state_dict() returned")
        found = {}
        if len(params) == len(saved):
            pairs = [(p, g) for g in self.param_groups for p in g["params"]]
            groups = [g for g in state_dict["param_groups"] for _ in g["params"]]
            for i, (param, _), group in zip(saved, pairs, groups, strict=True):
                if i in state_dict["state"]:
                    found[param] = self._loaded(group, param, state_dict["state"][i])
        with uninterrupted():
            super().load_state_dict(state_dict)
            self.__dict__.pop("_recipes", None)
            for param, state in found.items():  # PyTorch's would convert them to the type of the parameter
                self.state[param] = state

    def _loaded(self, group, param, given):
        """States of a parameter from those of a file, as copies."""
        (recipe, _), made = self._recipe(dict(group)), {}
        self._fill(recipe, made, _state_names(recipe, "a parameter", param), param)
        for name, mine in made.items():
            value = given.get(name)
            if name == "iteration":
                made[name] = counted("the iteration", value)
            elif not isinstance(value, torch.Tensor) or value.shape != mine.shape or value.dtype != mine.dtype:
                raise LodkitError(f"the state {name} is missing, or not {mine.dtype} of shape {tuple(mine.shape)}")
            else:
                made[name] = mine.copy_(value.detach())
        return made


_EXACT = {torch.float16: torch.float32, torch.bfloat16: torch.float32}
_NUMPY = {torch.float32: np.dtype(np.float32), torch.float64: np.dtype(np.float64)}


class _Update(typing.NamedTuple):
    """A step of one parameter: of ``param`` itself, or of a copy that kernels can write."""

    name: str
    param: torch.Tensor
    array: typing.Any
    grad: typing.Any
    states: dict[str, typing.Any]
    attrs: dict[str, typing.Any]
    state: dict[str, typing.Any]
    op: typing.Any

    def run(self):
        if MASTER in self.states:
            step_master(self.step, self.array, self.states[MASTER], self.rows())
        else:
            self.step(self.array)
        if is_written(self.param):
            torch.autograd.graph.increment_version(self.param)  # so that autograd notices, as of PyTorch's own
        else:
            self.param.copy_(tensor(self.array).reshape(self.param.shape))
        self.state["iteration"] += 1

    def step(self, numbers):
        """Step numbers of the parameter, its own or the copy in float32."""
        states, widen = [x for s, x in self.states.items() if s != MASTER], MASTER in self.states
        if isinstance(self.grad, tuple):
            bags, grad, weights, pool = self.grad
            if widen:
                grad, weights = widen_gradient(grad), None if weights is None else widen_gradient(weights)
            attrs = {k: v for k, v in self.attrs.items() if k not in ABSENT}
            slots = [*states, *(None,) * (len(self.op.inputs) - len(states) - 4)]
            self.op(numbers, bags, grad, *slots, weights, pool=pool, **attrs)
        else:
            self.op(numbers, widen_gradient(self.grad) if widen else self.grad, *states, **self.attrs)

    def rows(self):
        """Rows that the step changes; None for all."""
        if isinstance(self.grad, tuple):
            return checked_ids(self.grad[0]._values, len(self.array))
        spreads = self.op.definition.optimizer.spreads({**self.op.defaults, **self.attrs})
        return None if spreads or not isinstance(self.grad, SelectedRows) else self.grad._rows


def _state_names(recipe, name, param):
    """Names of the states of a parameter; master weights come last."""
    group, names = recipe.groups[0], recipe._checked[0].states
    if not group[MASTER] or param.dtype not in _EXACT:
        return names
    check_master(group, name, param.is_cpu)
    return [*names, MASTER]


def _named(group, number):
    """Names, for messages, and parameters of a group."""
    names = group.get("param_names") or [f"param_groups[{number}][{i}]" for i in range(len(group["params"]))]
    return zip(names, group["params"], strict=True)


def _made(rule):
    """The class of a rule, with its attributes in the signature."""
    made = type(rule.__name__, (Optimizer,), {"rule": rule, "__module__": __name__, "__doc__": rule.__doc__})
    made._names = ("lr", *made._defaults())
    keyword, either = inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD
    attrs = [inspect.Parameter(n, keyword, default=v) for n, v in made._defaults().items()]
    needed = {*rule.op._needed} - {*rule.defaults}
    attrs = [a.replace(default=a.empty) if a.name in needed else a for a in attrs]
    inputs = [inspect.Parameter(n, either) for n in ("params", "lr")]
    made.__signature__ = inspect.Signature([*inputs, *attrs])
    return made


_CLASSES = {
    name: _made(rule)
    for name, rule in sorted(vars(_rules).items())
    if isinstance(rule, type) and issubclass(rule, _rules.Optimizer) and rule is not _rules.Optimizer
}
__all__ = ["Optimizer", *_CLASSES]
globals().update(_CLASSES)


def __getattr__(name):
    raise unknown_class(__name__, name, __all__)


def __dir__():
    return [*__all__, "__all__", "__doc__", "__name__"]
