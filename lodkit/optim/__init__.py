"""Optimizers as objects: parameters by name, their states, groups, schedules and files.

Every class runs one operator of ``lodkit.OPS``, for dense gradients and SelectedRows, on the CPU and on a GPU, and
takes the operator's attributes.
"""

from .optimizer import Optimizer
from .rules import (
    DPSGD,
    FTRL,
    LAMB,
    LARS,
    SGD,
    Adadelta,
    Adagrad,
    Adam,
    Adamax,
    AdamW,
    DecayedAdagrad,
    Lion,
    Momentum,
    NAdam,
    ProximalAdagrad,
    ProximalGD,
    RAdam,
    RMSprop,
    RowwiseAdagrad,
    RowwiseAdam,
    SmartDecayAdam,
    Storm,
    WNGrad,
)

__all__ = [
    "Adadelta",
    "Adagrad",
    "Adam",
    "AdamW",
    "Adamax",
    "DPSGD",
    "DecayedAdagrad",
    "FTRL",
    "LAMB",
    "LARS",
    "Lion",
    "Momentum",
    "NAdam",
    "Optimizer",
    "ProximalAdagrad",
    "ProximalGD",
    "RAdam",
    "RMSprop",
    "RowwiseAdagrad",
    "RowwiseAdam",
    "SGD",
    "SmartDecayAdam",
    "Storm",
    "WNGrad",
]
