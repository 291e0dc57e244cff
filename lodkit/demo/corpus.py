"""Labelled ragged text, from a file; vocabulary, ids and split."""

from __future__ import annotations

import collections
import json
import pathlib
import re
import typing

import numpy as np

from ..base.errors import LodkitError
from ..lod import LoDTensor
from ..lod.vocabulary import vocabulary as words_with_ids
from .progress import Bar, clear

WORDS = re.compile(r"[A-Za-z_]+|\d+|[^\w\s]")


class CorpusError(LodkitError, ValueError):
    """The file is not labelled text; the message names the line."""


class Corpus(typing.NamedTuple):
    """Labelled examples.

    Attributes
    ----------
    labels : list of str
        One per example.
    examples : list
        Words per example, nested as in the data.
    natural : LoDTensor
        Structure of all data, with every level of its source.
    depth : int
        Of the lists that an example is: 1 is a list of words.
    """

    labels: list
    examples: list
    natural: LoDTensor
    depth: int = 1


def words_of(text):
    """Return lower-case words, numbers and signs."""
    return WORDS.findall(text.lower())


def read(path):
    """Read a file of JSON lines ``{"label": ..., "words": [...]}`` (nested lists too) or ``label<TAB>text`` lines."""
    labels, examples, depths = [], [], {}
    for number, (label, example), depth in _parse_lines(path, _split_labelled):
        if depth:
            depths.setdefault(depth, number)
        if len(depths) > 1:
            first, here = depths.values()
            raise CorpusError(f"{path}, line {here}: words are nested {depth} deep, but not on line {first}")
        labels.append(label)
        examples.append(example)
    if len(set(labels)) < 2:
        raise CorpusError(
            f"{path}: {len(labels)} examples of {len(set(labels))} labels; at least two labels are needed"
        )
    depth = max(depths, default=1)
    return Corpus(labels, examples, LoDTensor.from_nested([_clear_words(x) for x in examples], lod_level=depth), depth)


def read_texts(path, depth):
    """Read texts to label, one a line, blank ones too: JSON lines ``{"words": [...]}`` or plain text.

    What stands before a tab is a label, and is left out.
    """
    examples = []
    for number, (_, example), found in _parse_lines(path, _split_unlabelled):
        if depth > 1 and found not in (0, depth):
            raise CorpusError(f"{path}, line {number}: words are nested {found} deep, the model reads {depth}")
        examples.append(example)
    if not examples:
        raise CorpusError(f"{path}: no texts")
    return examples


def _parse_lines(path, parse):
    """Yield number, label and example, and nesting depth of each line that ``parse`` returns an example of."""
    try:
        lines = pathlib.Path(path).read_bytes().splitlines()
    except OSError as error:
        raise CorpusError(f"{path}: {error.strerror}") from None
    bar = Bar(f"reading {path}", len(lines), "lines")
    for number, raw in enumerate(lines, 1):
        if number % 256 == 0:
            bar.at(number)
        try:
            example = parse(raw.decode("utf-8-sig"))
            depth = example and _depth(example[1])
        except RecursionError:
            raise CorpusError(f"{path}, line {number}: nested too deeply") from None
        except (ValueError, KeyError, TypeError) as error:
            raise CorpusError(f"{path}, line {number}: {error}") from None
        if example:
            yield number, example, depth
    clear()


def _clear_words(x):
    """Replace words at any depth by 0; only their structure matters."""
    return [_clear_words(y) for y in x] if isinstance(x, list) else 0


def _split_labelled(line):
    """Label and words of a line; None of a blank one."""
    if not line.strip():
        return None
    if line.lstrip().startswith("{"):
        data = _object(line, "label", "words")
        if not isinstance(data["label"], str | int | float):
            raise ValueError(f'"label" is {data["label"]!r}, neither a string nor a number')
        return str(data["label"]), data["words"]
    label, tab, text = line.partition("\t")
    if not tab:
        raise ValueError('neither {"label": ..., "words": [...]} nor label<TAB>text')
    return label.strip(), words_of(text)


def _split_unlabelled(line):
    """None, and the words of a line."""
    if line.lstrip().startswith("{"):
        return None, _object(line, "words")["words"]
    return None, words_of(line.partition("\t")[2] or line)


def _object(line, *keys):
    data = json.loads(line)
    for key in keys:
        if key not in data:
            raise ValueError(f'{{...}} lacks "{key}"')
    if not isinstance(data["words"], list):
        raise ValueError('"words" is not a list')
    return data


def _depth(example):
    """Return the nesting depth of words: 1 for a list of words, 0 without words. Mixed depths raise."""
    depths = set()
    for x in example:
        if not isinstance(x, list | str):
            raise ValueError("a word is neither a string nor a list")
        below = _depth(x) if isinstance(x, list) else 0
        if below or isinstance(x, str):
            depths.add(below + 1)
    if len(depths) > 1:
        raise ValueError("words and lists of words are mixed at one depth")
    return depths.pop() if depths else 0


def flatten(example):
    """Yield all words of an example, at any depth."""
    for x in example:
        if isinstance(x, list):
            yield from flatten(x)
        else:
            yield x


def vocabulary(examples):
    """Make the vocabulary of the words of examples, most frequent first; id 0 is for unknown words."""
    return words_with_ids([list(flatten(example)) for example in examples])


def encode(examples, vocab, depth=1):
    """Encode examples as a LoDTensor of word ids, one sequence per example; of ``depth`` levels."""
    lengths = []
    for _ in range(depth - 1):
        lengths.append([len(example) for example in examples])
        examples = [part for example in examples for part in example]
    ids = vocab([list(flatten(example)) for example in examples])
    return LoDTensor(ids.values, [*lengths, ids.lengths()])


def split(labels, seed, share=0.1):
    """Return training and test indices; ``share`` of each label's examples are for testing."""
    rng = np.random.default_rng(seed)
    by_label = collections.defaultdict(list)
    for i, label in enumerate(labels):
        by_label[label].append(i)
    test = []
    for _, members in sorted(by_label.items()):
        test += rng.permutation(members)[: int(len(members) * share)].tolist()
    held = set(test)
    return np.array([i for i in range(len(labels)) if i not in held]), np.array(sorted(test), np.int64)
