"""The models of the demo: each reads ragged word ids, and scores every label."""

from __future__ import annotations

import typing

import numpy as np

import lodkit

from ..base.errors import LodkitError
from ..registry import Op
from .config import POOLS


class ModelError(LodkitError, ValueError):
    """A setting that the model cannot take, or texts that it cannot read."""


class Bag:
    """Pooled word vectors, and a linear layer."""

    pools: tuple[str, ...] = POOLS
    depth = 1  # of the lists that a text is
    bucket = False  # batches of texts of similar length: fewer time steps
    spread = 1.0  # standard deviation of new word vectors

    def __init__(self, config):
        self.dim, self.pool = config.dim, config.pool
        if self.pool not in self.pools:
            raise ModelError(f"--model {config.model} takes --pool {', '.join(self.pools)}, not {self.pool}")

    def parameters(self, words, labels, seed):
        """Return new parameters by name, the table of word vectors first."""
        rng = np.random.default_rng(seed)
        shapes = self.shapes(words, labels)
        table = lodkit.empty(shapes.pop("table"))
        table[...] = rng.standard_normal(table.shape, dtype=np.float32)
        table *= np.float32(self.spread)
        return {"table": table, **{name: _draw_weight(rng, shape) for name, shape in shapes.items()}}

    def shapes(self, words, labels):
        """Return the shapes of the parameters, by name."""
        return {"table": (words, self.dim), "weight": (self.dim, labels), "bias": (labels,), **self.layers()}

    def layers(self):
        """Return the shapes of what stands between the table and the last layer, by name."""
        return {}

    def logits(self, parameters, ids):
        """Score every label, for each text."""
        return self.scores(parameters, self.look_up(parameters["table"], ids))

    def look_up(self, table, ids):
        """Return what the model takes of the table: here a vector for each text."""
        return lodkit.embedding_bag(table, ids, pool=self.pool)

    def look_up_sharded(self, table, ids):
        """``look_up`` in a table that is dealt to ranks."""
        return table.embedding_bag(ids, pool=self.pool)

    def scores(self, parameters, found):
        """Score every label, for each text, by what was looked up."""
        return lodkit.fc(self.read(parameters, found), parameters["weight"], parameters["bias"])

    def read(self, parameters, found):
        """Return a vector for each text."""
        return found


def _draw_weight(rng, shape):
    """Zeros for a bias; a matrix keeps the size of what it is multiplied with."""
    if len(shape) == 1:
        return np.zeros(shape, np.float32)
    bound = shape[0] ** -0.5
    return rng.uniform(-bound, bound, shape).astype(np.float32)


class Words(Bag):
    """Models that take a vector for each word."""

    def look_up(self, table, ids):
        return lodkit.lookup_table(table, ids)

    def look_up_sharded(self, table, ids):
        return table.lookup(ids)


class GRU(Words):
    """A GRU between the word vectors and the pooling."""

    pools = (*Bag.pools, "last")
    bucket, spread = True, 0.1
    layer: Op[..., typing.Any] = lodkit.gru
    gates = 3

    def layers(self):
        return self.weights("words")

    def weights(self, name):
        """Return the shapes of the weights of a recurrent layer, in its order."""
        d, n = self.dim, self.gates * self.dim
        return {f"{name}_input": (d, n), f"{name}_state": (d, n), f"{name}_bias": (n,)}

    def run(self, parameters, name, x):
        """Run a recurrent layer over the innermost sequences, and pool its states in each."""
        states, _ = self.layer(x, *(parameters[weight] for weight in self.weights(name)))
        return lodkit.sequence_pool(states, pool=self.pool)

    def read(self, parameters, found):
        return self.run(parameters, "words", found)


class LSTM(GRU):
    """An LSTM between the word vectors and the pooling."""

    layer, gates = lodkit.lstm, 4


class Nested(GRU):
    """A GRU over the words of each sequence, and a GRU over the pooled states of the sequences."""

    depth = 2

    def layers(self):
        return {**self.weights("words"), **self.weights("texts")}

    def read(self, parameters, found):
        return self.run(parameters, "texts", super().read(parameters, found))


class Attention(Words):
    """Attention between the words of a text, which know their positions."""

    bucket, spread, heads = True, 0.1, 2

    def __init__(self, config):
        super().__init__(config)
        if self.dim % self.heads:
            raise ModelError(f"--model attention has {self.heads} heads: --dim must be even, not {self.dim}")

    def layers(self):
        return dict.fromkeys(("query", "key", "value", "back"), (self.dim, self.dim))

    def read(self, parameters, found):
        x = lodkit.add_position_encoding(found, beta=self.spread)
        query, key, value = (lodkit.fc(x, parameters[name]) for name in ("query", "key", "value"))
        seen = lodkit.sequence_attention(query, key, value, num_heads=self.heads)
        return lodkit.sequence_pool(x + lodkit.fc(seen, parameters["back"]), pool=self.pool)


MODELS: dict[str, type[Bag]] = {"bag": Bag, "gru": GRU, "lstm": LSTM, "nested": Nested, "attention": Attention}


#: The optimizers that a run may take: every class of ``lodkit.optim``, in lower case.
OPTIMIZERS = {cls.__name__.lower(): cls for cls in lodkit.optim.Optimizer.__subclasses__()}
