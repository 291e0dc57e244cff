"""CUDA kernels of lodkit/ops/sequence_selection.py: plans in front of the shared copies of rows."""

from __future__ import annotations

from ..common.sequence_kernels import selection_kernels
from .primitives import copy_by_plan

selection_kernels("cuda", copy_by_plan)
