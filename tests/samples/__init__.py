"""Samples of every operator: name -> list of (inputs, attrs), one module per family.

Each list has empty, single, nested, duplicate and many-dimensional cases in several dtypes. A module may also have
CAFFE2 (a trailing dictionary of inputs has the arguments) and PADDLE: a call of every published name. Optimizers that
have none here are sampled from their records. Unless LODKIT_TEST_TYPES is ``all``, families leave out their samples in
float32 or in float16, in turn, and of what is left an operator has 24 at most.
"""

from __future__ import annotations

import importlib
import os
import pathlib

import numpy as np

import lodkit

from ._defined import defined as defined
from ._defined import numbers_type

SAMPLES, CAFFE2, PADDLE = {}, {}, {}
ALL_TYPES = os.environ.get("LODKIT_TEST_TYPES") == "all"
_most = int(os.environ.get("LODKIT_TEST_SAMPLES", 1 << 30))  # per operator: the bounds-check lane takes few
for _file in sorted(pathlib.Path(__file__).parent.glob("[!_]*.py")):
    _family = importlib.import_module(f"{__name__}.{_file.stem}")
    SAMPLES |= {name: cases[:_most] for name, cases in _family.SAMPLES.items()}
    CAFFE2 |= getattr(_family, "CAFFE2", {})
    PADDLE |= getattr(_family, "PADDLE", {})
# Imported after the families, which draw their numbers from one stream in this order.
_made = importlib.import_module(f"{__name__}._from_records").missing(SAMPLES)
SAMPLES |= {name: cases[:_most] for name, cases in _made.items()}


def select(samples, most=24):
    """Leave out samples in float32 or in float16 of operators with samples in other types, by turns of their families;
    of the others take some, spread evenly.

    In each type and for each reduction a kernel takes half a second to compile. Families share templates, so each
    template meets all types.
    """
    families = sorted({lodkit.OPS[name].family for name in samples})
    for name, cases in samples.items():
        left_out = (np.float32, np.float16)[families.index(lodkit.OPS[name].family) % 2]
        kept = [case for case in cases if numbers_type(case[0]) != left_out]
        cases = kept if any(numbers_type(inputs) is not None for inputs, _ in kept) else cases
        yield name, cases[:: -(-len(cases) // most) or 1]


SAMPLES = SAMPLES if ALL_TYPES else dict(select(SAMPLES))
