"""Split rows over shards by their keys, and bring them together again."""

from __future__ import annotations

import numpy as np

from ..arrays import MOVED, check_values, mixed_types, native, zeros_like
from ..base.errors import LoDError, ShapeMismatchError
from ..lod import check_vector
from ..registry import Dense, op
from .conversions import lengths_to_offsets, vector_desc
from .shared import plain

DOCS_PAGE = "features"
SEARCH_WORDS = {
    "partition": "sharding, shard ids, bucketize, block_bucketize_sparse_features, distribute",
    "lengths_partition": "shard bags",
    "gather_by_key": "undo sharding, unbucketize",
}


def shards_of(name, num_outputs, inputs):
    """Number of shards, each of which gives an array per input."""
    if num_outputs < 1 or num_outputs % inputs:
        raise ValueError(
            f"{name}: num_outputs = {num_outputs} is no multiple of the {inputs} inputs; "
            "every shard gives an array for each"
        )
    return int(num_outputs) // inputs


def check_data(data, shape):
    """Refuse data without a row per key."""
    for i, x in enumerate(data):
        check_values(x.dtype, f"data {i}", takes=MOVED)
        if tuple(x.shape[: len(shape)]) != tuple(shape):
            raise ShapeMismatchError(
                f"data {i} has shape {tuple(x.shape)}, the keys {tuple(shape)}; there is one row for every key"
            )


def check_keys(on, keys):
    """Keys on any device, of at least one dimension."""
    keys = on.integers(keys, "keys")
    if not keys.ndim:
        raise LoDError("keys have no dimension; pass keys.reshape(1)")
    return keys


def _split(keys, data, count, pack_first_input):
    """Rows of each shard, as a mask, then its keys and its rows of each array."""
    check_data(data, keys.shape)
    flat = keys.reshape(-1)
    rows = [x.reshape(len(flat), *x.shape[keys.ndim :]) for x in data]
    for p in range(count):
        here = flat % count == p
        packed = flat[here] // count if pack_first_input else flat[here]
        yield here, [packed, *(x[here].astype(native(x.dtype)) for x in rows)]


@op(types={"data": MOVED})
def partition(keys: Dense, /, *data: Dense, num_outputs: int, pack_first_input: bool = False) -> tuple[Dense, ...]:
    """Split keys, and what belongs to them, over shards: a key belongs to the shard ``key mod shards``.

    Partition of Caffe2. The order within a shard is kept. ``gather_by_key`` is the inverse.

    Parameters
    ----------
    keys : array of int32 or int64 of any shape
        The shard of a negative key is not negative either: -1 of 3 shards is in the last.
    *data : array of shape (*keys.shape, *item)
    num_outputs : int
        Number of arrays returned: shards times inputs.
    pack_first_input : bool
        Return ``(key - shard) / shards`` for the keys.

    Returns
    -------
    tuple of arrays
        For every shard its keys, int64, then its rows of each of the data.

    Raises
    ------
    ValueError
        ``num_outputs`` is no multiple of the inputs.
    ShapeMismatchError
        Data do not have a row for every key.
    DTypeError
        The keys are not int32 or int64.

    Examples
    --------
    >>> partition([4, 7, 1, 6], np.array([.4, .7, .1, .6]), num_outputs=4)
    (array([4, 6]), array([0.4, 0.6]), array([7, 1]), array([0.7, 0.1]))
    """
    count = shards_of("partition", num_outputs, 1 + len(data))
    return tuple(part for _, parts in _split(check_keys(plain, keys), data, count, pack_first_input) for part in parts)


def _parts(keys, data):
    """Descriptions of the results of a shard."""
    return (vector_desc(keys), *(x.but(dims=(-1, *x.dims[len(keys.dims) :]), lod_level=0) for x in data))


@partition.infer_rule
def _(keys, *data, num_outputs, pack_first_input=False):
    return _parts(keys, data) * shards_of("partition", num_outputs, 1 + len(data))


def _rows_back(call, grads, first):
    """Gradients of inputs, from ``first`` on: rows of all shards gathered by the keys before them; zeros for None."""
    count, found = len(call.inputs), [None] * first
    for j in range(first, count):
        by_shard, outputs = grads[j::count], call.outputs[j::count]
        if not call.wanted[j] or all(g is None for g in by_shard):
            found.append(None)
            continue
        by_shard = [zeros_like(x) if g is None else g for g, x in zip(by_shard, outputs, strict=True)]
        found.append(gather_by_key(call.inputs[first - 1], *by_shard))
    return tuple(found)


@partition.gradient(reads_outputs=True)
def _(call, *grads):
    return _rows_back(call, grads, 1)


@op(types={"data": MOVED})
def lengths_partition(
    lengths: Dense, keys: Dense, /, *data: Dense, num_outputs: int, pack_first_input: bool = False
) -> tuple[Dense, ...]:
    """Split segments of keys, and what belongs to these, over shards: every shard gets its part of every segment.

    LengthsPartition of Caffe2: ``partition`` that keeps the segments.

    Parameters
    ----------
    lengths : vector of int32 or int64
        Their sum is the number of keys.
    keys : vector of int32 or int64
    *data : array of shape (rows, *item)
    num_outputs : int
        Number of arrays returned: shards times inputs.
    pack_first_input : bool
        Return ``(key - shard) / shards`` for the keys.

    Returns
    -------
    tuple of arrays
        For every shard the lengths of its segments and its keys, both int64, then its rows of each of the data.

    Raises
    ------
    LoDError
        A length is negative, the lengths do not add up to the keys, or the keys are no vector.
    ValueError, ShapeMismatchError, DTypeError
        As in ``partition``.

    Examples
    --------
    >>> lengths_partition([1, 0, 2], [4, 7, 6], num_outputs=4)
    (array([1, 0, 1]), array([4, 6]), array([0, 0, 1]), array([7]))
    """
    count = shards_of("lengths_partition", num_outputs, 2 + len(data))
    keys, offsets = check_vector(keys, "keys"), lengths_to_offsets.definition(lengths).tolist()
    check_sum(offsets[-1], len(keys))
    results = []
    for here, parts in _split(keys, data, count, pack_first_input):
        inside = [here[a:b].sum() for a, b in zip(offsets[:-1], offsets[1:], strict=True)]
        results += [np.array(inside, np.int64), *parts]
    return tuple(results)


def check_sum(total, rows):
    """Refuse lengths that do not add up to the keys."""
    if total != rows:
        raise LoDError(f"lengths add up to {total}, but there are {rows} keys; every key belongs to one segment")


@lengths_partition.infer_rule
def _(lengths, keys, *data, num_outputs, pack_first_input=False):
    shards = shards_of("lengths_partition", num_outputs, 2 + len(data))
    return (vector_desc(lengths, lengths.dims[0]), *_parts(keys, data)) * shards


@lengths_partition.gradient(reads_outputs=True)
def _(call, *grads):
    return _rows_back(call, grads, 2)


def check_shards(data):
    """Refuse shards that differ in type or in the shape of items."""
    if not data:
        raise TypeError("gather_by_key takes keys and one array per shard, got keys alone")
    for p, x in enumerate(data):
        check_values(x.dtype, f"shard {p}", takes=MOVED)
        if native(x.dtype) != native(data[0].dtype):
            raise mixed_types(f"shard {p}", x.dtype, "shard 0", data[0].dtype)
        if not x.ndim or tuple(x.shape[1:]) != tuple(data[0].shape[1:]):
            raise ShapeMismatchError(f"shard {p} has rows of shape {tuple(x.shape[1:])}, shard 0 {data[0].shape[1:]}")


def check_counts(offsets, data):
    """Refuse shards without one row per key of theirs, by the offsets of the shards."""
    for p, x in enumerate(data):
        count = offsets[p + 1] - offsets[p]
        if len(x) != count:
            raise ShapeMismatchError(f"shard {p} has {len(x)} rows, but {count} of the keys belong to it")


@op(types={"data": MOVED})
def gather_by_key(keys: Dense, /, *data: Dense) -> Dense:
    """Return the rows of all shards in the order of their keys: the inverse of ``partition``, which is its gradient.

    GatherByKey of Caffe2.

    Parameters
    ----------
    keys : array of int32 or int64 of any shape
    *data : array of shape (rows, *item)
        One per shard, of one type: the rows of the keys ``key mod shards``, in the order of these keys.

    Returns
    -------
    array of shape (*keys.shape, *item)

    Raises
    ------
    ShapeMismatchError
        A shard has not as many rows as keys belong to it, or rows of another shape than the first shard.
    DTypeError
        Two shards differ in type, or the keys are not int32 or int64.

    Examples
    --------
    >>> gather_by_key([4, 7, 1, 6], np.array([.4, .6]), np.array([.7, .1]))
    array([0.4, 0.7, 0.1, 0.6])
    """
    keys = check_keys(plain, keys)
    check_shards(data)
    shards = keys.reshape(-1) % len(data)
    check_counts([(shards < p).sum() for p in range(len(data) + 1)], data)
    out = np.empty((keys.size, *data[0].shape[1:]), native(data[0].dtype))
    for p, x in enumerate(data):
        out[shards == p] = x
    return out.reshape(keys.shape + data[0].shape[1:])


@gather_by_key.infer_rule
def _(keys, *data):
    return data[0].but(dims=(*keys.dims, *data[0].dims[1:]), lod_level=0)


@gather_by_key.gradient
def _(call, grad):
    keys, *data = call.inputs
    return (None, *partition(keys, grad, num_outputs=2 * len(data))[1::2])


partition.example(lambda dtype: [(([1, 2], np.ones((2, 4), dtype)), {"num_outputs": 4})])
lengths_partition.example(lambda dtype: [(([2], [1, 2], np.ones((2, 4), dtype)), {"num_outputs": 6})])
gather_by_key.example(lambda dtype: [((np.array([1, 2]), np.ones((1, 4), dtype), np.ones((1, 4), dtype)), {})])
