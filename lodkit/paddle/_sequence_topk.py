"""Averages of the top k. The output pos, which Paddle's gradient reads, is not supported."""

from __future__ import annotations

from ._types import op_type


@op_type
def sequence_topk_avg_pooling(ops, X, ROW, COLUMN, *, topks, channel_num):
    return {"Out": ops.sequence_topk_avg_pooling(X, ROW, COLUMN, topks=topks, channel_num=channel_num)}
