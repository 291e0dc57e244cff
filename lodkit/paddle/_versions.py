"""Versions of Paddle, whose formulas differ here and there."""

from __future__ import annotations

import functools
import math
import re

FIRST = (1, 8)
_EXPECTED = 'as "1.8", "2.0" or "2.6.2"'


def parse_version(version):
    """The first two numbers of a version; "2" and "2.x" are later than every 2.n."""
    if not isinstance(version, str):
        raise TypeError(f"version must be a string, {_EXPECTED}, got {version!r:.80}")
    found = re.fullmatch(r"(\d+)(?:\.(\d+|x)(?:\.\w+)*)?", version)
    if not found:
        raise ValueError(f"version must be one of Paddle's, {_EXPECTED}, got {version!r:.80}")
    minor = found[2]
    pair = int(found[1]), math.inf if minor in (None, "x") else int(minor)
    if pair < FIRST:
        raise ValueError(f"version must be 1.8 or a later one, {_EXPECTED}, got {version!r:.80}")
    return pair


@functools.lru_cache(64)
def _parse_once(kind, version):
    return kind(parse_version(version))


def operators_of(kind, version):
    """Operators by name, of ``Running`` or ``Inferring``, which follow a version of Paddle."""
    return _parse_once(kind, version) if isinstance(version, str) else kind(parse_version(version))
