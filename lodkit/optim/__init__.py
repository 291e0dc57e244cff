"""Optimizers as objects: parameters by name, their states, groups, schedules and files.

Every class runs one operator of ``lodkit.OPS``, for dense gradients and SelectedRows, on the CPU and on a GPU, and
takes the operator's attributes.
"""

from typing import TYPE_CHECKING

from .checks import unknown_class
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

if not TYPE_CHECKING:  # a checker would take it for a definition of any name

    def __getattr__(name):
        raise unknown_class(__name__, name, __all__)
