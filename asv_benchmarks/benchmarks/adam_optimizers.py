from .moment_optimizers import Moments


class Adams(Moments):
    STATES = {**dict.fromkeys(("adam", "rowwise_adam", "adamw", "adamax", "nadam", "radam"), 2), "smart_decay_adam": 3}
    ATTRS = {"iteration": 9}
    params = [[*STATES]]
