"""Comparison of recurrent layers with PyTorch's, on packed sequences and on a padded batch."""

from __future__ import annotations

import numpy as np
from measuring import QUICK, measure, rng
from peers import torch

import lodkit

SEQUENCES, LONGEST = (8, 20) if QUICK else (256, 500)
#: The order of lodkit's gates among PyTorch's.
ORDERS = {"lstm": (2, 0, 1, 3), "gru": (1, 0, 2)}
ATTRS = {"lstm": {}, "gru": {"origin_mode": True, "reset_after": True}}


def _lengths():
    power_law = np.minimum(LONGEST, rng.pareto(1.1, SEQUENCES) * LONGEST / 64 + 1).astype(int)
    power_law[0] = LONGEST
    yield "mean 20", rng.integers(1, 40, SEQUENCES)
    yield "power law", power_law


def _weights(name, width):
    """Weights as PyTorch keeps them, and as lodkit takes them."""
    order = ORDERS[name]
    shapes = (width, width), (width, width), (width,), (width,)
    parts = [rng.uniform(-1, 1, (len(order), *s)).astype(np.float32) / width**0.5 for s in shapes]
    wide, weight = (np.concatenate([p[k].T for k in order], axis=1) for p in parts[:2])
    bias, other = (p[[*order]] for p in parts[2:])
    if name == "gru":  # the candidate's product is reset together with its bias
        bias, other = np.concatenate([bias, other[2:]]), np.concatenate([other[:2], 0 * other[:2]])
    return [p.reshape(-1, *p.shape[2:]) for p in parts], (wide, weight, (bias + other).reshape(-1))


def _torch_layer(name, width, parts):
    net = getattr(torch.nn, name.upper())(width, width)
    with torch.no_grad():
        for parameter, part in zip(net.parameters(), parts, strict=True):
            parameter.copy_(torch.from_numpy(part))
    return net


def _packed(net, x, upstream):
    """PyTorch's calls on packed sequences: forward, and forward with backward."""
    pack = torch.nn.utils.rnn.pack_sequence
    packed = pack([torch.from_numpy(s) for s in x], enforce_sorted=False)
    rows = pack([torch.from_numpy(s) for s in x.with_values(np.arange(len(x.values)))], enforce_sorted=False).data
    leaf = packed.data.clone().requires_grad_()
    watched, by = packed._replace(data=leaf), torch.from_numpy(upstream)[rows]

    def forward(r):
        with torch.no_grad():
            out = net(packed)[0].data.numpy()
        return out[np.argsort(rows.numpy())] if r == 0 else None

    def both(r):
        torch.autograd.grad(net(watched)[0].data, [leaf, *net.parameters()], by)

    return forward, both


def _padded(net, x, upstream):
    """PyTorch's calls on a padded batch, steps first."""
    pad = torch.nn.utils.rnn.pad_sequence
    padded, by = (pad([torch.from_numpy(s) for s in t]) for t in (x, x.with_values(upstream)))
    there = torch.arange(len(padded))[:, None] < torch.from_numpy(x.lengths().copy())
    leaf = padded.clone().requires_grad_()

    def forward(r):
        with torch.no_grad():
            out = net(padded)[0]
        return out.transpose(0, 1)[there.T].numpy() if r == 0 else None

    def both(r):
        torch.autograd.grad(net(leaf)[0], [leaf, *net.parameters()], by)

    return forward, both


def recurrent():
    """Compare 256 sequences, 128 and 256 wide: even lengths of mean 20, and power-law lengths up to 500."""
    for what, lengths in _lengths():
        for width in (8,) if QUICK else (128, 256):
            x, upstream = (rng.standard_normal((int(lengths.sum()), width), dtype=np.float32) for _ in range(2))
            x = lodkit.LoDTensor(x, [lengths])
            for name in ("lstm", "gru"):
                _compare(name, what, width, x, upstream)


def _compare(name, what, width, x, upstream):
    parts, weights = _weights(name, width)
    layer, attrs = lodkit.OPS[name], ATTRS[name]
    parameters = list(map(lodkit.parameter, weights))

    def both(r):
        with lodkit.Tape() as tape:
            out = layer(x, *parameters, **attrs)[0]
        tape.gradient(out, [x, *parameters], output_gradients=upstream)

    forward, trained = {"lodkit": lambda r: layer(x, *weights, **attrs)[0].values}, {"lodkit": both}
    if torch:
        net = _torch_layer(name, width, parts)
        forward["torch packed"], trained["torch packed"] = _packed(net, x, upstream)
        forward["torch padded"], trained["torch padded"] = _padded(net, x, upstream)
    many = what != "power law"
    measure(f"{name} {width} wide, {what}, forward", forward, rounds=15 if many else 5)
    measure(f"{name} {width} wide, {what}, forward and backward", trained, rounds=7 if many else 1)


GROUPS = (recurrent,)
