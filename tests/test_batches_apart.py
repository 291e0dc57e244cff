"""The concat law: a batch has the bits of its sequences, however they are put into batches, on any number of threads.

Exceptions are the operators that multiply matrices by BLAS; docs/reliability.md lists them.
"""

from __future__ import annotations

import contextlib
import pathlib
import re

import numpy as np
import pytest
from batches_apart import arrays_apart, as_one_sequence, calls_of, check_apart, find_batched, representatives
from calls import calling
from conftest import copy
from samples import ALL_TYPES, some_of

import lodkit
from lodkit import LoDTensor

PAGE = pathlib.Path(__file__).parents[1] / "docs" / "reliability.md"
#: The operators that the page lists as exceptions.
LISTED = re.search(r"BLAS matrix product are exceptions: (.*?)\.", PAGE.read_text(), re.DOTALL)
BY_BLAS = re.findall(r"`(\w+)`", LISTED[1])
READ = [name for name, op in lodkit.OPS.items() if not op.updates]


def with_gradient(name):
    return [name, f"{name}_grad"] if f"{name}_grad" in lodkit.OPS else [name]


EXCEPTIONS = {each for name in BY_BLAS for each in with_gradient(name)}


def batches(op, inputs, attrs, rng):
    """Calls to put together: sixteen, and a few with one sequence among others that has more rows than a tile of 48.

    Yields their inputs, the positions of those that belong to a batch, and of the arrays of the result that are apart.
    """
    batched, apart = find_batched(op, inputs, attrs, rng)
    if batched is not None:
        parts = calls_of(inputs, batched, 16, rng)
        yield parts, batched, apart
        if long := as_one_sequence(inputs, batched, 50, rng):
            parts = [*parts[:2], long, *parts[2:4]]
            if apart := arrays_apart(op, parts, batched, attrs):
                yield parts, batched, apart


#: Pieces of three rows, of which long sequences have many.
TINY = {"chunk_rows": 3, "block_rows": 3, "few_rows": 0, "near_bytes": -1, "mid_bytes": -1}
#: Threads and settings: large batches in threads and small ones without, where few numbers have a way of their own;
#: then all alike. Prefetches have kernels of their own.
PREFETCHED = {"fetch_from": 50} if ALL_TYPES else {}
ROUNDS = [(min(2, lodkit.get_num_threads()), {**TINY, "parallel_from": 100, **PREFETCHED})]
ROUNDS += [(1, {**TINY, "parallel_from": 0, "fetch_from": 0})] * ALL_TYPES


@pytest.mark.parametrize("name", [name for name in READ if name not in EXCEPTIONS])
def test_batches_have_the_bits_of_their_parts(name, monkeypatch):
    from lodkit.jit import settings

    op, rng = lodkit.OPS[name], np.random.default_rng(0)
    cases = some_of(representatives(name), 6)
    found = [(inputs, attrs, [*batches(op, inputs, attrs, rng)]) for inputs, attrs in cases]
    for threads, numbers in ROUNDS:
        with monkeypatch.context() as patch, one_number_of_threads(threads):
            for setting, number in numbers.items():
                patch.setattr(settings, setting, number)
            for inputs, attrs, batch in found:
                with calling(name, inputs, attrs):
                    for each in batch:
                        check_apart(op, attrs, *each)


@contextlib.contextmanager
def one_number_of_threads(count):
    before = lodkit.get_num_threads()
    lodkit.set_num_threads(count)
    try:
        yield
    finally:
        lodkit.set_num_threads(before)


@pytest.mark.parametrize("name", READ)
def test_exceptions_are_those_that_multiply_by_blas(name, monkeypatch):
    products = []

    def noted(function):
        return lambda *args, **keywords: products.append(args) or function(*args, **keywords)

    calls = [(tuple(map(copy, inputs)), attrs) for inputs, attrs in some_of(representatives(name), 6)]
    with monkeypatch.context() as patch:
        for product in ("matmul", "dot"):
            patch.setattr(np, product, noted(getattr(np, product)))
        for inputs, attrs in calls:
            lodkit.OPS[name](*inputs, **attrs)
    assert bool(products) == (name in EXCEPTIONS)
    assert name not in BY_BLAS or "BLAS" in lodkit.OPS[name].__doc__


BAGS = [(pool, False) for pool in ("sum", "mean", "sqrt", "max", "min")] + [("sum", True), ("mean", True)]
LENGTHS = [5, 66_000, 3, 130, 0, 70_000, 9, 200]


def check_one_by_one(call, *inputs):
    """Check that a batch has the bits of its sequences one by one."""
    alone = [call(*(x[i : i + 1] for x in inputs)) for i in range(len(inputs[0]))]
    np.testing.assert_array_equal(call(*inputs), np.concatenate(alone))


@pytest.mark.jit
@pytest.mark.parametrize(("pool", "weighted"), some_of(BAGS, 3))
def test_bags_beside_one_that_is_cut(pool, weighted):
    """Those of more than 65,536 ids are reduced in double precision, tile by tile, and the others are not."""
    rng = np.random.default_rng(0)
    table, ids = rng.normal(size=(50, 3)).astype(np.float32), LoDTensor(rng.integers(0, 50, sum(LENGTHS)), [LENGTHS])
    inputs = [ids, ids.with_values(rng.random(sum(LENGTHS)).astype(np.float32))] if weighted else [ids]
    check_one_by_one(lambda *given: lodkit.embedding_bag(table, *given, pool=pool), *inputs)


@pytest.mark.jit
@pytest.mark.parametrize("pool", ["logsumexp", "logmeanexp"])
def test_sequences_beside_one_that_is_cut(pool):
    x = LoDTensor(np.random.default_rng(0).normal(size=(sum(LENGTHS), 3)).astype(np.float32), [LENGTHS])
    check_one_by_one(lambda t: lodkit.sequence_pool(t, pool=pool), x)
