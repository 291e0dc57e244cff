"""What other libraries call it: tables that ``lodkit.search`` reads, and docs/coming-from.md shows.

Each row is a name of theirs, or several apart by blanks, and what does it here: text with code of lodkit in backticks,
which a test runs with the values of the page. "not here" begins what lodkit lacks.
"""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

from .absent import ABSENT
from .awkward import AWKWARD
from .fbgemm import FBGEMM, TORCHREC
from .frames import ARROW, NESTED, PANDAS, POLARS
from .segments import SEGMENTS, TORCH_SCATTER, TORCH_SPARSE
from .tensorflow import FUNCTIONS, RAGGED, RAGGED_TENSOR

#: Headings of the page -> rows.
TABLES = {
    "torch_scatter": TORCH_SCATTER,
    "torch_sparse": TORCH_SPARSE,
    "Segments in PyTorch, TensorFlow, JAX and NumPy": SEGMENTS,
    "Nested tensors of PyTorch": NESTED,
    "tf.ragged": RAGGED,
    "RaggedTensor": RAGGED_TENSOR,
    "Functions of TensorFlow that take a RaggedTensor": FUNCTIONS,
    "awkward": AWKWARD,
    "FBGEMM": FBGEMM,
    "TorchRec": TORCHREC,
    "pandas": PANDAS,
    "polars": POLARS,
    "Arrow": ARROW,
    "What is not here": ABSENT,
}


class Peer(NamedTuple):
    """A name of another library, or words of a task, and what does it here."""

    name: str
    answer: str


def split_names(key: str) -> list[str]:
    """Names of a row: apart by commas where they are words of a task, else by blanks."""
    return key.split(", ") if "," in key or key in ABSENT else key.split()


@cache
def list_peers() -> tuple[Peer, ...]:
    """Return every name of every table, in the order of the page."""
    return tuple(Peer(name, row) for rows in TABLES.values() for key, row in rows.items() for name in split_names(key))


def find_code(answer: str) -> list[str]:
    """Return the code in an answer: what stands in backticks."""
    return re.findall(r"`([^`]+)`", answer)


def find_peers(query: str) -> list[Peer]:
    """Return the names that a query means: those that are it, or end with it after a dot.

    Upper and lower case, blanks and underscores are the same.
    """
    wanted, end = _join(query), f".{query.strip().lower()}"
    return [p for p in list_peers() if wanted and (_join(p.name) == wanted or p.name.lower().endswith(end))]


def find_parts(query: str, most: int = 5) -> list[Peer]:
    """Return the names that have every word of a query."""
    words = set(re.findall(r"[a-z0-9]+", query.lower()))
    return [p for p in list_peers() if words and words <= set(re.findall(r"[a-z0-9]+", p.name.lower()))][:most]


def _join(text):
    return "".join(re.findall(r"[a-z0-9@]+", text.lower()))
