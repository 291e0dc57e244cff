from .moment_optimizers import Moments, optimizers_of


class Adams(Moments):
    params = [optimizers_of("adam_optimizers", "smart_decay")]
