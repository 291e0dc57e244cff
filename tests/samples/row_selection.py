"""Samples of lodkit/ops/row_selection.py."""

from __future__ import annotations

import numpy as np

from lodkit import SelectedRows

from ._make import GRADIENTS, array

INTEGERS = SelectedRows([3, 1, 3], array(3, 2, dtype=np.int32), 6)
ALL = [*GRADIENTS, INTEGERS, GRADIENTS[1].merge()]
SAMPLES = {
    "split_selected_rows": [((x,), {"height_sections": cut}) for x in ALL for cut in ((2, 4), (0, 6, 0))],
    "concat_selected_rows": [((x, x), {}) for x in ALL] + [((GRADIENTS[2], GRADIENTS[0], GRADIENTS[2]), {})],
    "filter_selected_rows": [
        *(((x, np.array([2, 5, 3, 2])), {"exclude": e}) for x in ALL for e in (False, True)),
        ((GRADIENTS[1], np.array([], np.int32)), {}),
        ((GRADIENTS[1], [[0, 1], [2, 2]]), {}),
    ],
}
