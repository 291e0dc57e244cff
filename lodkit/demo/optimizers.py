"""The optimizers that a run may take: every class of ``lodkit.optim``, in lower case."""

from __future__ import annotations

import lodkit

OPTIMIZERS = {cls.__name__.lower(): cls for cls in lodkit.optim.Optimizer.__subclasses__()}
