"""Images as sequences. The input Y, true sizes of padded images, is not supported."""

from __future__ import annotations

from ._types import op_type


@op_type
def im2sequence(ops, X, *, kernels, strides=(1, 1), paddings=(0, 0, 0, 0)):
    return {"Out": ops.im2sequence(X, kernels=tuple(kernels), strides=tuple(strides), paddings=tuple(paddings))}
