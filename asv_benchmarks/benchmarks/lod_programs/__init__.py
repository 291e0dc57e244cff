"""Programs from the LoD design review, each in every representation, with equal results.

``PROGRAMS[name][representation](batch)`` allocates and returns a call without arguments, which returns arrays.

- offsets: lodkit's own; those of a slice are rewritten, from 0
- views: a slice keeps the offsets of the batch
- running: lengths, and a running sum
- scanned: lengths, scanned to offsets first
- resummed: lengths, summed again by every block of 256 sequences, or per query
- each: the same per sequence, as by a block of the review's GPU kernel
- absolute: lengths of the outermost level in rows, ``9 1 5``, and a running sum
"""

from __future__ import annotations

import numpy as np

from . import finding, walking
from .batch import Batch, draw
from .pooling import by_blocks, by_lengths, by_offsets, largest, last, scan

__all__ = ["PROGRAMS", "REPRESENTATIONS", "Batch", "draw", "prepare"]

REPRESENTATIONS = ["offsets", "views", "running", "scanned", "resummed", "each", "absolute"]


def prepare(program, representation, batch):
    """Return a call without arguments that runs a program; NotImplementedError if not representable."""
    made = PROGRAMS[program](batch).get(representation)
    if made is None:
        raise NotImplementedError(f"{program} of {batch.levels} levels by {representation}")
    return made


def _scanned(batch, call):
    """Scan the lengths of all levels to ``batch.scanned``, then call ``call``, which reads it."""

    def scanned():
        for lengths, offsets in zip(batch.lengths, batch.scanned, strict=True):
            scan(lengths, offsets)
        return call()

    return scanned


def _ends(levels):
    return levels[0], levels[-1]


def _pooled(body):
    def program(batch):
        values, levels, count = batch.values, batch.levels, len(batch.lengths[0])
        out, index = np.empty((count, *values.shape[1:]), values.dtype), np.empty(count, np.int64)

        def call(kernel, levels, *work):
            def run():
                kernel(*work, *_ends(levels), values, out, index)
                return out, index

            return run

        offsets, blocks, each = by_offsets(body, levels), by_blocks(body, levels), by_blocks(body, levels, 1)
        return {
            "offsets": call(offsets, batch.offsets, values.size),
            "running": call(by_lengths(body, levels), batch.lengths),
            "scanned": _scanned(batch, call(offsets, batch.scanned, values.size)),
            "resummed": call(blocks, batch.lengths, values.size),
            "each": call(each, batch.lengths, values.size),
            "absolute": call(by_lengths(body, 1), [batch.absolute]),
        }

    return program


def _walked(batch):
    out = np.empty(len(batch.lengths[-1]), batch.values.dtype)
    one, rows = np.array([len(out)]), np.array([len(batch.values)])

    def call(kernel, outer, inner):
        def run():
            kernel(outer, inner, batch.values, out)
            return (out,)

        return run

    nested = batch.levels == 2
    bounds = np.array([0, len(out)])
    return {
        "offsets": call(walking.walk_offsets, batch.offsets[0] if nested else bounds, batch.offsets[-1]),
        "running": call(walking.walk_lengths, batch.lengths[0] if nested else one, batch.lengths[-1]),
        "scanned": _scanned(
            batch, call(walking.walk_offsets, batch.scanned[0] if nested else bounds, batch.scanned[-1])
        ),
        "absolute": call(walking.walk_absolute, batch.absolute if nested else rows, batch.lengths[-1]),
    }


def _stepped(batch):
    steps, state = int(batch.lengths[0].max(initial=0)), np.empty(len(batch.lengths[0]), batch.values.dtype)

    def call(kernel, levels):
        def run():
            kernel(*_ends(levels), batch.values, steps, state)
            return (state,)

        return run

    by_offsets = walking.step_offsets(batch.levels)
    by_lengths = walking.step_lengths if batch.levels == 1 else walking.step_nested_lengths
    return {
        "offsets": call(by_offsets, batch.offsets),
        "running": call(by_lengths, batch.lengths),
        "scanned": _scanned(batch, call(by_offsets, batch.scanned)),
    }


def _calls_on(branches):
    out = np.empty((len(branches), 2), np.int64)

    def call(kernel, levels, *more):
        def run():
            kernel(*_ends(levels), *more, out)
            return (out,)

        return run

    return call


def _found(batch):
    call, levels = _calls_on(batch.branches), batch.levels
    by_offsets, by_lengths = finding.find_offsets(levels), finding.find_lengths
    return {
        "offsets": call(by_offsets, batch.offsets, batch.branches),
        "scanned": _scanned(batch, call(by_offsets, batch.scanned, batch.branches)),
        "resummed": call(by_lengths(levels), batch.lengths, batch.branches),
        "absolute": call(by_lengths(1), [batch.absolute], batch.branches),
    }


def _sliced(batch, branches):
    call, levels = _calls_on(branches), batch.levels
    made = np.empty(len(batch.offsets[-1]) + (finding.PIECE + 1) * len(branches), np.int64)
    rebased, views = finding.slice_rebased(levels), finding.slice_views(levels)
    return call, {
        "offsets": call(rebased, batch.offsets, branches, made),
        "views": call(views, batch.offsets, branches),
        "scanned": _scanned(batch, call(views, batch.scanned, branches)),
    }


def _slices(batch):
    call, made = _sliced(batch, batch.branches)
    return made | {"resummed": call(finding.slice_lengths(batch.levels), batch.lengths, batch.branches)}


def _all_slices(batch):
    call, made = _sliced(batch, batch.parts)
    return made | {"running": call(finding.cut_lengths(batch.levels), batch.lengths)}


PROGRAMS = {
    "last": _pooled(last),
    "max": _pooled(largest),
    "t[i]": _found,
    "in order": _walked,
    "slices": _slices,
    "all slices": _all_slices,
    "steps": _stepped,
}
