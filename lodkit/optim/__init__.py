"""Optimizers as objects: parameters by name, their states, groups, schedules and files.

Every class runs one operator of ``lodkit.OPS``, for dense gradients and SelectedRows, on the CPU and on a GPU, and
takes the operator's attributes.
"""

from typing import TYPE_CHECKING

from . import rules
from .checks import unknown_class
from .optimizer import Optimizer as Optimizer
from .rules import *  # noqa: F403  the classes, which are made from the operators

__all__ = ["Optimizer"]
__all__ += rules.__all__
__all__.sort()

if not TYPE_CHECKING:  # a checker would take it for a definition of any name

    def __getattr__(name):
        raise unknown_class(__name__, name, __all__)
