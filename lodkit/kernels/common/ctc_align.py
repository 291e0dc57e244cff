"""Kernels of lodkit/ops/ctc_align.py."""

from __future__ import annotations

from ... import ops
from ...arrays import VALUE_TYPES
from ...lod import LoDTensor, freeze
from ...ops.ctc_align import check_logits
from ...ops.shared.sequences import check_tokens


@ops.ctc_align.kernel("cpu", "cuda")
def ctc_align(on, x: LoDTensor, /, *, blank, merge_repeated):
    dtype = check_tokens("ctc_align", x.values)
    tokens = on.to_contiguous(on.convert(x.values, dtype))
    tokens = tokens if dtype in VALUE_TYPES else on.integers(tokens, "x")
    ends, found = on.ctc_align.align(tokens.reshape(tokens.size), x._row_offsets(), blank, merge_repeated)
    found = on.convert(found.reshape(len(found), *x.values.shape[1:]), dtype)
    return LoDTensor._wrap(found, (*x._lod[:-1], freeze(ends)))


@ops.ctc_greedy_decode.kernel("cpu", "cuda")
def ctc_greedy_decode(on, logits: LoDTensor, /, *, blank):
    check_logits("ctc_greedy_decode", logits.values, blank)
    ends, found = on.ctc_align.align(on.ctc_align.best_classes(logits.values), logits._row_offsets(), blank, True)
    return LoDTensor._wrap(found, (*logits._lod[:-1], freeze(ends)))
