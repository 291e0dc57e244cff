import numpy as np

import lodkit

from . import common


def optimizers_of(*families):
    """Names of the optimizers of some families."""
    return [n for n, op in lodkit.OPS.items() if op.family in families and hasattr(op.definition, "optimizer")]


class Moments:
    """Lazy updates of the rows that a gradient lists."""

    param_names = ["optimizer"]
    params = [optimizers_of("moment_optimizers")]

    def setup(self, optimizer):
        rng = np.random.default_rng(0)
        self.param, self.grad = common.table(rng, 64), common.gradient(rng, 64)
        self.update = getattr(lodkit, optimizer)
        record = self.update.definition.optimizer
        layouts = (record.layout(state, self.param.shape, self.param.dtype) for state in record.list_states())
        self.states = [np.zeros(shape, dtype) for shape, dtype, _ in layouts]
        counted = {"iteration": 9} if "iteration" in self.update.signature.parameters else {}
        self.steps = common.training_steps({"lr": 1e-3, **counted})
        self.time_update(optimizer)

    def time_update(self, optimizer):
        self.update(self.param, self.grad, *self.states, lazy=True, **next(self.steps))
