"""Comparison of linear-chain conditional random fields with pytorch-crf, on a padded batch."""

from __future__ import annotations

import numpy as np
from measuring import QUICK, measure, rng
from peers import torch, torchcrf

import lodkit

SEQUENCES, TAGS = (8, (5,)) if QUICK else (256, (20, 50))


def _padded(values, transition, label, lengths):
    """Return pytorch-crf's calls: forward, forward with backward, and decoding."""
    there = torch.arange(int(lengths.max()))[None] < torch.from_numpy(lengths)[:, None]
    emission, tags = torch.zeros((*there.shape, values.shape[1])), torch.zeros(there.shape, dtype=torch.int64)
    emission[there], tags[there] = torch.from_numpy(values), torch.from_numpy(label)
    emission.requires_grad_()
    model = torchcrf.CRF(values.shape[1], batch_first=True)
    with torch.no_grad():
        parts = model.start_transitions, model.end_transitions, model.transitions
        for part, numbers in zip(parts, (transition[0], transition[1], transition[2:]), strict=True):
            part.copy_(torch.from_numpy(numbers))

    def losses():
        return -model(emission, tags, mask=there, reduction="none")

    def forward(r):
        with torch.no_grad():
            return losses().numpy()

    def both(r):
        torch.autograd.grad(losses().sum(), [emission, *model.parameters()])

    def decoding(r):
        with torch.no_grad():
            return np.concatenate(model.decode(emission, there))

    return forward, both, decoding


def crf():
    """Compare 256 sequences of 25 steps on average, 20 and 50 tags."""
    for tags in TAGS:
        lengths = np.maximum(1, rng.poisson(25, SEQUENCES))
        values = rng.standard_normal((int(lengths.sum()), tags), dtype=np.float32)
        transition = rng.standard_normal((tags + 2, tags), dtype=np.float32)
        emission = lodkit.LoDTensor(values, [lengths])
        label, grad = emission.with_values(rng.integers(0, tags, len(values))), np.ones(SEQUENCES, np.float32)
        inputs = emission, transition, label

        def both(r, inputs=inputs, grad=grad):
            lodkit.linear_chain_crf(*inputs)
            lodkit.linear_chain_crf_grad(*inputs, grad)

        forward = {"lodkit": lambda r, inputs=inputs: lodkit.linear_chain_crf(*inputs)}
        trained = {"lodkit": both}
        decoding = {"lodkit": lambda r, inputs=inputs: lodkit.crf_decoding(*inputs[:2]).values}
        if torchcrf:
            peer = _padded(values, transition, label.values, lengths)
            forward["pytorch-crf"], trained["pytorch-crf"], decoding["pytorch-crf"] = peer
        measure(f"crf, {tags} tags, forward", forward, rounds=5)
        measure(f"crf, {tags} tags, forward and backward", trained, rounds=5)
        measure(f"crf, {tags} tags, decoding", decoding, rounds=5)


GROUPS = (crf,)
