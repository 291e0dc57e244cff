"""Labelled ragged text: docstrings of the standard library, or a user's file."""

from __future__ import annotations

import ast
import collections
import json
import pathlib
import re
import sysconfig
import typing
import warnings

import numpy as np

from ..errors import LodkitError
from ..lod import LoDTensor
from ..lod.vocabulary import vocabulary as words_with_ids

SKIPPED = {"site-packages", "lib2to3", "test", "tests", "idle_test", "__pycache__"}
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


def standard_library(least=20, together=None):
    """Return docstrings of the installed standard library, labelled by package.

    Packages with fewer than ``least`` docstrings are skipped; the levels are package, module,
    docstring, word. With ``together`` an example is a list of up to so many consecutive docstrings of a module.
    """
    root = pathlib.Path(sysconfig.get_paths()["stdlib"])
    packages = collections.defaultdict(list)
    for path in sorted(root.rglob("*.py")):
        parts = path.relative_to(root).parts
        if not SKIPPED.intersection(parts):
            docstrings = list(_docstrings(path))
            if docstrings:
                packages[parts[0].removesuffix(".py")].append(docstrings)
    packages = {name: modules for name, modules in packages.items() if sum(map(len, modules)) >= least}
    pairs = [(name, x) for name, modules in packages.items() for docs in modules for x in _examples(docs, together)]
    natural = [[[[0] * len(doc) for doc in module] for module in modules] for modules in packages.values()]
    depth = 1 if together is None else 2
    return Corpus([name for name, _ in pairs], [x for _, x in pairs], LoDTensor.from_nested(natural), depth)


def _examples(docs, together):
    return docs if together is None else [docs[i : i + together] for i in range(0, len(docs), together)]


def _docstrings(path):
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(path.read_text("utf8"))
    except (SyntaxError, UnicodeDecodeError, ValueError):
        return
    for node in _statements(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            words = words_of(ast.get_docstring(node) or "")
            if words:
                yield words


def _statements(tree):
    """Yield statements in the order of ``ast.walk``, which looks at expressions too: a quarter of the time."""
    todo = collections.deque([tree])
    while todo:
        yield (node := todo.popleft())
        for name in ("body", "handlers", "orelse", "finalbody", "cases"):
            todo.extend(getattr(node, name, ()))


def read(path):
    """Read a file of JSON lines ``{"label": ..., "words": [...]}`` (nested lists too) or ``label<TAB>text`` lines."""
    labels, examples, depths = [], [], {}
    try:
        lines = pathlib.Path(path).read_bytes().splitlines()
    except OSError as error:
        raise CorpusError(f"{path}: {error.strerror}") from None
    for number, raw in enumerate(lines, 1):
        try:
            line = raw.decode("utf-8-sig")
            if not line.strip():
                continue
            label, example = _from_json(line) if line.lstrip().startswith("{") else _from_text(line)
            depth = _depth(example)
        except RecursionError:
            raise CorpusError(f"{path}, line {number}: nested too deeply") from None
        except (ValueError, KeyError, TypeError) as error:
            raise CorpusError(f"{path}, line {number}: {error}") from None
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
    return Corpus(labels, examples, LoDTensor.from_nested([_numbered(x) for x in examples], lod_level=depth), depth)


def _numbered(x):
    """Replace words at any depth by 0; only their structure matters."""
    return [_numbered(y) for y in x] if isinstance(x, list) else 0


def _from_text(line):
    label, tab, text = line.partition("\t")
    if not tab:
        raise ValueError('neither {"label": ..., "words": [...]} nor label<TAB>text')
    return label.strip(), words_of(text)


def _from_json(line):
    data = json.loads(line)
    for key in ("label", "words"):
        if key not in data:
            raise ValueError(f'{{...}} lacks "{key}"')
    if not isinstance(data["words"], list):
        raise ValueError('"words" is not a list')
    if not isinstance(data["label"], str | int | float):
        raise ValueError(f'"label" is {data["label"]!r}, neither a string nor a number')
    return str(data["label"]), data["words"]


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
