"""What a table sends to other ranks, counted as it goes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..base.public import public
from .messages import Part


@public(home="lodkit.distributed")
@dataclass
class Traffic:
    """What this rank has sent to others for one purpose.

    Attributes
    ----------
    calls : int
        Times that it was sent.
    messages : int
        Other ranks that got any of it, added up. Tables of a group share messages.
    bytes : int
        Without padding and without what stays on this rank.
    """

    calls: int = 0
    messages: int = 0
    bytes: int = 0

    def add(self, rank: int, part: Part) -> Part:
        """Count a part, and return it."""
        here = int(part.counts[rank])
        self.calls += 1
        self.messages += int(np.count_nonzero(part.counts)) - (here > 0)
        self.bytes += (int(np.add.reduce(part.counts)) - here) * part.array[:1].nbytes
        return part
