"""The corpus of the main job: docstrings of the standard library, read once and kept in the cache."""

from __future__ import annotations

import os

import pytest

from lodkit.__main__ import main
from lodkit.demo import corpus, stdlib
from lodkit.jit import cache


@pytest.fixture
def library(tmp_path, monkeypatch):
    """A small standard library, and an empty cache."""
    root = tmp_path / "lib"
    root.mkdir()
    (root / "one.py").write_text('"""A b."""\nclass C:\n    """D."""\n    def e(self):\n        """F g h"""\n')
    (root / "two.py").write_text('"""I."""\nif x:\n    def f():\n        """J\\tk"""\n')
    monkeypatch.setattr(stdlib.sysconfig, "get_paths", lambda: {"stdlib": str(root)})
    monkeypatch.setenv("LODKIT_CACHE_DIR", str(tmp_path / "cache"))
    return root


@pytest.fixture
def parsed(monkeypatch):
    """Names of the files that were parsed."""
    found, parse = [], stdlib._docstrings
    monkeypatch.setattr(stdlib, "_docstrings", lambda path: found.append(path.name) or parse(path))
    return found


def kept(folder):
    """The entry of the corpus in a cache, beside those of compiled code."""
    (entry,) = (file for file in folder.iterdir() if b'[["one"' in file.read_bytes())
    return entry


EXAMPLES = [["a", "b", "."], ["d", "."], ["f", "g", "h"], ["i", "."], ["j", "k"]]


def test_the_standard_library_is_a_corpus():
    data = stdlib.standard_library()
    assert len(data.labels) == len(data.examples) > 1000
    assert data.natural.lod_level == 3
    assert data.natural.lengths(-1).sum() == sum(map(len, data.examples))
    train, test = corpus.split(data.labels, seed=0)
    assert len(train) + len(test) == len(data.labels)
    assert not set(train) & set(test)
    again = stdlib.standard_library()
    assert (again.labels, again.examples) == (data.labels, data.examples)
    assert again.natural.equals(data.natural)


def test_docstrings_of_a_module_make_one_example(library):
    data = stdlib.standard_library(least=1, together=2)
    assert data.labels == ["one", "one", "two"]
    assert data.examples == [[["a", "b", "."], ["d", "."]], [["f", "g", "h"]], [["i", "."], ["j", "k"]]]
    ids = corpus.encode(data.examples, corpus.vocabulary(data.examples), depth=data.depth)
    assert (ids.lengths(0).tolist(), ids.lengths(1).tolist()) == ([2, 1, 2], [3, 2, 3, 2, 2])


def test_sources_are_parsed_once(library, parsed):
    first = stdlib.standard_library(least=1)
    assert len(parsed) == 2
    again = stdlib.standard_library(least=1)
    assert len(parsed) == 2
    assert first.examples == again.examples == EXAMPLES
    assert first.labels == again.labels
    os.utime(library / "two.py", (1, 1))
    assert stdlib.standard_library(least=1).examples == EXAMPLES
    assert len(parsed) == 4
    (library / "two.py").write_text('"""L m n o"""')
    assert stdlib.standard_library(least=1).examples == [*EXAMPLES[:3], ["l", "m", "n", "o"]]
    (library / "test").mkdir()
    (library / "test" / "three.py").write_text('"""No."""')
    stdlib.standard_library(least=1)
    assert len(parsed) == 6


def test_what_others_wrote_or_damaged_is_parsed_again(library, parsed, tmp_path):
    stdlib.standard_library(least=1)
    entry = kept(tmp_path / "cache")
    good = entry.read_bytes()
    for bad in (b"", good[:-3], good + b"x", bytes(len(good))):
        entry.write_bytes(bad)
        parsed.clear()
        assert stdlib.standard_library(least=1).examples == EXAMPLES
        assert len(parsed) == 2
        assert entry.read_bytes() == good
    for foreign in (
        b"{}",
        b"[]",
        b"3",
        b'[["one", "two"]]',
        b"[[1, []]]",
        b'[["one", [2]]]',
        b'["one"]',
        b"[[]]",
        b"[",
        b"\xff",
        b"[" * 100_000,
    ):
        cache.store(entry.name, foreign)
        assert stdlib.standard_library(least=1).examples == EXAMPLES
        assert entry.read_bytes() == good


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="no owners here")
def test_a_cache_of_others_is_neither_read_nor_written(library, parsed, tmp_path):
    stdlib.standard_library(least=1)
    entry = kept(tmp_path / "cache")
    before = entry.read_bytes()
    (tmp_path / "cache").chmod(0o777)
    assert stdlib.standard_library(least=1).examples == EXAMPLES
    assert len(parsed) == 4
    assert entry.read_bytes() == before


def test_a_library_without_sources(library, capsys):
    for file in library.iterdir():
        file.unlink()
    assert main([]) == 2
    error = capsys.readouterr().err
    assert f"error: {library}: no docstrings of Python's standard library" in error
    assert "--data" in error


def test_files_that_cannot_be_parsed_are_skipped(library):
    (library / "a.py").write_bytes(b"\xff\xfe")
    (library / "b.py").write_text("def (")
    (library / "c.py").write_text("x = " + "(" * 1000)
    (library / "d.py").symlink_to(library / "nowhere")
    assert stdlib.standard_library(least=1).examples == EXAMPLES
