"""Rows of batches of matrices, which are laid end to end, with channels. Structure alone, on the CPU."""

from __future__ import annotations

import numpy as np

from ...arrays.sizes import size_products
from ...lod.offsets import lengths_to_offsets


def matrix_rows(row_offsets, column_offsets, channels):
    """Locate the rows of matrices: in each channel, matrix i has as many rows and columns as sequence i.

    Returns
    -------
    offsets : int64 array
        Of all rows of all matrices: of the first sequence the first channel, the second, and so on.
    order : int64 array
        The numbers of these rows in the order of the result: per row of the sequences, its channels.
    """
    rows, columns = np.diff(row_offsets), np.diff(column_offsets)
    offsets = lengths_to_offsets(np.repeat(columns, size_products(rows, channels, "channel_num * rows")))
    sequence = np.repeat(np.arange(len(rows)), rows)
    first = np.arange(len(sequence)) + (channels - 1) * row_offsets[sequence]
    order = first[:, None] + np.arange(channels) * rows[sequence][:, None]
    return offsets, order.reshape(-1)
