"""Kernels of lodkit/ops/moment_optimizers.py: each operator is a rule for the device's template of updates."""

from __future__ import annotations

from ...ops import moment_optimizers as ops
from .optimizer_rules import adadelta_rule, lion_rule, momentum_rule, rmsprop_rule
from .updates import update_kernel

update_kernel(ops.momentum, momentum_rule)
update_kernel(ops.adadelta, adadelta_rule)
update_kernel(ops.rmsprop, rmsprop_rule)
update_kernel(ops.lion, lion_rule)
