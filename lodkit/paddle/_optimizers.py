"""Optimizers; parameters are updated in place."""

from __future__ import annotations

from ..registry import VarDesc
from ._types import op_type


def _rate(lr):
    """Return the learning rate, 0 for a description."""
    return 0.0 if isinstance(lr, VarDesc) else lr


@op_type
def sgd(ops, Param, Grad, LearningRate):
    return {"ParamOut": ops.sgd(Param, Grad, lr=_rate(LearningRate))}


@op_type
def adagrad(ops, Param, Grad, Moment, LearningRate, *, epsilon=1e-6):
    param, moment = ops.adagrad(Param, Grad, Moment, lr=_rate(LearningRate), epsilon=epsilon)
    return {"ParamOut": param, "MomentOut": moment}
