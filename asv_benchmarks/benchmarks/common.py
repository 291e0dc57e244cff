"""Shared workloads."""

import itertools

import numpy as np

import lodkit

ROWS, BAGS = 200_000, 4096
#: Earlier versions, which asv runs too, took plain arrays.
parameter = getattr(lodkit, "parameter", lambda array: array)


def lengths(count, mean, rng):
    """Draw power-law lengths around ``mean``, some of them 0."""
    return rng.multinomial(count * mean, rng.dirichlet(np.full(count, 0.5)))


def ids(rng, height=ROWS, kind="uniform"):
    """Draw bags of 20 ids on average."""
    bags = rng.integers(0, 41, BAGS)
    count = int(bags.sum())
    drawn = rng.integers(0, height, count) if kind == "uniform" else np.minimum(rng.zipf(1.05, count), 1 << 40)
    return lodkit.LoDTensor(drawn * 2654435761 % height, [bags])


def table(rng, width, dtype=np.float32):
    values = lodkit.empty((ROWS, width), dtype)
    values[...] = rng.standard_normal(values.shape)
    return values


def gradient(rng, width, kind="uniform"):
    flat = ids(rng, kind=kind).values
    return lodkit.SelectedRows(flat, rng.standard_normal((len(flat), width), dtype=np.float32), ROWS)


def rounded(x, dtype):
    """An array of numbers in a type by name, in pages as lodkit's: bfloat16, which NumPy lacks, too."""
    halves = lodkit.cast(x, dtype=dtype)
    made = lodkit.empty(x.shape, halves.dtype)
    made[...] = halves
    return made


def training_steps(attrs):
    """Yield the attributes of step after step of a training loop: the rate falls, the iteration grows."""
    for step in itertools.count(1):
        counted = {"iteration": step} if "iteration" in attrs else {}
        yield {**attrs, **counted, "lr": attrs["lr"] / (1 + 1e-3 * step)}
