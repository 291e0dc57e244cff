"""A case: a call drawn and mutated by numbers that its seed and its number give, the same on every machine."""

from __future__ import annotations

import dataclasses
import random
from typing import Any

from numba import config

from . import attribute_mutations, giants, structure_mutations, targets
from .targets import Call, Slot
from .values import Given, Numbers, Ragged, Rows, Several, Shared


@dataclasses.dataclass
class Case:
    """A mutated call; ``applied`` are the names of the mutations, None for those that were undone."""

    call: Call
    applied: list[Any]


def make(seed, number, pattern="", keep=None):
    """Draw and mutate a call. Each mutation has random numbers of its own, so that others can be undone by ``keep``."""
    rng = random.Random(f"{seed}:{number}")
    call = targets.draw(rng, pattern)
    applied = []
    count = rng.choice([0, 1, 1, 1, 2, 2, 2, 3, 4, 6])
    if rng.random() < 0.2 and not config.DISABLE_JIT:
        _apply(applied, keep, lambda: giants.enlarge(random.Random(f"{seed}:{number}:giants"), call))
        count = rng.choice([0, 0, 0, 1])
    for k in range(count):
        own = random.Random(f"{seed}:{number}:{k}")
        _apply(applied, keep, lambda own=own: mutate(own, call))
    return Case(call, applied)


def _apply(applied, keep, mutation):
    kept = keep is None or len(applied) in keep
    try:
        applied.append(mutation() if kept else None)
    except Exception:  # what was mutated into something that this mutation does not take
        applied.append("nothing")


def mutate(rng, call):
    """Mutate one thing of a call. Returns what was done."""
    kind = rng.random()
    if kind < 0.3 and (call.attrs or call.checks):
        return _attribute(rng, call)
    if kind < 0.36:
        return _inputs(rng, call)
    if not call.slots:
        return "nothing"
    at = rng.randrange(len(call.slots))
    slot = call.slots[at]
    if kind < 0.42:
        return _other(rng, call, at)
    slot.value, done = _changed(rng, slot.value)
    return f"{slot.name}: {done}"


def _changed(rng, x):
    if isinstance(x, Several) and x.parts:
        at = rng.randrange(len(x.parts))
        x.parts[at], done = _changed(rng, x.parts[at])
        return x, f"part {at}: {done}"
    if isinstance(x, Numbers | Ragged | Rows):
        x, done = structure_mutations.change(rng, x)
        if isinstance(x, Numbers):
            x.at_end = rng.random() < 0.7
        return x, done
    return Given(attribute_mutations.hostile(rng, getattr(x, "value", None))), "another value"


def _attribute(rng, call):
    names = sorted({*call.attrs, *call.checks})
    for name in rng.sample(names, min(len(names), rng.choice([1, 1, 2]))):
        check = call.checks.get(name)
        before = call.attrs.get(name, getattr(call.op, "defaults", {}).get(name))
        call.attrs[name] = attribute_mutations.hostile(rng, before, check)
    return f"attributes of {', '.join(names)}"


def _inputs(rng, call):
    """Leave one out, exchange two, add one."""
    kind, slots = rng.randrange(3), call.slots
    if kind == 0 and slots:
        slots.pop(-2 if slots[-1].name == "out=" and len(slots) > 1 else -1)  # the call takes the last one for out=
        return "one input less"
    if kind == 1 and len(slots) > 1:
        i, j = rng.sample(range(len(slots)), 2)
        slots[i].value, slots[j].value = slots[j].value, slots[i].value
        return "two inputs exchanged"
    if slots:
        slots.append(Slot(slots[-1].name, slots[-1].value))
    return "one input more"


VIEWS = {
    "the same": lambda x: x,
    "rows from the second on": lambda x: x[1:] if getattr(x, "ndim", 0) else x,
    "reversed rows": lambda x: x[::-1] if getattr(x, "ndim", 0) else x,
    "the values": lambda x: getattr(x, "values", getattr(x, "value", x)),
}


def _other(rng, call, at):
    """Another input's memory, or something that is no array."""
    slot = call.slots[at]
    if at and rng.random() < 0.6:
        label = rng.choice([*VIEWS])
        slot.value = Shared(rng.randrange(at), VIEWS[label], label)
        return f"{slot.name}: shares memory"
    if isinstance(slot.value, Numbers) and rng.random() < 0.5 and slot.value.array.size < 1000:
        slot.value = Given(slot.value.array.tolist())
        return f"{slot.name}: a list"
    slot.value = Given(attribute_mutations.hostile(rng, None))
    return f"{slot.name}: something else"
