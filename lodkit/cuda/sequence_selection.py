"""CUDA kernels of lodkit/ops/sequence_selection.py: plans in front of the shared copies of rows."""

from __future__ import annotations

from .._sequence_kernels import selection_kernels
from . import _placed

selection_kernels("cuda", _placed)
