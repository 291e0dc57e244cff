"""Kernels of lodkit/ops/adam_optimizers.py: each operator is a rule for the device's template of updates."""

from __future__ import annotations

from ...ops import adam_optimizers as ops
from ...ops.shared.optimizer_record import optimizers_in
from .updates import update_kernel

for _op in optimizers_in(ops):
    update_kernel(_op)


@ops.advance_power.kernel("cpu", "cuda")
def advance_power(on, power, /, *, beta):
    ops.check_power(power)
    return on.fill(power, on.read(power).reshape(-1)[0].item() * beta)
