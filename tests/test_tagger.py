"""The tagger of docs/tagging.md learns parts of speech, where the treebank is, and dotted names everywhere."""

from __future__ import annotations

import numpy as np
import pytest
from pages import definitions
from treebank import documents, needs_treebank

import lodkit
from lodkit import LoDTensor

PAGE = definitions("tagging.md")


def trained(ids, tags, count, epochs=1):
    """A tagger that has read every line, or sentence, so many times; its losses."""
    model, ids, tags = PAGE["Tagger"](ids.values.max() + 1, count), ids.drop_level(0), tags.drop_level(0)
    return model, [model.step(*b) for seed in range(epochs) for b in lodkit.batches(ids, tags, size=32, seed=seed)]


def majority(tags):
    return np.bincount(tags.values).max() / len(tags.values)


def right(found, tags):
    return (found.values == tags.values).mean()


@pytest.mark.jit
def test_dotted_names_of_the_standard_library():
    """Other files than the page's. The most frequent tag of each word is right for four fifths."""
    read, unread = ([*map(PAGE["lines_of"], names)] for names in (["shutil", "typing"], ["zipfile"]))
    known = {word: i for i, word in enumerate(sorted({w for file in read for line in file for w in line}), 1)}
    model, losses = trained(*PAGE["numbered"](read, known), len(PAGE["TAGS"]))
    assert np.mean(losses[-10:]) < 0.1 * losses[0]
    ids, tags = PAGE["numbered"](unread, known)
    found = model.tag(ids)
    assert right(found, tags) > 0.95 > 0.65 > majority(tags)
    assert lodkit.chunk_eval(found, tags, num_chunk_types=3)[2] > 0.9


@pytest.mark.jit
@needs_treebank
def test_parts_of_speech_and_names():
    train, held_out = documents("train", 60), documents("test", 20)
    words = {w: i for i, w in enumerate(sorted({w for d in train for s in d["words"] for w in s}), 1)}
    names = sorted({t for d in train for s in d["upos"] for t in s})
    model, losses = trained(*numbered(train, words, names), len(names), epochs=2)
    assert np.mean(losses[-10:]) < 0.3 * losses[0]
    ids, tags = numbered(held_out, words, names)
    found = model.tag(ids)
    assert right(found, tags) > 0.75 > 4 * majority(tags)
    others = [i for i, name in enumerate(names) if name != "PROPN"]  # a run of proper nouns is a name
    only = {"chunk_scheme": "plain", "num_chunk_types": len(names), "excluded_chunk_types": others}
    assert lodkit.chunk_eval(found, tags, **only)[2] > 0.25
    always = tags.with_values(np.full_like(tags.values, names.index("PROPN")))
    assert lodkit.chunk_eval(always, tags, **only)[2] < 0.1


def numbered(documents, words, names):
    """Ids of words, 0 for unknown ones, and numbers of tags; documents of sentences of words."""
    ids = LoDTensor.from_nested([[[words.get(w, 0) for w in s] for s in d["words"]] for d in documents])
    return ids, ids.with_values(np.array([names.index(t) for d in documents for s in d["upos"] for t in s]))
