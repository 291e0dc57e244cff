"""The English Web Treebank, for tests that train on it where it is beside the checkout."""

from __future__ import annotations

import gzip
import itertools
import json
import pathlib

import pytest

EWT = pathlib.Path(__file__).parents[2] / "shared" / "data" / "ewt" / "ewt.jsonl.gz"

needs_treebank = pytest.mark.skipif(not EWT.exists(), reason="the English Web Treebank is not beside the checkout")


def documents(split, limit):
    """The first documents of a split: dictionaries of ``words`` and ``upos``, lists of sentences."""
    with gzip.open(EWT, "rt", encoding="utf-8") as lines:
        return list(itertools.islice((d for d in map(json.loads, lines) if d["split"] == split), limit))
