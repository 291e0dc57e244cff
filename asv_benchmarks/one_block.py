"""Max with index, the GPU kernel of the LoD review: one block per sequence, its threads over the columns.

A baseline: it leaves most of the GPU idle if one sequence is long, and loads 4 bytes at a time.
"""

from __future__ import annotations

import numpy as np

from lodkit.arrays.cuda import memory
from lodkit.arrays.cuda.launcher import cuda, launch


@cuda.jit
def kernel(values, offsets, columns, out, index):
    s, j = cuda.blockIdx.x, cuda.threadIdx.x
    while j < columns:
        best, at = values[offsets[s] * columns + j], offsets[s]
        for i in range(offsets[s] + 1, offsets[s + 1]):
            if values[i * columns + j] > best:
                best, at = values[i * columns + j], i
        out[s * columns + j], index[s * columns + j] = best, at
        j += cuda.blockDim.x


def largest(values, offsets, block=32):
    """Return the maximum per column of nonempty sequences, and its first row."""
    values, offsets = memory.view(values), memory.view(offsets)
    sequences, columns = len(offsets) - 1, values.columns
    out, index = values.like((sequences, columns)), values.like((sequences, columns), np.int64)
    launch(kernel, sequences * block, values, offsets, columns, out, index, block=block, exact=True)
    return out.array, index.array
