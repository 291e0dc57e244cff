"""Running a case: twice over different poison, with its inputs compared after each run."""

from __future__ import annotations

import dataclasses
import faulthandler
import pathlib
import re
import resource
import warnings

import numpy as np
from numba import config

import lodkit
from lodkit.arrays import numpy_arrays

from ..samples import defined
from . import judging
from .allocator import guarded
from .cases import make
from .values import Builder, Disturbed

POISONS = 0xCB, 0x7B  # of int64: negative and huge; of float32: -3e7 and 1e36
MEMORY = 16 << 30  # bytes of addresses of a worker
LITTLE = 1 << 30  # bytes that an uncompiled one may add: kernels would fill more for minutes
SLOW = 1 << 31  # an attribute from which a definition may take minutes
HUGE = 1 << 60  # an attribute from which on no array can be made of its size


@dataclasses.dataclass
class Finding:
    """What was found, of which kind, in the call of what."""

    kind: str
    target: str
    detail: str

    @property
    def key(self):
        """Equal for findings that are one."""
        text = re.sub(r"-?\d[\d.e+]*", "N", self.detail)
        if self.kind == "obscure error":  # one line that raises serves many operators
            return self.kind, "", text[text.rfind("(") :][:200]
        return self.kind, self.target, text[:160]


@dataclasses.dataclass
class Outcome:
    """One run: its result or its error."""

    builder: Builder
    result: object = None
    error: Exception | None = None


def run_case(seed, number, pattern="", keep=None):
    """Run a case. Returns a finding or None, and the error that it ended with, if any."""
    case = make(seed, number, pattern, keep)
    call = case.call
    outcomes = [_run(call, poison) for poison in POISONS]
    first, second = outcomes
    for outcome in outcomes:
        found = _judge(call, outcome)
        if found:
            return Finding(found[0], call.name, found[1]), outcome.error
    if any(isinstance(outcome.error, MemoryError) for outcome in outcomes):
        return None, first.error or second.error  # the first run left too little for the second
    if type(first.error) is not type(second.error):
        errors = [outcome.error if outcome.error else "a result" for outcome in outcomes]
        return Finding("unwritten", call.name, f"two runs differ: {errors[0]!r} and {errors[1]!r}"), first.error
    if first.error is None:
        if judging.digest(first.result) != judging.digest(second.result):
            return Finding("unwritten", call.name, "results over different poison differ"), None
        if _too_large(call, first.result):
            return Finding("wrong size", call.name, "a result, where the definition is too large for NumPy"), None
        if config.DISABLE_JIT and call.op is not None and not call.name.startswith("Tape"):
            found = _against_definition(call, first.result)
            if found:
                return Finding("mismatch", call.name, found), None
    return None, first.error


def _run(call, poison):
    outcome = Outcome(Builder())
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            inputs = outcome.builder.build([slot.value for slot in call.slots])
            with guarded(poison):
                outcome.result = call.run(list(inputs), dict(call.attrs))
        except Exception as error:
            outcome.error = error
    return outcome


def _judge(call, outcome):
    error = outcome.error
    for placed in outcome.builder.placed:
        if error is not None and placed.changed():
            return "changed on error", f"{_name(placed, outcome)} was written to before {type(error).__name__}: {error}"
        if error is None and placed.gaps_changed():
            return "gap written", f"bytes between the elements of {_name(placed, outcome)} changed"
        if error is None and placed.changed() and not (call.updates or judging.shares(placed, outcome.result)):
            return "changed", f"{_name(placed, outcome)} was written to, and is no result"
    if error is not None:
        why = judging.obscure(error, call.words)
        if why:
            return "obscure error", f"{type(error).__name__}: {str(error)[:300]} ({why})"
    return None


def _name(placed, outcome):
    return f"input array {outcome.builder.placed.index(placed)}"


def _against_definition(call, result):
    """Compare with the definition, on inputs of their own."""
    builder = Builder()
    inputs = builder.build([slot.value for slot in _inputs(call)])
    numbers = [*judging.numbers([*inputs, *call.attrs.values()])]
    if any(abs(x) >= SLOW for x in numbers if type(x) is int):
        return None
    if call.attrs.get("gate_activation") in ("relu", "identity"):
        return None  # states that no gate bounds grow, and rounding errors with them
    arrays = [placed.array for placed in builder.placed]
    if not all(map(judging.ordinary, arrays + [np.array(x) for x in numbers if type(x) is float])):
        return None
    expected = _defined(call, inputs, call.attrs)
    found = None if expected is None else judging.differs(result, expected)
    if found is None:
        return None
    noise = judging.rounding([*arrays, *judging.parts(result)])
    near = [_near(call, noise, seed) for seed in range(3)]
    return judging.differs(result, expected, [x for x in near if x is not None], noise)


def _near(call, noise, seed):
    """What the definition gives for inputs and attributes with rounding errors."""
    builder = Disturbed(noise, seed)
    attrs = {name: builder.number(x) if type(x) is float else x for name, x in call.attrs.items()}
    return _defined(call, builder.build([slot.value for slot in _inputs(call)]), attrs)


def _defined(call, inputs, attrs):
    """The definition's result; None where it fails, since it checks nothing."""
    attrs = dict(attrs)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            call.op._check_attrs(attrs)
            return defined(call.op, inputs, attrs)
        except Exception:
            return None


def _inputs(call):
    return call.slots[:-1] if call.slots and call.slots[-1].name == "out=" else call.slots


def _too_large(call, result):
    """Whether a small result stands for one that NumPy refuses the definition: a size has wrapped."""
    huge = any(type(x) is int and x >= HUGE for x in call.attrs.values())
    shapes = [np.shape(x) for x in judging.parts(result)]
    small = all(max(shape, default=0) < HUGE and 0 not in shape for shape in shapes)  # of no elements is none too large
    if not huge or not small or call.op is None or call.updates or call.name.startswith("Tape"):
        return False
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            defined(call.op, Builder().build([slot.value for slot in _inputs(call)]), dict(call.attrs))
        except Exception as error:
            return str(error).startswith("array is too big")
    return False


def settle():
    """Prepare a process: lodkit must not take memory that the allocator does not see, nor any process all there is."""
    numpy_arrays.BIG_ARRAY_BYTES = 1 << 62
    memory = MEMORY
    if config.DISABLE_JIT:
        memory = LITTLE + int(pathlib.Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    lodkit.set_num_threads(1)
    faulthandler.enable()
