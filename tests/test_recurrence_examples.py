"""The models of docs/recurrence-examples.md: central differences, and every example alone."""

from __future__ import annotations

import numpy as np
from differences import differences
from pages import definitions

import lodkit
from lodkit import LoDTensor

PAGE = definitions("recurrence-examples.md")
SIZE = 3
SQUARE, GATES = (SIZE, SIZE), (SIZE, 3 * SIZE)
CLASSIFIER = {"table": (6, SIZE), "word": SQUARE, "read": SQUARE, "before": SQUARE, "class": (SIZE, 2)}
DECODER = dict.fromkeys(("in ahead", "ahead", "in back", "back"), GATES)
DECODER |= {"letters": (5, SIZE), "keys": (2 * SIZE, SIZE), "score": (SIZE, 1), "context": (2 * SIZE, SIZE)}
DECODER |= {"query": SQUARE, "state": SQUARE, "logits": (3 * SIZE, 5)}

DOCUMENTS = LoDTensor.from_nested([[[1, 2, 3], [], [4]], [], [[5, 1]], [[2], [3, 3, 5, 1]]])
SOURCE = LoDTensor([1, 2, 3, 4, 2, 1, 3], [[3, 0, 1, 2, 1]])
BEFORE = LoDTensor([0, 3, 0, 4, 1, 0, 2, 3], [[2, 1, 0, 4, 1]])


def weights(shapes):
    return {name: w.astype(np.float64) for name, w in PAGE["drawn"](**shapes).items()}


def check_gradients(model, shapes, weigh):
    """Of all weights, by central differences; every row of a table that was read has one."""
    p = weights(shapes)

    def result(*arrays):
        return model(dict(zip(p, arrays, strict=True)))

    parameters = list(map(lodkit.parameter, p.values()))
    with lodkit.Tape() as tape:
        y = result(*parameters)
    found = tape.gradient(y, parameters, weigh)
    for name, gradient, expected in zip(p, found, differences(result, list(p.values()), weigh), strict=True):
        gradient = gradient.to_dense() if isinstance(gradient, lodkit.SelectedRows) else gradient
        np.testing.assert_allclose(gradient, expected, rtol=1e-5, atol=1e-8, err_msg=name)
    return dict(zip(p, found, strict=True))


def test_gradients_through_sentences_and_words():
    weigh = np.random.default_rng(1).normal(size=(4, 2))
    by = check_gradients(lambda p: PAGE["classified"](p, DOCUMENTS), CLASSIFIER, weigh)
    assert np.abs(by["table"].to_dense()[1:]).max(axis=1).min() > 1e-4, "also of the first words of the first sentences"


def test_a_document_is_read_alone_as_in_a_batch():
    p = weights(CLASSIFIER)
    together = PAGE["classified"](p, DOCUMENTS)
    alone = [PAGE["classified"](p, DOCUMENTS[i : i + 1]) for i in range(4)]
    np.testing.assert_allclose(together, np.concatenate(alone), atol=1e-12)
    assert not together[1].any(), "nothing was read"


def test_gradients_through_an_attention_step():
    """Sources as long as what is written, longer, shorter, and empty ones."""
    weigh = np.random.default_rng(1).normal(size=(8, 5))
    check_gradients(lambda p: PAGE["decoded"](p, SOURCE, BEFORE)[0], DECODER, weigh)


def test_shares_of_an_attention_step():
    """Of every step 1 in all, over the letters of its own source."""
    logits, shares = PAGE["decoded"](weights(DECODER), SOURCE, BEFORE)
    assert logits.same_lod(BEFORE) and shares.lod_level == 2
    assert shares.lengths(0).tolist() == BEFORE.lengths().tolist()
    assert shares.lengths(1).tolist() == np.repeat(SOURCE.lengths(), BEFORE.lengths()).tolist()
    totals = lodkit.sequence_pool(shares, pool="sum").values.ravel()
    np.testing.assert_allclose(totals, shares.lengths(1) > 0, atol=1e-12)


def test_a_decoder_looks_only_at_its_own_source():
    p = weights(DECODER)
    together = PAGE["decoded"](p, SOURCE, BEFORE)
    for i in range(len(SOURCE)):
        alone = PAGE["decoded"](p, SOURCE[i : i + 1], BEFORE[i : i + 1])
        for one, all_of_them in zip(alone, together, strict=True):
            np.testing.assert_allclose(one.values, all_of_them[i : i + 1].values, atol=1e-12)
