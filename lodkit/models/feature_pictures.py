"""Features in Jupyter: which keys there are, in how many examples, with how many values; and where they stand."""

from __future__ import annotations

import numpy as np

from ..base.markup import STROKE, box, details, svg, table, title
from ..lod.repr_text import summary
from .feature_lists import key_name, text

_KEYS, _EXAMPLES = 12, 40  # that are shown
_CELL = 8  # pixels


def html(features):
    """Render features: facts, a table of the most frequent keys, where they stand in the first examples, values."""
    unique, inverse, counts = np.unique(features.keys, return_inverse=True, return_counts=True)
    shown = np.argsort(-counts, kind="stable")[:_KEYS]
    lengths = features.values_lengths
    rows = [
        (
            key_name(int(unique[k]), features.names),
            int(features.has(int(unique[k])).sum()),
            int(counts[k]) if lengths is None else int(lengths[inverse == k].sum()),
            "one value" if lengths is None else summary(lengths[inverse == k]),
            _places(features, int(unique[k])),
        )
        for k in shown
    ]
    facts = [f"{len(features)} examples", f"{len(unique)} keys", f"{features.kind} values", str(features.dtype)]
    headers = ("key", "examples", "values", "lengths", f"in the first {min(len(features), _EXAMPLES)} examples")
    more = f"the {len(shown)} most frequent keys" if len(shown) < len(unique) else ""
    return box(title("Features", *facts), table(more, headers, rows), details("first examples", text(features)))


def _places(features, key):
    """A strip of the examples, filled where they have the key."""
    has = features[:_EXAMPLES].has(key)
    filled = "".join(f"M{2 + _CELL * i} 2h{_CELL - 2}v8h-{_CELL - 2}z" for i in np.flatnonzero(has).tolist())
    width = _CELL * len(has) + 2
    frame = f'<path d="M.5 .5h{width - 1}v11h-{width - 1}z" {STROKE} stroke-opacity=".4"/>'
    said = f"In {int(has.sum())} of the first {len(has)} examples"
    return svg(said, width, 12, f'{frame}<path d="{filled}" fill="currentColor"/>')
