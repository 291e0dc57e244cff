"""Batches of matrices laid end to end, with channels: where their rows are. Structure alone, on the CPU."""

from __future__ import annotations

import numpy as np


def matrix_rows(row_offsets, column_offsets, channels):
    """Where the rows of matrices are: matrix i of each of the channels has as many rows and columns as sequence i.

    Returns
    -------
    offsets : int64 array
        Of all rows of all matrices: those of the first sequence's first channel, of its second, and so on.
    order : int64 array
        Which of these are the channels of row 0 of the sequences, of row 1, and so on.
    """
    rows, columns = np.diff(row_offsets), np.diff(column_offsets)
    offsets = np.concatenate([[0], np.cumsum(np.repeat(columns, channels * rows))])
    sequence = np.repeat(np.arange(len(rows)), rows)
    first = np.arange(len(sequence)) + (channels - 1) * row_offsets[sequence]
    order = first[:, None] + np.arange(channels) * rows[sequence][:, None]
    return offsets, order.reshape(-1)
