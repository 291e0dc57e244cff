"""CUDA kernels of lodkit/ops/moment_optimizers.py: each is a rule for the template of updates."""

from __future__ import annotations

from ..common.rule_kernels import moment_kernels
from .primitives.update import update

moment_kernels("cuda", update)
