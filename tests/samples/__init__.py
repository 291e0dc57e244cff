"""Samples of every operator: name -> list of (inputs, attrs). A module a family; a new operator adds an entry there.

Each list has empty, single, nested, duplicate and many-dimensional cases in several types. A module may also have
CAFFE2 and PADDLE: a call of every published name, which tests/test_structure.py makes. A dictionary at the end of a
Caffe2 call holds arguments.
"""

from __future__ import annotations

import importlib
import pathlib

SAMPLES, CAFFE2, PADDLE = {}, {}, {}
for _file in sorted(pathlib.Path(__file__).parent.glob("[!_]*.py")):
    _family = importlib.import_module(f"{__name__}.{_file.stem}")
    SAMPLES |= _family.SAMPLES
    CAFFE2 |= getattr(_family, "CAFFE2", {})
    PADDLE |= getattr(_family, "PADDLE", {})
