"""lodkit.vocabulary: words to ids and back, nested as the texts are."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import lodkit
from lodkit import UnknownWordError, Vocabulary, vocabulary

TEXTS = [["the", "cat", "sat"], [], ["the", "dog"]]


def test_ids_are_by_frequency_then_alphabetical():
    assert [*vocabulary(TEXTS)] == ["<unknown>", "the", "cat", "dog", "sat"]
    assert [*vocabulary(TEXTS[::-1])] == [*vocabulary(TEXTS)]
    assert [*vocabulary(TEXTS, unknown=None)] == ["the", "cat", "dog", "sat"]
    assert [*vocabulary(TEXTS, padding="-", specials=["<s>", "-"])] == [
        "-",
        "<unknown>",
        "<s>",
        "the",
        "cat",
        "dog",
        "sat",
    ]


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"min_count": 2}, ["<unknown>", "the"]),
        ({"max_size": 3}, ["<unknown>", "the", "cat"]),
        ({"max_size": 1}, ["<unknown>"]),
        ({"min_count": 2, "max_size": 10, "padding": "."}, [".", "<unknown>", "the"]),
        ({"unknown": "the"}, ["the", "cat", "dog", "sat"]),
    ],
)
def test_what_is_kept(settings, words):
    assert [*vocabulary(TEXTS, **settings)] == words


def test_there_and_back():
    vocab = vocabulary(TEXTS)
    ids = vocab(TEXTS)
    assert ids.to_list() == [[1, 2, 4], [], [1, 3]]
    assert ids.values.dtype == np.int64
    assert vocab.words(ids) == TEXTS
    assert vocab.words(ids[0]) == TEXTS[0]
    assert vocab.words(np.array([[1, 2]], np.int32)) == [["the", "cat"]]
    assert vocab.words([1, [2, [3]]]) == ["the", ["cat", ["dog"]]]
    assert vocab.words(np.int64(2)) == "cat"
    assert vocab(["the", "bird"]).to_list() == [1, 0]
    table = np.eye(5)
    for none in ([], (), np.array([], dtype=object)):  # no texts: of a column without rows, a batch of none
        assert vocab(none).recursive_sequence_lengths() == [[]]
        assert lodkit.embedding_bag(table, vocab(none)).shape == (0, 5)
    assert vocab([[], []]).recursive_sequence_lengths() == [[0, 0]]
    deep = [[["the"], ["cat", "sat"]], [], [[]]]
    assert vocab(deep).to_list() == [[[1], [2, 4]], [], [[]]]
    assert vocab.words(vocab(deep)) == deep
    assert vocab([("the",), np.array(["cat", "dog"])]).to_list() == [[1], [2, 3]]
    assert vocab(iter(TEXTS)).to_list() == ids.to_list()
    assert vocabulary(np.array(TEXTS, dtype=object)) == vocab
    assert lodkit.embedding_bag(table, ids).tolist() == [[0, 1, 1, 0, 1], [0] * 5, [0, 1, 0, 1, 0]]


def test_one_word():
    vocab = vocabulary(TEXTS)
    assert (vocab["the"], vocab["bird"]) == (1, 0)
    assert "the" in vocab
    assert "bird" not in vocab
    assert (len(vocab), vocab.unknown_id, vocab.padding_id) == (5, 0, None)
    assert not hasattr(vocab, "count")


def test_unknown_words_raise_where_there_is_no_id_for_them():
    vocab = vocabulary(TEXTS, unknown=None)
    for call in (lambda: vocab([["the", "bird"]]), lambda: vocab["bird"]):
        with pytest.raises(UnknownWordError, match="the word 'bird' is not in the vocabulary") as caught:
            call()
        assert isinstance(caught.value, KeyError)
        assert str(caught.value).endswith("unknown='<unknown>'")


def test_copies_pickles_files(tmp_path):
    vocab = vocabulary(TEXTS, padding="<pad>")
    for other in (copy.copy(vocab), copy.deepcopy(vocab), pickle.loads(pickle.dumps(vocab)), Vocabulary(vocab)):
        assert [*other] == [*vocab]
    assert pickle.loads(pickle.dumps(vocab)) == vocab != Vocabulary(vocab)
    for file in ("v.npz", "v.safetensors"):
        lodkit.save(tmp_path / file, {"vocab": vocab, "ids": vocab(TEXTS)})
        found = lodkit.load(tmp_path / file)
        assert found["vocab"] == vocab
        assert (found["vocab"].unknown_id, found["vocab"].padding_id) == (1, 0)
        assert found["vocab"].words(found["ids"]) == TEXTS
    lodkit.save(tmp_path / "bare.npz", vocabulary(TEXTS, unknown=None))
    assert lodkit.load(tmp_path / "bare.npz").unknown_id is None


def test_repr():
    assert repr(vocabulary([["a"]], unknown=None)) == "Vocabulary(1 words: ['a'])"
    many = vocabulary([[f"w{i:05}" for i in range(12_345)]], padding="<pad>")
    assert repr(many).startswith("Vocabulary(12,347 words: ['<pad>', '<unknown>', 'w00000', ")
    assert repr(many).endswith(", ...], unknown='<unknown>', padding='<pad>')")


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: vocabulary("the cat"), TypeError, r"split it: \[text.split\(\)\]"),
        (lambda: vocabulary([["the"], "cat"]), lodkit.LoDError, "item 1 of level 0 is 'cat', others are lists"),
        (lambda: vocabulary([["the", None]]), TypeError, "a word is a str, got None"),
        (lambda: vocabulary([[b"the"]]), TypeError, "decode it"),
        (lambda: vocabulary([[1, 2]]), TypeError, "numbers need no vocabulary"),
        (lambda: vocabulary({"a": ["b"]}), TypeError, "got a dict"),
        (lambda: vocabulary(3), TypeError, "nested lists of words, got int"),
        (lambda: vocabulary([["a"]], max_size=0), ValueError, "max_size must be an integer >= 1"),
        (lambda: vocabulary([["a"]], min_count=1.5), TypeError, "min_count must be an integer"),
        (lambda: vocabulary([["a"]], specials="ab"), TypeError, "specials must be a list"),
        (lambda: Vocabulary(["a", "b", "a"]), ValueError, "'a' is there twice"),
        (lambda: Vocabulary(["a"], unknown="b"), ValueError, "unknown='b' is not among the words"),
        (lambda: Vocabulary(["a", 1]), TypeError, "a word is a str, got 1"),
        (lambda: Vocabulary(["a"])([["a", 1]]), TypeError, "a word is a str, got 1"),
        (lambda: Vocabulary(["a"], unknown="a")([["a", 1]]), TypeError, "a word is a str, got 1"),
        (lambda: Vocabulary(["a"], unknown="a")([[["a"]], ["b"]]), lodkit.LoDError, "nest all words alike"),
        (lambda: Vocabulary(["a"])[0], TypeError, r"vocab.words\(ids\)"),
        (lambda: Vocabulary(["a"]).words([[0], [1]]), lodkit.RowIndexError, "1 is no id of this vocabulary"),
        (lambda: Vocabulary(["a"]).words(-1), lodkit.RowIndexError, "-1 is no id"),
        (lambda: Vocabulary(["a"]).words([0.0]), lodkit.RowIndexError, "0.0 is no id"),
        (lambda: hash(Vocabulary(["a"])), TypeError, "unhashable"),
    ],
)
def test_errors(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_sentences_are_not_taken_for_words():
    sentences = ["to be", "or not to be"]
    with pytest.raises(ValueError, match=r"texts\[0\] = 'to be' has blanks inside.*text\.split\(\) for text in texts"):
        vocabulary(sentences)
    with pytest.raises(ValueError, match=r"texts\[1\] = 'or\\nnot' has blanks inside"):
        vocabulary(np.array(["to", "or\nnot"]))
    vocab = vocabulary([text.split() for text in sentences])
    assert [*vocab] == ["<unknown>", "be", "to", "not", "or"]
    with pytest.raises(ValueError, match=r"texts\[1\] = 'or not to be' has blanks inside"):
        vocab(["to", "or not to be"])
    assert vocab([text.split() for text in sentences]).to_list() == [[2, 1], [4, 3, 2, 1]]


def test_words_may_have_blanks_where_lists_say_that_they_are_words():
    cities = ["New York", "Paris"]
    vocab = vocabulary([cities])
    assert [*vocab] == ["<unknown>", "New York", "Paris"]
    assert vocab(cities).to_list() == [1, 2]
    assert vocab([["New York", "Los Angeles"]]).to_list() == [[1, 0]]
    assert [*vocabulary(list("to be"), unknown=None)] == [" ", "b", "e", "o", "t"]
