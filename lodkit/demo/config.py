"""What can be chosen for a run, and what each model takes by default; imports nothing heavy."""

from __future__ import annotations

import dataclasses
import typing

POOLS = ("sum", "mean", "sqrt", "max", "min")
#: Learning rates of optimizers with which the bag learns well; others have 0.1.
RATES = {
    **dict.fromkeys(("adam", "adamw", "lamb", "nadam", "rowwiseadam", "smartdecayadam"), 0.01),
    **dict.fromkeys(("adadelta", "dpsgd", "lars", "momentum", "proximalgd", "sgd", "wngrad"), 1.0),
    "lion": 0.003,
}


#: The whole numbers that a setting may be, in a saved state too.
RANGES = {"dim": (1, 1 << 31), "batch": (1, 1 << 31), "seed": (0, 1 << 63)}


class Defaults(typing.NamedTuple):
    """What a model is, and settings with which it learns well.

    ``kernels`` is how many functions a run with these settings compiles, or loads from the cache.
    """

    says: str
    kernels: int
    pool: str = "mean"
    dim: int = 64
    batch: int = 64
    epochs: int = 12


DEFAULTS = {
    "bag": Defaults("word vectors, pooled; it knows no order", 16),
    "gru": Defaults("a GRU over the words, its states pooled", 35, epochs=6),
    "lstm": Defaults("an LSTM over the words, its states pooled", 32, epochs=6, batch=32),
    "nested": Defaults(
        "texts are sequences of sequences, docstrings of words: a GRU over the words of each, a GRU over what it found",
        35,
        epochs=8,
        batch=16,
    ),
    "attention": Defaults("each word, with its place, sees all of its text; the words pooled", 27, epochs=6),
}


@dataclasses.dataclass
class Config:
    """Definition of a model; must be equal in a resumed run.

    None is the model's own default; for ``lr`` it is the optimizer's.
    """

    data: str = "stdlib"
    pool: str | None = None
    optimizer: str = "adagrad"
    lr: float | None = None
    dim: int | None = None
    batch: int | None = None
    seed: int = 0
    model: str = "bag"

    def __post_init__(self):
        from .models import MODELS, OPTIMIZERS, ModelError

        if self.optimizer not in OPTIMIZERS:
            raise ModelError(f"--optimizer takes {', '.join(sorted(OPTIMIZERS))}, not {self.optimizer}")
        if self.lr is None:
            self.lr = RATES.get(self.optimizer, 0.1)
        for name in ("pool", "dim", "batch"):
            if getattr(self, name) is None:
                setattr(self, name, getattr(DEFAULTS[self.model], name))
        for name, (least, most) in RANGES.items():
            number = getattr(self, name)
            if type(number) is not int or not least <= number < most:
                raise ModelError(f"--{name} takes whole numbers from {least} on, below {most}, not {number!r:.60}")
        MODELS[self.model](self)  # raises, before anything is read
