"""What is called: operators, the published names, gradients on a tape."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import re
from collections.abc import Callable
from typing import Any

import numpy as np

import lodkit
from lodkit import LoDTensor, SelectedRows

from ..samples import CAFFE2, PADDLE, SAMPLES, defined
from .attribute_setting import SETTINGS
from .objects import OBJECTS
from .values import Builder, described


@dataclasses.dataclass
class Slot:
    """A named input."""

    name: str
    value: Any


@dataclasses.dataclass
class Call:
    """A call to be mutated: ``run(inputs, attrs)``."""

    name: str
    run: Callable
    slots: list[Slot]
    attrs: dict[str, Any]
    known: frozenset = frozenset()  # names of attributes
    checks: dict[str, Any] = dataclasses.field(default_factory=dict)
    updates: frozenset = frozenset()
    variadic: bool = False
    op: Any = None

    @property
    def words(self):
        """Names that an error may name."""
        return {slot.name for slot in self.slots} | self.known | set(self.attrs)

    def text(self):
        attrs = [f"{name}={value!r}"[:400] for name, value in self.attrs.items()]
        return f"{self.name}({', '.join([s.value.text() for s in self.slots] + attrs)})"


def _slots(names, inputs):
    return [Slot(name, described(x)) for name, x in zip(names, inputs, strict=True)]


def operator(rng, name):
    """A sample of an operator, sometimes with ``out=``."""
    op = lodkit.OPS[name]
    inputs, attrs = rng.choice(SAMPLES[name])
    call = Call(name, lambda inputs, attrs: op.full(*inputs, **attrs), _slots(op._names(inputs), inputs), dict(attrs))
    call.op, call.updates, call.variadic = op, op.updates, op.variadic
    call.known, call.checks = frozenset(op._checks), op._checks
    if not op.updates and rng.random() < 0.08:
        like = _result(op, inputs, attrs)
        if isinstance(like, np.ndarray):
            call.slots.append(Slot("out=", described(like)))
            call.run = lambda inputs, attrs: op(*inputs[:-1], out=inputs[-1], **attrs)
            call.variadic = False
    return call


def _result(op, inputs, attrs):
    """The array of a call's result, by the definition, whose shape ``out=`` and output gradients have."""
    with np.errstate(all="ignore"):
        result = defined(op, inputs, attrs)
    result = result[0] if isinstance(result, tuple) else result
    return result.values if isinstance(result, LoDTensor) else result


def gradient(rng, name):
    """The gradients of an operator by its inputs of floating numbers, on a tape."""
    call = operator(rng, name)
    op = call.op
    if call.slots and call.slots[-1].name == "out=":
        call.slots.pop()
    names = [slot.name for slot in call.slots]
    given = rng.random() < 0.4
    if given:
        like = _result(op, Builder().build([slot.value for slot in call.slots]), dict(call.attrs))
        given = isinstance(like, np.ndarray) and like.dtype.kind == "f"
        if given:
            call.slots.append(Slot("output_gradients", described(np.ones_like(like))))
    watch = rng.random() < 0.3

    def run(inputs, attrs):
        inputs, seed = (inputs[:-1], inputs[-1]) if given else (inputs, None)
        if not watch:
            inputs = [lodkit.parameter(x) if type(x) is np.ndarray and x.dtype.kind == "f" else x for x in inputs]
        with lodkit.Tape() as tape:
            if watch:
                inputs = [tape.watch(x) if type(x) is np.ndarray and x.dtype.kind == "f" else x for x in inputs]
            out = op(*inputs, **attrs)
        sources = [x for x in inputs if _floating(x)]
        target = out[0] if isinstance(out, tuple) else out
        return out, tape.gradient(target, sources, seed, unconnected="none")

    call.name, call.run = f"Tape.gradient of {name}", run
    call.known |= {"output_gradients", "target", "sources", *names}
    return call


def _floating(x):
    numbers = x.values if isinstance(x, LoDTensor) else x.value if isinstance(x, SelectedRows) else x
    return isinstance(numbers, np.ndarray) and numbers.dtype.kind == "f"


def caffe2(rng, name):
    """The sample of one of Caffe2's names."""
    *inputs, last = CAFFE2[name]
    inputs, attrs = (inputs, dict(last)) if isinstance(last, dict) else ([*inputs, last], {})
    run = getattr(lodkit.caffe2, name)
    parameters = inspect.signature(run).parameters.values()
    names = [p.name for p in parameters if p.kind is not p.KEYWORD_ONLY]
    names = (names + names[-1:] * len(inputs))[: len(inputs)]
    call = Call(f"caffe2.{name}", lambda inputs, attrs: run(*inputs, **attrs), _slots(names, inputs), attrs)
    call.known = frozenset(inspect.signature(run).parameters)
    call.updates = frozenset(names)
    call.variadic = any(p.kind is p.VAR_POSITIONAL for p in parameters)
    return call


def paddle(rng, name):
    """The sample of one of Paddle's operator types."""
    inputs, attrs = PADDLE[name]
    slots = [*inputs]
    call = Call(
        f"paddle.{name}",
        lambda values, attrs: lodkit.paddle.run_op(name, dict(zip(slots, values, strict=False)), attrs),
        _slots(slots, inputs.values()),
        dict(attrs),
    )
    call.known, call.updates = frozenset(slots), frozenset(slots)
    return call


def structure(rng, name):
    """Methods of an object, whose attributes may be set in between; a LoDTensor that they give is used at once."""
    run, *inputs = (OBJECTS | SETTINGS)[name](rng)
    names = ["x", "argument", "third", "fourth", "fifth"][: len(inputs)]
    call = Call(name, lambda inputs, attrs: used(run(*inputs)), _slots(names, inputs), {})
    call.known = frozenset(["levels", "level", "offsets", "index", "mask", "ids", "size", "start", "stop"])
    return call


def used(result):
    """Read through the structure of a result, as the next operator would."""
    parts = result if isinstance(result, tuple | list) else (result,)
    for x in parts[:3]:
        if isinstance(x, LoDTensor) and x.lod_level:
            if x.values is None and 0 <= x.shape[0] < 1000:
                x.set_values(np.arange(float(x.shape[0])))
            if x.values is not None and x.dtype in (np.float32, np.float64):
                lodkit.sequence_pool(x, level=0)
    return result


def _computes_sizes(name):
    """Whether an operator computes sizes of numbers that it is given."""
    whole = [x for inputs, _ in SAMPLES[name] for x in inputs if getattr(x, "dtype", np.dtype("f4")).kind == "i"]
    return bool(whole) or any(isinstance(x, LoDTensor) for inputs, _ in SAMPLES[name] for x in inputs)


def kinds():
    """Kind -> maker, names and weight. Modules loaded later may have added samples."""
    operators = [name for name in SAMPLES for _ in range(3 if _computes_sizes(name) else 1)]
    return {
        "operator": (operator, operators, 11),
        "tape": (gradient, [name for name in SAMPLES if lodkit.OPS[name].gradient_rule], 2),
        "caffe2": (caffe2, [*CAFFE2], 2.5),
        "paddle": (paddle, [*PADDLE], 1.5),
        "object": (structure, [*OBJECTS], 2),
        "setting": (structure, [*SETTINGS], 3),
    }


@functools.cache
def chosen(pattern):
    """Makers, names and weights of the targets that a regular expression finds."""
    found = []
    for kind, (make, names, weight) in kinds().items():
        names = [name for name in names if re.search(pattern, f"{kind}:{name}")]
        if names:
            found.append((make, names, weight))
    return found


def draw(rng, pattern=""):
    """A call, not mutated yet."""
    found = chosen(pattern)
    (make, names, _), *_ = rng.choices(found, [weight for *_, weight in found])
    return make(rng, rng.choice(names))
