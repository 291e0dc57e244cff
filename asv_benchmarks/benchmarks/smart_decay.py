from .moment_optimizers import Moments


class SmartDecay(Moments):
    STATES = {"smart_decay_adam": 3}
    ATTRS = {"iteration": 9}
    params = [[*STATES]]
