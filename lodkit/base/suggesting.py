"""What was meant by a name that is not there: the nearest names, and what other libraries call the same."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

#: Values of attributes by other libraries' names; the first one that an attribute takes is meant.
_VALUES = {
    "avg": ("mean",),
    "average": ("mean",),
    "add": ("sum",),
    "total": ("sum",),
    "maximum": ("max",),
    "amax": ("max",),
    "minimum": ("min",),
    "amin": ("min",),
    "product": ("prod",),
    "mul": ("prod", "mul"),
    "sqrtn": ("sqrt",),
    "lse": ("logsumexp",),
    "segment_ids": ("ids",),
    "index": ("ids",),
    "row_splits": ("offsets",),
    "row_lengths": ("lengths",),
    "bioes": ("IOBES",),
    "bio": ("IOB",),
    "half": ("float16",),
    "float": ("float32",),
    "double": ("float64",),
    "swish": ("silu",),
    "linear": ("identity",),
}


#: Names of other things, whatever they look like.
_OTHERS = {"median", "std", "var", "none"}


def find_nearest(name: object, names: Iterable[object], most: int = 3, cutoff: float = 0.6) -> list[str]:
    """Return the names most like one, best first; upper and lower case are alike."""
    known = {str(other).lower(): str(other) for other in names if isinstance(other, str)}
    wanted = str(name)[:80].lower()
    same = [known[wanted]] if wanted in known else []
    meant = [value for value in _VALUES.get(wanted, ()) if value in known.values()]
    near = [known[x] for x in difflib.get_close_matches(wanted, known, most, cutoff) if wanted not in _OTHERS]
    return [*dict.fromkeys([*same, *meant, *near])][:most]


def suggest_nearest(name: object, names: Iterable[object], most: int = 1) -> str:
    """Return "; did you mean 'mean'?" for the nearest names, nothing where none is near."""
    near = find_nearest(name, names, most)
    return f"; did you mean {' or '.join(map(repr, near))}?" if near else ""
