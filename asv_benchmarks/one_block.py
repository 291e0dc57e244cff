"""Max with index as the LoD review wrote it for a GPU: a block a sequence, its threads over the columns.

It is here to be compared with: it leaves most of the GPU idle where one sequence is long, and reads 4 bytes at a time.
"""

from __future__ import annotations

import numpy as np

from lodkit.arrays.cuda import memory
from lodkit.arrays.cuda.launch import cuda, launch


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
    """The largest of each column in sequences that all have rows, and where it first stands."""
    values, offsets = memory.view(values), memory.view(offsets)
    sequences, columns = len(offsets) - 1, values.columns
    out, index = values.like((sequences, columns)), values.like((sequences, columns), np.int64)
    launch(kernel, sequences * block, values, offsets, columns, out, index, block=block, exact=True)
    return out.array, index.array
