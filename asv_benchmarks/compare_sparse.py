"""Comparisons of Caffe2's sparse operators: segments by ids, fused and unfused."""

from __future__ import annotations

import numpy as np
from measuring import HEIGHT, QUICK, measure, rng
from peers import awkward, scipy, tensorflow, torch

import lodkit

ROWS, SEGMENTS = (2000, 100) if QUICK else (1_000_000, 50_000)


def _segmentation():
    """Return segment ids of power-law lengths, sorted and shuffled."""
    lengths = rng.multinomial(ROWS, rng.dirichlet(np.full(SEGMENTS, 0.5)))
    ids = np.repeat(np.arange(SEGMENTS), lengths)
    return ids, rng.permutation(ids)


def _peers(x, ids, by, reduce):
    """Return the peers' calls for segments by ids."""
    calls = {}
    if tensorflow and reduce != "logsumexp":
        given, numbers = tensorflow.constant(x), tensorflow.constant(ids)
        segments = getattr(tensorflow.math, f"unsorted_segment_{reduce}")
        least = np.finfo(np.float32).min if reduce == "max" else None  # result of an empty segment
        calls["tensorflow"] = lambda r: np.where((y := segments(given, numbers, SEGMENTS).numpy()) == least, 0, y)
    if awkward and by == "ids" and x.ndim == 1 and reduce in ("sum", "max"):
        ragged = awkward.unflatten(x, np.bincount(ids, minlength=SEGMENTS))
        total = getattr(awkward, reduce)
        calls["awkward, built before"] = lambda r: np.asarray(awkward.fill_none(total(ragged, axis=1), 0))
    if torch:
        tx, ti = torch.from_numpy(x), torch.from_numpy(ids)
        wide = ti if x.ndim == 1 else ti[:, None].expand(-1, x.shape[1])
        name = {"sum": "sum", "mean": "mean", "max": "amax"}.get(reduce)
        shape = (SEGMENTS, *x.shape[1:])
        if name:
            calls["torch scatter_reduce"] = lambda r: torch.zeros(shape).scatter_reduce(
                0, wide, tx, name, include_self=False
            )
        if reduce == "sum":
            calls["torch index_add"] = lambda r: torch.zeros(shape).index_add_(0, ti, tx)
    if scipy and reduce == "sum":
        ones = np.ones(ROWS, np.float32)
        matrix = scipy.csr_array((ones, (ids, np.arange(ROWS))), shape=(SEGMENTS, ROWS))
        calls["scipy csr, built before"] = lambda r: matrix @ x
    if reduce == "sum" and x.ndim == 1:
        calls["numpy bincount"] = lambda r: np.bincount(ids, x, SEGMENTS)
    return calls


def segments_by_ids():
    """Compare sorted and unsorted ids, rows of 64 and scalars."""
    sorted_ids, unsorted_ids = _segmentation()
    for width in (64, 0):
        x = rng.standard_normal((ROWS, width) if width else ROWS, dtype=np.float32)
        for by, ids in (("ids", sorted_ids), ("unsorted_ids", unsorted_ids)):
            for reduce in ("sum", "mean", "max", "logsumexp"):
                attrs = {"by": by, "reduce": reduce, "num_segments": SEGMENTS}
                calls = {"lodkit": lambda r, x=x, i=ids, a=attrs: lodkit.segment_reduce(x, i, **a)}
                measure(f"{reduce} by {by}, {width or 1} wide", calls | _peers(x, ids, by, reduce), x.nbytes)


def fused():
    """Compare reductions fused with a gather with the two steps."""
    table = rng.standard_normal((HEIGHT, 64), dtype=np.float32)
    sorted_ids, unsorted_ids = _segmentation()
    indices = rng.integers(0, HEIGHT, ROWS)
    for by, ids in (("ids", sorted_ids), ("unsorted_ids", unsorted_ids)):
        for reduce in ("sum", "logsumexp"):
            attrs = {"by": by, "reduce": reduce, "num_segments": SEGMENTS}
            calls = {
                "lodkit fused": lambda r, i=ids, a=attrs: lodkit.segment_reduce(table, i, None, indices, **a),
                "lodkit gather, reduce": lambda r, i=ids, a=attrs: lodkit.segment_reduce(
                    lodkit.gather(table, indices), i, **a
                ),
            }
            measure(f"fused {reduce} by {by}", calls)


GROUPS = (segments_by_ids, fused)
