"""Comparisons of sequences that come in one by one: lists, arrays, tensors, examples of a DataLoader; and of words."""

from __future__ import annotations

from itertools import chain

import numpy as np
from measuring import QUICK, measure, rng
from peers import pyarrow, torch

from lodkit import LoDTensor

SEQUENCES = 1000 if QUICK else 100_000
EXAMPLES = 256
WORDS = 10_000 if QUICK else 2_000_000
ITEMS = {"numbers": ((), np.int64), "rows of 16": ((16,), np.float32)}


def _arrays(count, item, dtype):
    """Arrays of 10 rows on average, of which one in 21 is empty."""
    return [rng.integers(0, 1000, (n, *item)).astype(dtype) for n in rng.integers(0, 21, count)]


def joined_arrays():
    """Compare with NumPy's calls: the arrays in one, and the length of each."""
    for what, kind in ITEMS.items():
        x = _arrays(SEQUENCES, *kind)
        for read in (LoDTensor.from_nested, LoDTensor.from_sequences):
            calls = {
                "lodkit": lambda r, x=x, read=read: read(x).values,
                "numpy": lambda r, x=x: (np.concatenate(x), np.fromiter(map(len, x), np.int64, len(x)))[0],
            }
            measure(f"{read.__name__} of {SEQUENCES:,} arrays, {what}", calls)


def joined_lists():
    """Compare with NumPy's array of all numbers, without lengths."""
    for what, dtype in (("ints", np.int64), ("floats", np.float64)):
        x = [array.tolist() for array in _arrays(SEQUENCES, (), dtype)]
        for read in (LoDTensor.from_nested, LoDTensor.from_sequences):
            calls = {
                "lodkit": lambda r, x=x, read=read: read(x).values,
                "numpy, flat": lambda r, x=x: np.array(list(chain.from_iterable(x))),
            }
            measure(f"{read.__name__} of {SEQUENCES:,} lists of {what}", calls)


def joined_tensors():
    """Compare with a collate function of two calls of PyTorch: one large batch, and a batch of examples with labels."""
    if not torch:
        return
    from lodkit.interop.torch import collate

    for what, kind in ITEMS.items():
        for count in (EXAMPLES, SEQUENCES):
            x = [*map(torch.from_numpy, _arrays(count, *kind))]
            calls = {"lodkit": lambda r, x=x: LoDTensor.from_nested(x).values, "torch": lambda r, x=x: _cat(x)[0]}
            measure(f"from_nested of {count:,} tensors, {what}", calls)
            pairs = [(tensor, i % 2) for i, tensor in enumerate(x)]
            calls = {
                "lodkit": lambda r, x=pairs: collate(x)[0].values,
                "torch": lambda r, x=pairs: (_cat([t for t, _ in x]), torch.tensor([label for _, label in x]))[0][0],
            }
            measure(f"collate of {count:,} examples, {what}", calls)


def _cat(tensors):
    return torch.cat(tensors), torch.tensor([len(tensor) for tensor in tensors])


def encoded_words():
    """Compare words as ids with pyarrow's own encoding, which makes no Python strings: a vocabulary of 20,000, in one
    chunk and in eight, and words that are all different.
    """
    if not pyarrow:
        return
    numbers = np.minimum(rng.zipf(1.2, WORDS), 20_000).tolist()
    for kind in (pyarrow.string(), pyarrow.string_view()):
        x = pyarrow.array([f"word{i}" for i in numbers], kind)
        parts = pyarrow.chunked_array([x[at : at + WORDS // 8] for at in range(0, WORDS, WORDS // 8)])
        different = pyarrow.array([f"word{i}" for i in range(WORDS)], kind)
        columns = {"": x, ", in eight chunks": parts, ", all different": different}
        for what, x in columns.items():
            calls = {
                "lodkit": lambda r, x=x: LoDTensor.from_arrow(x, dictionary=True)[0].values,
                "pyarrow": lambda r, x=x: _indices(x.dictionary_encode()),
            }
            measure(f"from_arrow of {WORDS:,} words, {kind}{what}", calls)


def _indices(encoded):
    chunks = encoded.chunks if hasattr(encoded, "chunks") else [encoded]
    return chunks[0].indices if len(chunks) == 1 else np.concatenate([chunk.indices for chunk in chunks])


GROUPS = (joined_arrays, joined_lists, joined_tensors, encoded_words)
