"""Comparison of the CTC loss with PyTorch's on a padded batch, and of edit distances with rapidfuzz and jiwer."""

from __future__ import annotations

import numpy as np
from measuring import QUICK, measure, rng
from peers import jiwer, rapidfuzz, torch

import lodkit

SEQUENCES, FRAMES, LABELS = (4, 15, 4) if QUICK else (64, 150, 20)


def around(mean, count=SEQUENCES):
    """Lengths from half to three halves of their mean."""
    return rng.integers(mean // 2, mean * 3 // 2 + 1, count)


def _padded(logits, labels):
    """Return PyTorch's calls, time first: forward, and forward with backward."""
    frames, counts = (torch.from_numpy(x.lengths().copy()) for x in (logits, labels))
    targets = torch.from_numpy(labels.values)
    padded = torch.from_numpy(lodkit.sequence_pad(logits)[0].swapaxes(0, 1).copy()).requires_grad_()

    def loss():
        logs = torch.nn.functional.log_softmax(padded, 2)
        return torch.nn.functional.ctc_loss(logs, targets, frames, counts, reduction="none")

    def forward(r):
        with torch.no_grad():
            return loss().numpy()

    def both(r):
        torch.autograd.grad(loss().sum(), padded)

    return forward, both


def ctc_loss():
    """Compare 64 sequences of 150 frames and 20 labels on average."""
    for classes in (8,) if QUICK else (32, 128):
        frames, counts = around(FRAMES), around(LABELS)
        values = rng.standard_normal((int(frames.sum()), classes), dtype=np.float32)
        logits = lodkit.LoDTensor(values, [frames])
        labels = lodkit.LoDTensor(rng.integers(1, classes, counts.sum()), [counts])
        ones = np.ones(SEQUENCES, np.float32)

        def both(r, logits=logits, labels=labels, ones=ones):
            lodkit.ctc_loss(logits, labels)
            lodkit.ctc_loss_grad(logits, labels, ones)

        calls = {"lodkit": lambda r, x=logits, y=labels: lodkit.ctc_loss(x, y)}
        trained = {"lodkit": both}
        if torch:
            calls["torch padded"], trained["torch padded"] = _padded(logits, labels)
        measure(f"ctc_loss {classes} classes, forward", calls)
        measure(f"ctc_loss {classes} classes, forward and backward", trained)


def _changed(words):
    """A transcript with every fifth word another, and every tenth left out."""
    draws = rng.random(len(words))
    return np.where(draws < 0.2, rng.integers(0, 10_000, len(words)), words)[draws < 0.9]


def edit_distance():
    """Compare distances of transcripts of 10,000 different words; peers take lists, made before."""
    for pairs, mean in ((8, 20),) if QUICK else ((4096, 20), (256, 500)):
        ref = [rng.integers(0, 10_000, n) for n in around(mean, pairs)]
        hyp = [_changed(words) for words in ref]
        x, y = lodkit.LoDTensor.from_sequences(hyp), lodkit.LoDTensor.from_sequences(ref)
        lists = [(h.tolist(), r.tolist()) for h, r in zip(hyp, ref, strict=True)]
        calls = {"lodkit": lambda r, x=x, y=y: lodkit.edit_distance(x, y)}
        if rapidfuzz:
            distance = rapidfuzz.distance.Levenshtein.distance
            calls["rapidfuzz"] = lambda r, lists=lists: [distance(*pair) for pair in lists]
        measure(f"edit_distance {pairs} pairs of {mean} words", calls, rounds=7)
        if jiwer:
            texts = [[" ".join(map(str, words)) for words in side] for side in (ref, hyp)]
            total = {"lodkit": lambda r, x=x, y=y: lodkit.edit_distance(x, y).sum() / len(y.values)}
            total["jiwer"] = lambda r, texts=texts: jiwer.wer(*texts)
            measure(f"word error rate of {pairs} pairs of {mean} words", total, rounds=3)


def greedy():
    """Compare decoding of 256 sequences with the largest class of each frame alone."""
    frames = around(FRAMES, 4 * SEQUENCES)
    values = rng.standard_normal((int(frames.sum()), 32), dtype=np.float32)
    logits = lodkit.LoDTensor(values, [frames])
    calls = {"lodkit": lambda r: lodkit.ctc_greedy_decode(logits).values[:0]}
    if torch:
        x, bounds = torch.from_numpy(values), np.cumsum(frames)[:-1].tolist()

        def theirs(r):
            return [p[p != 0] for p in map(torch.unique_consecutive, torch.argmax(x, 1).tensor_split(bounds))][:0]

        calls["torch"] = theirs
    measure("ctc_greedy_decode 32 classes", calls)


GROUPS = (ctc_loss, greedy, edit_distance)
