"""CUDA kernels of lodkit/ops/lod_levels.py. Structure is worked out on the CPU, where a LoDTensor has its own."""

from __future__ import annotations

from ...arrays.cuda.memory import view
from ...lod.lod_tensor import LoDTensor, values_of
from ...ops import lod_levels as ops
from ...registry import Dense
from ..common.level_plans import reset_levels, reshaped_levels


def _under(x, levels):
    """The rows of x under other levels: another array of the same memory, as a Tape tells variables apart by it."""
    values = view(values_of(x))
    return LoDTensor._wrap(values.part(0, len(values)).array, levels)


@ops.lod_reset.kernel("cuda")
def reset(x: Dense | LoDTensor, y: Dense | LoDTensor | None = None, /, *, target_lod, append):
    return _under(x, reset_levels(x, y, target_lod, append))


@ops.lod_append.kernel("cuda")
def append(x: Dense | LoDTensor, lengths: Dense, /):
    return _under(x, reset_levels(x, lengths, None, True))


@ops.sequence_reshape.kernel("cuda")
def reshape(x: LoDTensor, /, *, new_dim):
    levels = reshaped_levels(x, new_dim)
    return LoDTensor._wrap(view(x.values).reshape(levels[-1].item(-1), new_dim).array, levels)
