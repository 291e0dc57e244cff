"""Samples of every operator: name -> list of (inputs, attrs), one module per family.

Each list has empty, single, nested, duplicate and many-dimensional cases in several dtypes. A module may also have
CAFFE2 (a trailing dictionary of inputs has the arguments) and PADDLE: a call of every published name. Optimizers that
have none here are sampled from their records.
"""

from __future__ import annotations

import functools
import importlib
import os
import pathlib

from ._defined import defined as defined


class Samples(dict):
    """Lists of samples by the name of an operator."""

    def __missing__(self, name):
        import lodkit

        file = f"tests/samples/{lodkit.OPS[name].family}.py" if name in lodkit.OPS else "tests/samples"
        raise LookupError(f"no samples of {name}: list its (inputs, attrs) in {file}, SAMPLES = {{{name!r}: [...]}}")


SAMPLES, CAFFE2, PADDLE = Samples(), {}, {}
#: Whether tests that make kernels of their own do so in all types, and in all ways; a kernel takes half a second.
ALL_TYPES = os.environ.get("LODKIT_TEST_TYPES") == "all"
#: A kernel takes a second to compile: README's tests have few, lanes that compile otherwise or not at all have more.
FEW_KERNELS = not ALL_TYPES and not {"LODKIT_TEST_SAMPLES", "NUMBA_DISABLE_JIT"} & os.environ.keys()


def some_of(values, every):
    """Of few kernels one value of so many, as each has kernels that no other test runs; else all."""
    return [*values][:: every if FEW_KERNELS else 1]


_most = int(os.environ.get("LODKIT_TEST_SAMPLES", 1 << 30))  # per operator: the bounds-check lane takes few
for _file in sorted(pathlib.Path(__file__).parent.glob("[!_]*.py")):
    _family = importlib.import_module(f"{__name__}.{_file.stem}")
    SAMPLES |= {name: cases[:_most] for name, cases in _family.SAMPLES.items()}
    CAFFE2 |= getattr(_family, "CAFFE2", {})
    PADDLE |= getattr(_family, "PADDLE", {})
# Imported after the families, which draw their numbers from one stream in this order.
_made = importlib.import_module(f"{__name__}._from_records").missing(SAMPLES)
SAMPLES |= {name: cases[:_most] for name, cases in _made.items()}


def rules_left_out():
    """Two of three optimizers and updates of bags, whose tests over the registry run with LODKIT_TEST_TYPES=all alone.

    Their kernels are a template's with a rule, which tests of the rules run.
    """
    import lodkit

    rules = [name for name, op in lodkit.OPS.items() if vars(op.definition).keys() & {"optimizer", "update"}]
    return {*rules} - {*rules[::3]}


@functools.cache
def place_in_registry(name):
    """The number of an operator; of any other name, how many operators there are."""
    import lodkit

    names = [*lodkit.OPS]
    return names.index(name) if name in names else len(names)
