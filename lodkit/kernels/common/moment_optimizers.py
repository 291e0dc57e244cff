"""Kernels of lodkit/ops/moment_optimizers.py: each operator is a rule for the device's template of updates."""

from __future__ import annotations

from ...ops import moment_optimizers as ops
from ...ops.shared.optimizer_record import optimizers_in
from .updates import update_kernel

for _op in optimizers_in(ops):
    update_kernel(_op)
