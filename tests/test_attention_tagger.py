"""A causal attention tagger trains: lookup, attention, layer_norm, fc, cross entropy, under the tape."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import with_all_types
from treebank import documents, needs_treebank

import lodkit
from lodkit import LoDTensor, Tape


class Tagger:
    """Words, one layer of causal attention beside them, and a tag for each word."""

    def __init__(self, words, tags, width=16, heads=2, seed=0):
        rng = np.random.default_rng(seed)
        shapes = {"table": (words, width), "tags": (width, tags), "bias": (tags,), "norm": (width,), "shift": (width,)}
        shapes |= dict.fromkeys(("query", "key", "value", "back"), (width, width))
        drawn = {name: (rng.normal(size=s) / np.sqrt(width)).astype(np.float32) for name, s in shapes.items()}
        self.weights = {name: lodkit.parameter(w) for name, w in drawn.items()}
        self.weights["norm"][:], self.weights["bias"][:], self.weights["shift"][:] = 1, 0, 0
        self.moments = {name: np.zeros_like(w) for name, w in self.weights.items()}
        self.heads = heads

    def logits(self, ids, **dropout):
        w = self.weights
        x = lodkit.lookup_table(w["table"], ids)
        query, key, value = (lodkit.fc(x, w[name]) for name in ("query", "key", "value"))
        seen = lodkit.sequence_attention(query, key, value, num_heads=self.heads, causal=True)
        seen = lodkit.dropout(lodkit.fc(seen, w["back"]), **dropout) if dropout else lodkit.fc(seen, w["back"])
        return lodkit.fc(lodkit.gelu(lodkit.layer_norm(x + seen, w["norm"], w["shift"])), w["tags"], w["bias"])

    def step(self, ids, tags, lr, seed):
        with Tape() as tape:
            losses = lodkit.softmax_with_cross_entropy(self.logits(ids, rate=0.1, seed=seed), tags)
            loss = lodkit.mean(losses)
        for name, grad in zip(self.weights, tape.gradient(loss, list(self.weights.values())), strict=True):
            lodkit.adagrad(self.weights[name], grad, self.moments[name], lr=lr)
        return float(loss[0])

    def accuracy(self, ids, tags):
        return float((self.logits(ids).values.argmax(axis=1) == tags).mean())


@with_all_types
def test_a_tag_that_only_the_words_before_tell():
    """Word 0 switches the tag on, for itself and all behind it."""
    rng, model = np.random.default_rng(0), Tagger(12, 2)

    def draw(count):
        lengths = rng.integers(1, 13, count)
        ids = LoDTensor(rng.integers(0, 12, lengths.sum()), [lengths])
        return ids, (lodkit.sequence_cumsum(ids.with_values((ids.values == 0).astype(np.int64))).values > 0).astype(int)

    losses = [model.step(*draw(64), 0.2, seed) for seed in range(150)]
    ids, tags = draw(500)
    assert 0.2 < tags.mean() < 0.5, "always the same tag would be wrong often"
    assert np.mean(losses[-10:]) < 0.3 * losses[0]
    assert model.accuracy(ids, tags) > 0.9


@pytest.mark.jit
@needs_treebank
def test_parts_of_speech():
    """Sentences of the English Web Treebank; the most frequent tag is right for less than a fifth."""
    train, held_out = documents("train", 120), documents("test", 20)
    sentences = [pair for d in train for pair in zip(d["words"], d["upos"], strict=True)]
    words = {w: i for i, w in enumerate(sorted({w for ws, _ in sentences for w in ws}), 1)}
    tags = {t: i for i, t in enumerate(sorted({t for _, ts in sentences for t in ts}))}
    model, losses = Tagger(len(words) + 1, len(tags), width=32, heads=4), []
    for seed, first in enumerate(range(0, len(sentences), 32)):
        losses.append(model.step(*_numbered(sentences[first : first + 32], words, tags), 0.2, seed))
    assert np.mean(losses[-10:]) < 0.6 * losses[0]
    unseen = [pair for d in held_out for pair in zip(d["words"], d["upos"], strict=True)]
    ids, expected = _numbered(unseen, words, tags)
    assert model.accuracy(ids, expected) > 0.55 > 2 * np.bincount(expected).max() / len(expected)


def _numbered(sentences, words, tags):
    """Words as ids, 0 for unknown ones, in sentences; and the tags of all."""
    ids = [words.get(w, 0) for ws, _ in sentences for w in ws]
    return LoDTensor(ids, [[len(ws) for ws, _ in sentences]]), np.array([tags[t] for _, ts in sentences for t in ts])
