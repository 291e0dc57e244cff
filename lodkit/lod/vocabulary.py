"""Words and their ids: ``lodkit.vocabulary(texts)``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, pairwise
from typing import Any

import numpy as np

from ..arrays import array_of, is_cpu_tensor, is_integer
from ..base.errors import LoDError, LodkitError, RowIndexError
from ..base.loading import public
from ..base.progress import show_progress
from ..base.tracebacks import surface
from .large import needs_memory
from .lod_tensor import LoDTensor
from .nesting import MAX_DEPTH, TABLES

UNKNOWN = "<unknown>"
_SHOWN = 12  # words
_PART = 1 << 20  # words that are read until progress is shown


@public
class UnknownWordError(LodkitError, KeyError):
    """A word is not in a vocabulary that has no id for unknown words."""

    def __str__(self):
        return str(self.args[0])


@public
class Vocabulary:
    """Words by id, and ids by word; made of texts by ``lodkit.vocabulary``, or of a list of words.

    Parameters
    ----------
    words : iterable of str
        Different words, in the order of their ids, special ones included.
    unknown : str or None
        The word whose id stands for words that are not in the vocabulary. None: they raise.
    padding : str or None
        The word whose id ``padding_id`` names.

    Examples
    --------
    >>> vocab = Vocabulary(["<unknown>", "cat", "the"], unknown="<unknown>")
    >>> ids = vocab([["the", "cat"], ["the", "dog"]])
    >>> ids
    LoDTensor([[2, 1], [2, 0]], recursive_sequence_lengths=[[2, 2]], shape=(4,), dtype=int64)
    >>> vocab.words(ids)
    [['the', 'cat'], ['the', '<unknown>']]
    >>> vocab["cat"], vocab.words(1), "dog" in vocab, len(vocab)
    (1, 'cat', False, 3)
    """

    __slots__ = ("_ids", "_words", "padding_id", "unknown_id")
    padding_id: int | None
    unknown_id: int | None

    def __init__(self, words: Iterable[str], *, unknown: str | None = None, padding: str | None = None) -> None:
        self._words = _check_words(list(words))
        self._ids = _Ids(zip(self._words, range(len(self._words)), strict=True))
        if len(self._ids) < len(self._words):
            twice = next(word for word, count in Counter(self._words).items() if count > 1)
            raise ValueError(f"the word {twice!r:.200} is there twice; a word has one id")
        for what, word in (("unknown", unknown), ("padding", padding)):
            if word is not None and word not in self._ids:
                raise ValueError(f"{what}={word!r:.200} is not among the words; put it where its id shall be")
        self.unknown_id = None if unknown is None else dict.get(self._ids, unknown)
        self.padding_id = None if padding is None else dict.get(self._ids, padding)
        self._ids.unknown = self.unknown_id

    @surface
    def __call__(self, texts: Any) -> LoDTensor:
        """Return the ids of texts, nested as they are.

        Parameters
        ----------
        texts : nested lists of str, array, Series or column of them
            A list of texts, which are lists of words (lod_level 1) or of lists; a list of words has lod_level 0. An
            empty list is no texts: lod_level 1. Text is not split.

        Returns
        -------
        LoDTensor
            Of int64.

        Raises
        ------
        UnknownWordError
            A word is not in the vocabulary, and ``unknown_id`` is None.
        ValueError
            A list of words, not of lists, holds what looks like a sentence and is no word of the vocabulary.
        """
        words, lengths = _flat(texts)
        if not lengths:
            _refuse_sentences(words, self._ids)
        ids = np.empty(len(words), np.int64)
        for a, part in _parts("vocab(texts)", words):
            ids[a : a + len(part)] = np.fromiter(map(self._ids.__getitem__, part), np.int64, len(part))
        return LoDTensor(ids, lengths)

    @surface
    @needs_memory
    def words(self, ids: Any) -> Any:
        """Return the words of ids, nested as they are: of an integer a word.

        Parameters
        ----------
        ids : int, LoDTensor, array or nested lists of int

        Raises
        ------
        RowIndexError
            An id is no number of a word.
        """
        if isinstance(ids, LoDTensor):
            rows = self._words_of(_to_list(ids._whole()))
            for level in reversed(range(ids.lod_level)):
                rows = [rows[a:b] for a, b in pairwise(ids.offsets(level).tolist())]
            return rows
        ids = _to_list(ids)
        return self._words_of(ids) if isinstance(ids, list | tuple) else self._word(ids)

    def _words_of(self, ids, place=()):
        if set(map(type, ids)) <= {int} and min(ids, default=0) >= 0 and max(ids, default=0) < len(self):
            return list(map(self._words.__getitem__, ids))
        at = ((*place, k) for k in range(len(ids)))
        parts = zip(ids, at, strict=True)
        return [self._words_of(i, p) if isinstance(i, list | tuple) else self._word(i, p) for i, p in parts]

    def _word(self, i, place=()):
        if type(i) is not int or not 0 <= i < len(self._words):
            named = f"ids[{', '.join(map(str, place))}] = {i!r}" if place else f"{i!r}"
            raise RowIndexError(f"{named} is no id of this vocabulary: its {len(self)} words have ids from 0 on")
        return self._words[i]

    def __getitem__(self, word: str) -> int:
        """The id of a word."""
        return self._ids[word]

    def __contains__(self, word: object) -> bool:
        return word in self._ids

    def __iter__(self) -> Iterator[str]:
        """All words, in the order of their ids."""
        return iter(self._words)

    def __len__(self) -> int:
        return len(self._words)

    def __eq__(self, other):
        if not isinstance(other, Vocabulary):
            return NotImplemented
        return self._words == other._words and self.specials() == other.specials()

    __hash__ = None  # type: ignore[assignment]

    def specials(self) -> dict[str, str]:
        """Return the words that stand for unknown ones and for padding, by role: arguments of ``Vocabulary``."""
        known = {"unknown": self.unknown_id, "padding": self.padding_id}
        return {role: self._words[i] for role, i in known.items() if i is not None}

    def __reduce__(self):
        return _restored, (self._words, self.specials())

    def __repr__(self):
        shown = ", ".join(map(repr, self._words[:6])) + (", ..." if len(self) > 6 else "")
        specials = "".join(f", {role}={word!r}" for role, word in self.specials().items())
        return f"Vocabulary({len(self):,} words: [{shown}]{specials})"

    def _repr_html_(self) -> str:
        from ..base.markup import box, code, table

        roles = {word: role for role, word in self.specials().items()}
        rows = [(i, code(word), roles.get(word, "")) for i, word in enumerate(self._words[:_SHOWN])]
        first = f", the first {_SHOWN}" if len(self) > _SHOWN else ""
        return box(table(f"Vocabulary of {len(self):,} words{first}", ("id", "word", "stands for"), rows))


class _Ids(dict):
    """Ids by word; what is not there has the id of unknown words."""

    unknown: int | None = None

    def __missing__(self, word):
        if not isinstance(word, str):
            raise TypeError(f"a word is a str, got {word!r:.60}; words of ids are vocab.words(ids)")
        if self.unknown is None:
            raise UnknownWordError(
                f"the word {word!r} is not in the vocabulary, which has no id for unknown words; "
                "make it with unknown='<unknown>'"
            )
        return self.unknown


def _restored(words, specials):
    return Vocabulary(words, **specials)


@surface
def vocabulary(
    texts: Any,
    *,
    min_count: int = 1,
    max_size: int | None = None,
    unknown: str | None = UNKNOWN,
    padding: str | None = None,
    specials: Sequence[str] = (),
) -> Vocabulary:
    """Make a vocabulary of the words of texts: an id for each, the most frequent first.

    Parameters
    ----------
    texts : nested lists of str, array, Series or column of them
        Words, in lists nested to any depth. Text is not split. Words in a list of lists may have blanks inside,
        such as "New York". In a flat list, words with blanks are taken for sentences, and raise.
    min_count : int
        Words that are rarer are left out.
    max_size : int, optional
        Most words to keep, special ones included: the most frequent ones.
    unknown : str or None
        A special word for all words that are left out, or come later. None: those raise.
    padding : str, optional
        A special word for padding, which gets id 0: the ``padding_idx`` of embeddings.
    specials : sequence of str
        More special words.

    Returns
    -------
    Vocabulary
        Ids: padding, unknown, specials, then the words by frequency; equally frequent ones in alphabetical order, so
        that the order of the texts does not matter.

    Raises
    ------
    ValueError
        A list of words, not of lists, holds a word with blanks inside: split sentences, or pass ``[words]``.

    Examples
    --------
    >>> import lodkit
    >>> texts = [["the", "cat", "sat"], ["the", "dog"]]
    >>> vocab = lodkit.vocabulary(texts, padding="<pad>", max_size=5)
    >>> vocab
    Vocabulary(5 words: ['<pad>', '<unknown>', 'the', 'cat', 'dog'], unknown='<unknown>', padding='<pad>')
    >>> vocab(texts).to_padded(vocab.padding_id)
    array([[2, 3, 1],
           [2, 4, 0]])
    """
    if not is_integer(min_count):
        raise TypeError(f"min_count must be an integer, got {min_count!r:.200}")
    if isinstance(specials, str):
        raise TypeError(f"specials must be a list of words, got {specials!r:.200}")
    first = list(dict.fromkeys(word for word in (padding, unknown, *specials) if word is not None))
    if max_size is not None and (not is_integer(max_size) or max_size < len(first)):
        raise ValueError(
            f"max_size must be an integer >= {len(first)}, the number of special words, got {max_size!r:.200}"
        )
    words, lengths = _flat(texts)
    counts: Counter[str] = Counter()
    for _, part in _parts("lodkit.vocabulary", words):
        counts.update(part)
    _check_words(counts)
    if not lengths:
        _refuse_sentences(words)
    for word in first:
        counts.pop(word, None)
    kept = sorted((word for word, count in counts.items() if count >= min_count), key=lambda w: (-counts[w], w))
    kept = kept if max_size is None else kept[: max_size - len(first)]
    return Vocabulary([*first, *kept], unknown=unknown, padding=padding)


def _parts(what, words):
    """Yield the start of each part of many words, and the part; shows progress."""
    with show_progress(what, len(words), "words") as advance:
        for a in range(0, len(words), _PART):
            part = words[a : a + _PART]
            yield a, part
            advance(len(part))


def _refuse_sentences(words, known=()):
    """Raise where a word of a list has blanks inside: the list is of sentences then, which nobody split."""
    for i, word in enumerate(words):
        if isinstance(word, str) and word not in known and len(word.split()) > 1:
            raise ValueError(
                f"texts[{i}] = {word!r:.60} has blanks inside, as a sentence, and texts are not split: pass "
                "[text.split() for text in texts]; if it is one word, nest the list, [texts]"
            )


def _check_words(words):
    """Return the words; TypeError if one is no string."""
    if not set(map(type, words)) <= {str}:
        odd = [word for word in words if not isinstance(word, str)]
        if odd:
            remedy = "decode it" if isinstance(odd[0], bytes) else "pass lists of words; numbers need no vocabulary"
            raise TypeError(f"a word is a str, got {odd[0]!r:.60}; {remedy}")
    return words


def _flat(texts):
    """The words of nested texts, and the lengths of each level."""
    if isinstance(texts, str | bytes):
        raise TypeError(f"texts are lists of words, got {texts!r:.60}; split it: [text.split()]")
    for kind in type(texts).__mro__:
        # Python would list the names of the columns of a table.
        if kind.__name__ in TABLES:
            raise TypeError(f"texts are nested lists of words, got {kind.__name__}; {TABLES[kind.__name__]}")
    parts = _to_list(texts)
    lengths: list[list[int]] = []
    if not isinstance(parts, list | tuple):
        raise TypeError(f"texts are nested lists of words, got {type(texts).__name__}")
    if not parts:
        return parts, [[]]
    while not set(map(type, parts)) <= {str} or not parts:
        if not set(map(type, parts)) <= {list, tuple}:
            parts = [_to_list(part) for part in parts]
        lists = [isinstance(part, list | tuple) for part in parts]
        if not any(lists):
            break
        if not all(lists):
            i = lists.index(False)
            raise LoDError(
                f"item {i} of level {len(lengths)} is {parts[i]!r:.60}, others are lists; nest all words alike"
            )
        if len(lengths) == MAX_DEPTH:
            raise LoDError(f"texts are nested more than {MAX_DEPTH} deep; does one contain itself?")
        lengths.append([len(part) for part in parts])
        parts = list(chain.from_iterable(parts))
    return parts, lengths


def _to_list(x):
    """A container of a library as a list; words and what has no such method as they are."""
    if isinstance(x, str | bytes | list | tuple):
        return x
    x = array_of(x, "ids") if is_cpu_tensor(x) else x
    for name in ("to_pylist", "to_list", "tolist", "as_py"):  # Arrow, polars and awkward, NumPy and pandas, Arrow
        if hasattr(x, name):
            return getattr(x, name)()
    if isinstance(x, dict | set | frozenset):
        raise TypeError(f"texts are nested lists of words, got a {type(x).__name__}, which does not nest; pass a list")
    return list(x) if np.iterable(x) else x
