"""The corpus that every machine has: the docstrings of the standard library, read once and kept in the cache."""

from __future__ import annotations

import ast
import collections
import contextlib
import json
import os
import pathlib
import sys
import sysconfig
import warnings

from ..base.garbage import uncollected
from ..jit import cache
from ..lod import LoDTensor
from .corpus import WORDS, Corpus, CorpusError, words_of
from .progress import Bar, clear

SKIPPED = {"site-packages", "dist-packages", "lib2to3", "test", "tests", "idle_test", "__pycache__"}
_FORMAT = "docstrings 1"
_DOCUMENTED = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def standard_library(least=20, together=None):
    """Return docstrings of the installed standard library, labelled by package.

    Packages with fewer than ``least`` docstrings are skipped; the levels are package, module,
    docstring, word. With ``together`` an example is a list of up to so many consecutive docstrings of a module.
    """
    packages = collections.defaultdict(list)
    for name, docstrings in _modules():
        packages[name].append([words.split() for words in docstrings])
    packages = {name: modules for name, modules in packages.items() if sum(map(len, modules)) >= least}
    if len(packages) < 2:
        root = sysconfig.get_paths()["stdlib"]
        raise CorpusError(f"{root}: no docstrings of Python's standard library, its sources are not there; give --data")
    pairs = [(name, x) for name, modules in packages.items() for docs in modules for x in _examples(docs, together)]
    natural = [[[[0] * len(doc) for doc in module] for module in modules] for modules in packages.values()]
    depth = 1 if together is None else 2
    return Corpus([name for name, _ in pairs], [x for _, x in pairs], LoDTensor.from_nested(natural), depth)


def _examples(docs, together):
    return docs if together is None else [docs[i : i + together] for i in range(0, len(docs), together)]


def _modules():
    """Package and docstrings of each module that has some; each docstring's words, joined by spaces."""
    root = pathlib.Path(sysconfig.get_paths()["stdlib"])
    files = _files(root)
    status = [(str(path), found.st_size, found.st_mtime_ns) for path in files if (found := _status(path))]
    name = cache.entry_name(_FORMAT, sys.version, WORDS.pattern, sorted(SKIPPED), status)
    modules = _read_cache(name)
    if modules is None:
        modules = _read(root, files)
        with contextlib.suppress(OSError):
            cache.store(name, json.dumps(modules).encode())
    return modules


def _read_cache(name):
    """What the cache holds; None if that is nothing, or not what this module writes."""
    with contextlib.suppress(ValueError, RecursionError):
        modules = json.loads(cache.load(name) or b"null")
        if isinstance(modules, list) and modules and all(map(_is_module, modules)):
            return modules
    return None


def _is_module(x):
    """Whether something read is a package and its docstrings."""
    return isinstance(x, list) and [*map(type, x)] == [str, list] and all(isinstance(text, str) for text in x[1])


def _files(root):
    """Python files below a folder, but for tests and what was installed there."""
    found = []
    for folder, folders, names in os.walk(root):
        folders[:] = [name for name in folders if name not in SKIPPED]
        found += [pathlib.Path(folder, name) for name in names if name.endswith(".py")]
    return sorted(found)


def _status(path):
    with contextlib.suppress(OSError):
        return path.stat()
    return None


def _read(root, files):
    """Parse files, which is nearly all of the time that the corpus takes."""
    modules, bar = [], Bar("reading", len(files), "modules")
    # Trees hold no cycles; looking for cycles takes longer than parsing.
    with uncollected():
        for done, path in enumerate(files, 1):
            bar.at(done)
            if docstrings := [*_docstrings(path)]:
                modules.append([path.relative_to(root).parts[0].removesuffix(".py"), docstrings])
    clear()
    return modules


def _docstrings(path):
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(path.read_text("utf8"))
    except (OSError, SyntaxError, UnicodeDecodeError, ValueError):
        return
    for node in _statements(tree):
        if isinstance(node, _DOCUMENTED):
            words = words_of(ast.get_docstring(node) or "")
            if words:
                yield " ".join(words)


def _statements(tree):
    """Yield statements in the order of ``ast.walk``, which looks at expressions too: a sixth of the time."""
    todo = collections.deque([tree])
    while todo:
        yield (node := todo.popleft())
        for name in ("body", "handlers", "orelse", "finalbody", "cases"):
            todo.extend(getattr(node, name, ()))
