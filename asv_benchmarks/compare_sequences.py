"""Comparisons of sequence operators: few long sequences, and many short ones."""

from __future__ import annotations

import numpy as np
from measuring import QUICK, measure, rng
from peers import awkward, fbgemm, torch

import lodkit

#: (number of sequences, maximum length); rows of 64.
SHAPES = ((64, 20), (100, 5)) if QUICK else ((4096, 100), (100_000, 10))


def _batches():
    for count, most in SHAPES:
        lengths = rng.integers(0, most + 1, count)
        yield (
            f"{count:,} sequences",
            lodkit.LoDTensor(rng.standard_normal((lengths.sum(), 64), dtype=np.float32), [lengths]),
        )


def _tensors(t):
    """Convert sequences to a list of PyTorch tensors, and to a nested tensor."""
    parts = list(torch.split(torch.from_numpy(t.values), t.lengths().tolist()))
    return parts, torch.nested.nested_tensor(parts, layout=torch.jagged)


def padded():
    """Compare sequence_pad and sequence_unpad."""
    for what, t in _batches():
        full, lengths = lodkit.sequence_pad(t)
        out, rows, width = np.empty_like(full), np.empty_like(t.values), full.shape[1]
        pad, back = {"lodkit": lambda r: lodkit.sequence_pad(t)[0]}, {}
        back["lodkit"] = lambda r: lodkit.sequence_unpad(full, lengths).values
        starts = t.offsets()

        def loop(r, t=t, full=full, starts=starts):
            result = np.zeros_like(full)
            for s, (a, b) in enumerate(zip(starts[:-1], starts[1:], strict=True)):
                result[s, : b - a] = t.values[a:b]
            return result

        pad["numpy loop"] = loop
        back["numpy mask"] = lambda r: full[np.arange(width) < lengths[:, None]]
        if torch:
            parts, nested = _tensors(t)
            pad["torch pad_sequence"] = lambda r: torch.nn.utils.rnn.pad_sequence(parts, batch_first=True)
            pad["torch nested"] = lambda r: torch.nested.to_padded_tensor(nested, 0.0)
        if fbgemm:
            given, offsets = torch.from_numpy(t.values), [torch.from_numpy(starts.copy())]
            dense, total = torch.from_numpy(full), len(t.values)
            pad["fbgemm"] = lambda r: fbgemm.jagged_to_padded_dense(given, offsets, [width], 0.0)
            back["fbgemm"] = lambda r: fbgemm.dense_to_jagged(dense, offsets, total)[0]
        measure(f"sequence_pad, {what}", pad, full.nbytes)
        measure(f"sequence_unpad, {what}", back, t.values.nbytes)
        pad["lodkit"] = lambda r: lodkit.pack_segments(t.values, lengths, out=out)
        back["lodkit"] = lambda r: lodkit.unpack_segments(full, lengths, out=rows)
        measure(f"pack_segments, out=, {what}", pad, full.nbytes)
        measure(f"unpack_segments, out=, {what}", back, t.values.nbytes)


def moved():
    """Compare expanding, reversing and concatenating sequences."""
    for what, t in _batches():
        lengths, starts = t.lengths(), t.offsets()
        one = rng.standard_normal((len(t), 64), dtype=np.float32)
        calls = {"lodkit": lambda r: lodkit.sequence_expand_as(one, t).values}
        calls["numpy repeat"] = lambda r: np.repeat(one, lengths, axis=0)
        if torch:
            given, times = torch.from_numpy(one), torch.from_numpy(lengths)
            calls["torch repeat_interleave"] = lambda r: torch.repeat_interleave(given, times, dim=0)
        measure(f"sequence_expand_as, {what}", calls, t.values.nbytes)
        order = np.repeat(starts[:-1] + starts[1:] - 1, lengths) - np.arange(len(t.values))
        calls = {"lodkit": lambda r: lodkit.sequence_reverse(t).values}
        calls["numpy index, made before"] = lambda r: t.values[order]
        if torch:
            x, rows = torch.from_numpy(t.values), torch.from_numpy(order)
            calls["torch index_select, made before"] = lambda r: torch.index_select(x, 0, rows)
        measure(f"sequence_reverse, {what}", calls, t.values.nbytes)
        u = t.with_values(t.values + 1)

        def loop(r, t=t, u=u, starts=starts):
            pairs = zip(starts[:-1], starts[1:], strict=True)
            return np.concatenate([part for a, b in pairs for part in (t.values[a:b], u.values[a:b])])

        calls = {"lodkit": lambda r: lodkit.sequence_concat(t, u).values, "numpy loop": loop}
        if awkward:
            x, y = awkward.unflatten(t.values, lengths), awkward.unflatten(u.values, lengths)
            calls["awkward"] = lambda r: awkward.flatten(awkward.concatenate([x, y], axis=1), axis=1)
        measure(f"sequence_concat, {what}", calls, 2 * t.values.nbytes)


def softmax():
    """Compare softmax within sequences, of numbers and of rows."""
    rows, segments = (5000, 50) if QUICK else (5_000_000, 50_000)
    lengths = rng.multinomial(rows, rng.dirichlet(np.full(segments, 0.5)))
    flat = lodkit.LoDTensor(rng.standard_normal(rows, dtype=np.float32), [lengths])
    for what, t in (("1-D", flat), *_batches()):
        full = t.row_offsets()[np.flatnonzero(t.lengths())]
        counts = t.lengths()[t.lengths() > 0]

        def reduceat(r, t=t, full=full, counts=counts):
            top = np.maximum.reduceat(t.values, full, axis=0)
            shares = np.exp(t.values - np.repeat(top, counts, axis=0))
            return shares / np.repeat(np.add.reduceat(shares, full, axis=0), counts, axis=0)

        calls = {"lodkit": lambda r, t=t: lodkit.sequence_softmax(t).values, "numpy reduceat": reduceat}
        measure(f"sequence_softmax, {what}", calls, t.values.nbytes)


def convolved():
    """Compare sequence_conv of three steps with its matrix product alone."""
    for what, t in _batches():
        weights = rng.standard_normal((3 * 64, 64), dtype=np.float32)
        windows = np.zeros((len(t.values), 3 * 64), np.float32)

        def ours(r, t=t, weights=weights):
            lodkit.sequence_conv(t, weights, context_start=-1, context_length=3)

        def product(r, windows=windows, weights=weights):
            np.matmul(windows, weights)

        measure(f"sequence_conv, {what}", {"lodkit": ours, "numpy, the bare product": product})


def _padded_attention(inputs, lengths, causal):
    """PyTorch's padded batches, and their attention. Padding needs a mask only where rows see what is behind them."""
    padded = [torch.nn.utils.rnn.pad_sequence(torch.split(x, lengths.tolist()), batch_first=True) for x in inputs]
    there = torch.arange(int(lengths.max())) < torch.from_numpy(lengths)[:, None]
    how = {"is_causal": True} if causal else {"attn_mask": there[:, None, None, :]}

    def run(tensors):
        heads = (x.transpose(1, 2) for x in tensors)
        return torch.nn.functional.scaled_dot_product_attention(*heads, **how).transpose(1, 2)[there]

    return padded, run


def _nested_attention(inputs, lengths):
    """PyTorch's nested batches, and their attention."""
    offsets = torch.from_numpy(np.concatenate([[0], np.cumsum(lengths)]))

    def run(tensors):
        heads = (x.transpose(1, 2) for x in tensors)
        return torch.nn.functional.scaled_dot_product_attention(*heads).transpose(1, 2).values()

    return [torch.nested.nested_tensor_from_jagged(x, offsets) for x in inputs], run


def _forward_and_backward(tensors, run, grad):
    tensors = [x.detach().requires_grad_() for x in tensors]

    def both(r):
        torch.autograd.grad(run(tensors), tensors, grad)

    return both


def attended():
    """Compare attention inside sequences of power-law lengths, 8 heads of 64, with padded and nested batches.

    PyTorch's inputs are padded or nested before, and its padded result is cut to the rows, so that results agree.
    """
    count, most = (8, 20) if QUICK else (256, 512)
    lengths = np.minimum(most, rng.pareto(1.0, count) * most / 32 + 1).astype(np.int64)
    inputs = rng.standard_normal((4, int(lengths.sum()), 8, 64), dtype=np.float32)
    grad, given = inputs[3], [lodkit.LoDTensor(x, [lengths]) for x in inputs[:3]]
    for causal in (False, True):

        def ours(r, causal=causal):
            return lodkit.sequence_attention(*given, causal=causal).values

        def back(r, causal=causal):
            with lodkit.Tape() as tape:
                out = lodkit.sequence_attention(*given, causal=causal)
            tape.gradient(out, given, grad)

        forward, both = {"lodkit": ours}, {"lodkit": back}
        if torch:
            tensors = [torch.from_numpy(x) for x in inputs]
            peers = {"torch padded": _padded_attention(tensors[:3], lengths, causal)}
            if not causal:  # which nested tensors refuse
                peers["torch nested"] = _nested_attention(tensors[:3], lengths)
            for label, (made, run) in peers.items():
                forward[label] = lambda r, made=made, run=run: run(made)
                both[label] = _forward_and_backward(made, run, tensors[3])
        what = "causal" if causal else "of all rows"
        measure(f"sequence_attention {what}", forward, rounds=2)
        measure(f"sequence_attention {what}, and gradient", both, rounds=2)


GROUPS = (padded, moved, softmax, convolved, attended)
