"""Comparison of attention inside sequences with PyTorch's: one by one, on a padded batch and on a nested tensor."""

from __future__ import annotations

import numpy as np
from measuring import QUICK, measure, rng
from peers import torch

import lodkit

FEW, SEQUENCES, LONGEST, HEADS, WIDTH = (2, 4, 16, 2, 8) if QUICK else (24, 256, 512, 8, 64)


def _padded(inputs, lengths, causal):
    """Return PyTorch's calls on a padded batch: forward, and forward with backward."""
    there = torch.arange(int(lengths.max()))[None] < torch.from_numpy(lengths)[:, None]
    tensors = []
    for x in inputs:
        full = torch.zeros((*there.shape, HEADS, WIDTH))
        full[there] = torch.from_numpy(x)
        tensors.append(full.transpose(1, 2).contiguous().requires_grad_())
    mask = there[:, None, None, :]
    if causal:
        mask = mask & torch.ones(there.shape[1], there.shape[1], dtype=torch.bool).tril()

    def forward(r):
        with torch.no_grad():
            result = torch.nn.functional.scaled_dot_product_attention(*tensors, attn_mask=mask)
            return result.transpose(1, 2)[there].numpy()

    upstream = torch.zeros_like(tensors[0])

    def both(r):
        result = torch.nn.functional.scaled_dot_product_attention(*tensors, attn_mask=mask)
        torch.autograd.grad(result, tensors, upstream)

    return forward, both


def _nested(inputs, lengths):
    """Return PyTorch's calls on nested tensors: forward, and forward with backward; on CPUs it refuses causal ones."""
    offsets = torch.from_numpy(np.concatenate([[0], np.cumsum(lengths)]))
    leaves = [torch.from_numpy(x).clone().requires_grad_() for x in inputs]

    def attend():
        tensors = [torch.nested.nested_tensor_from_jagged(x, offsets).transpose(1, 2) for x in leaves]
        result = torch.nn.functional.scaled_dot_product_attention(*tensors)
        return result.transpose(1, 2).values()

    def forward(r):
        with torch.no_grad():
            return attend().numpy()

    upstream = torch.zeros_like(leaves[0])

    def both(r):
        torch.autograd.grad(attend(), leaves, upstream)

    return forward, both


def _by_sequence(inputs, lengths, causal):
    """Return PyTorch's calls on one sequence after the other: forward, and forward with backward."""
    parts = [torch.from_numpy(x).transpose(0, 1).split(lengths.tolist(), 1) for x in inputs]
    sequences = [[part.contiguous()[None].requires_grad_() for part in q_k_v] for q_k_v in zip(*parts, strict=True)]
    attend = torch.nn.functional.scaled_dot_product_attention

    def forward(r):
        with torch.no_grad():
            return torch.cat([attend(*some, is_causal=causal)[0] for some in sequences], 1).transpose(0, 1).numpy()

    upstream = [torch.zeros_like(query) for query, *_ in sequences]

    def both(r):
        for some, grad in zip(sequences, upstream, strict=True):
            torch.autograd.grad(attend(*some, is_causal=causal), some, grad)

    return forward, both


def attention():
    """Compare 256 sequences of power-law lengths up to 512, and few of them, 8 heads of 64."""
    for count in (FEW, SEQUENCES):
        _compare(np.minimum(LONGEST, rng.pareto(1.0, count) * LONGEST / 32 + 1).astype(int))


def _compare(lengths):
    rows = int(lengths.sum())
    inputs = [rng.standard_normal((rows, HEADS, WIDTH), dtype=np.float32) for _ in range(3)]
    sequences = [lodkit.LoDTensor(x, [lengths]) for x in inputs]
    upstream = rng.standard_normal((rows, HEADS, WIDTH), dtype=np.float32)
    for causal in (False, True):

        def both(r, causal=causal):
            lodkit.sequence_attention(*sequences, causal=causal)
            lodkit.sequence_attention_grad(*sequences, upstream, causal=causal)

        calls = {"lodkit": lambda r, c=causal: lodkit.sequence_attention(*sequences, causal=c).values}
        trained = {"lodkit": both}
        if torch:
            calls["torch by sequence"], trained["torch by sequence"] = _by_sequence(inputs, lengths, causal)
            calls["torch padded"], trained["torch padded"] = _padded(inputs, lengths, causal)
        if torch and not causal:
            calls["torch nested"], trained["torch nested"] = _nested(inputs, lengths)
        of = "" if len(lengths) == SEQUENCES else f" of {len(lengths)} sequences"
        what = f"causal attention{of}" if causal else f"attention{of}"
        measure(f"{what}, forward", calls, rounds=2)
        measure(f"{what}, forward and backward", trained, rounds=2)


GROUPS = (attention,)
