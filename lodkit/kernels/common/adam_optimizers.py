"""Kernels of lodkit/ops/adam_optimizers.py: each operator is a rule for the device's template of updates."""

from __future__ import annotations

from ...ops import adam_optimizers as ops
from .optimizer_rules import adam_rule, adamax_rule, nadam_rule, rowwise_adam_rule
from .updates import update_kernel

update_kernel(ops.adam, adam_rule)
update_kernel(ops.rowwise_adam, rowwise_adam_rule)
update_kernel(ops.adamw, adam_rule, rectified=False, corrected_epsilon=True)
update_kernel(ops.adamax, adamax_rule)
update_kernel(ops.nadam, nadam_rule)
update_kernel(ops.radam, adam_rule, rectified=True, corrected_epsilon=False)


@ops.advance_power.kernel("cpu", "cuda")
def advance_power(on, power, /, *, beta):
    ops.check_power(power)
    return on.fill(power, on.read(power).reshape(-1)[0].item() * beta)
