import numpy as np

import lodkit

from . import common


class Moments:
    """Lazy updates of the rows that a gradient lists."""

    STATES = {"momentum": 1, "adadelta": 2, "rmsprop": 2, "lion": 1}
    ATTRS: dict = {}
    param_names = ["optimizer"]
    params = [[*STATES]]

    def setup(self, optimizer):
        rng = np.random.default_rng(0)
        self.param, self.grad = common.table(rng, 64), common.gradient(rng, 64)
        self.states = [np.zeros_like(self.param) for _ in range(self.STATES[optimizer])]
        if optimizer == "rowwise_adam":
            self.states[-1] = np.zeros(len(self.param), np.float32)
        elif optimizer == "smart_decay_adam":
            self.states[-1] = np.zeros(len(self.param), np.int64)
        self.update, self.steps = getattr(lodkit, optimizer), common.training_steps({"lr": 1e-3, **self.ATTRS})
        self.time_update(optimizer)

    def time_update(self, optimizer):
        self.update(self.param, self.grad, *self.states, lazy=True, **next(self.steps))
