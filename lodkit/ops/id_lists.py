"""Lists of ids as sets: distinct ids, the union of a sample's lists, repeated ids, the position of an id."""

from __future__ import annotations

import numpy as np

from ..arrays import DISTINCT, INTEGERS, SUMMED, check_values, integers
from ..base.errors import LoDError, LoDLevelError, LoDMismatchError
from ..lod import LoDTensor, check_vector
from ..registry import Dense, op
from .conversions import vector_desc
from .shared.reductions import order_keys

DOCS_PAGE = "features"
SEARCH_WORDS = {
    "find": "index of, position of ids",
    "unique": "distinct, deduplicate, np.unique",
    "merge_id_lists": "union of ids",
    "find_duplicate_elements": "duplicates",
}


def prepare_unique(ids):
    """Check a vector of ids. Returns their type: int64 where there are none."""
    if len(ids.shape) != 1:
        raise LoDError(f"ids must be one-dimensional, got shape {tuple(ids.shape)}; pass ids.reshape(-1)")
    if not ids.shape[0] and ids.dtype.kind not in "iubmM":
        return np.dtype(np.int64)
    return check_values(ids.dtype, "unique")


@op(types=DISTINCT)
def unique(ids: Dense, /, *, return_inverse: bool = False, return_counts: bool = False) -> Dense:
    """Return the distinct ids, ascending.

    Unique of Caffe2; ``np.unique`` by a radix sort.

    Parameters
    ----------
    ids : vector of integers, bool or times
        Integers of any type, also negative, and uint64 beyond int64. NaT comes last, once.
    return_inverse, return_counts : bool
        Also return the position of each id among the distinct ones, and the number of times that each of these occurs.

    Returns
    -------
    vector of the type of the ids, or tuple of it and vectors of int64

    Raises
    ------
    LoDError
        The ids are not a vector.
    DTypeError
        The type is no integer, no bool and no time.

    Examples
    --------
    >>> unique([7, 2, 7, 9], return_inverse=True, return_counts=True)
    (array([2, 7, 9]), array([1, 0, 1, 2]), array([1, 2, 1]))
    """
    ids = np.asarray(ids, prepare_unique(np.asarray(ids)))
    keys = order_keys(ids)
    distinct = ids[[int(np.flatnonzero(keys == key)[0]) for key in sorted(set(keys.tolist()))]]
    inverse = np.searchsorted(order_keys(distinct), keys).astype(np.int64)
    counts = np.array([(inverse == i).sum() for i in range(len(distinct))], np.int64)
    results = (distinct, *[inverse] * return_inverse, *[counts] * return_counts)
    return results if len(results) > 1 else distinct


@unique.infer_rule
def _(ids, *, return_inverse=False, return_counts=False):
    counts, inverse = vector_desc(ids), vector_desc(ids, ids.dims[0])
    distinct = counts.but(dtype=ids.dtype if ids.dtype.kind in "iubmM" else np.dtype(np.int64))
    results = (distinct, *[inverse] * return_inverse, *[counts] * return_counts)
    return results if len(results) > 1 else distinct


def check_samples(lists):
    """Refuse lists of different samples: they have the same levels above the lists, and as many lists."""
    first = lists[0]
    for i, x in enumerate(lists):
        if not x.lod_level:
            raise LoDLevelError(f"merge_id_lists: list {i} has no levels; attach lengths: LoDTensor(ids, [lengths])")
        samples, expected = len(x._row_offsets()) - 1, len(first._row_offsets()) - 1
        if x.lod_level != first.lod_level or samples != expected:
            raise LoDMismatchError(
                f"merge_id_lists: list {i} has {samples} samples in {x.lod_level} levels, list 0 has {expected} in "
                f"{first.lod_level}; give every sample a list in each, an empty one where it has none"
            )
        if not all(map(np.array_equal, x._lod[:-1], first._lod[:-1])):
            raise LoDMismatchError(
                f"merge_id_lists: the levels above list {i} are {x.lod()[:-1]}, those above list 0 {first.lod()[:-1]}"
            )


@op(types=INTEGERS)
def merge_id_lists(*lists: LoDTensor) -> LoDTensor:
    """Return the union of the lists of every sample: each id once, ascending.

    MergeIdLists of Caffe2.

    Parameters
    ----------
    *lists : LoDTensor
        LoDTensors of int32 or int64 ids, for the same samples in the same order; a sample's innermost sequence is its
        list. Levels above have to be the same in all.

    Returns
    -------
    LoDTensor of int64

    Raises
    ------
    LoDMismatchError
        Two lists have different samples.
    LoDError, DTypeError
        The values are not a vector of int32 or int64.

    Examples
    --------
    >>> merge_id_lists(LoDTensor([5, 3, 7], [[2, 1]]), LoDTensor([3, 4], [[1, 1]])).to_list()
    [[3, 5], [4, 7]]
    """
    check_samples(lists)
    ids = [check_vector(x.values, f"list {i}").tolist() for i, x in enumerate(lists)]
    offsets = [x._row_offsets().tolist() for x in lists]
    samples = range(len(offsets[0]) - 1)
    parts = [[x[at[s] : at[s + 1]] for x, at in zip(ids, offsets, strict=True)] for s in samples]
    merged = [sorted(set().union(*part)) for part in parts]
    values = np.array([id for sample in merged for id in sample], np.int64)
    return LoDTensor(values, [*lists[0].recursive_sequence_lengths()[:-1], list(map(len, merged))])


@merge_id_lists.infer_rule
def _(*lists):
    return lists[0].but(dtype=np.dtype("int64"), dims=(-1,))


def check_elements(data):
    """Refuse data that are not a vector of numbers."""
    check_values(data.dtype, "find_duplicate_elements")
    if len(data.shape) != 1:
        raise LoDError(f"data must be one-dimensional, got shape {tuple(data.shape)}; pass data.reshape(-1)")


@op(types=SUMMED)
def find_duplicate_elements(data: Dense, /) -> Dense:
    """Return the positions of second and later occurrences of elements, ascending, int64.

    FindDuplicateElements of Caffe2. NaN equals nothing, 0.0 equals -0.0.

    Parameters
    ----------
    data : vector of ids, or of floating numbers

    Raises
    ------
    LoDError, DTypeError
        The data are not a vector of float16, float32, float64, int32 or int64.

    Examples
    --------
    >>> find_duplicate_elements([4, 5, 4, 4, 5])
    array([2, 3, 4])
    """
    check_elements(data)
    return np.array([i for i in range(len(data)) if (data[:i] == data[i]).any()], np.int64)


find_duplicate_elements.infer_rule(vector_desc)


@op(rowwise=("queries",), types=INTEGERS)
def find(ids: Dense, queries: Dense, /, *, missing_value: int = -1) -> Dense:
    """Return the position of each query's last occurrence among the ids, int64.

    Find of Caffe2.

    Parameters
    ----------
    ids : vector of int32 or int64
    queries : array of int32 or int64 of any shape, LoDTensor, or list
    missing_value : int
        The result for a query that is not among the ids.

    Returns
    -------
    array, or LoDTensor, like the queries

    Raises
    ------
    LoDError, DTypeError
        The ids are not a vector of int32 or int64, or the queries are not integers.

    Examples
    --------
    >>> find([4, 5, 4], [[4, 5], [6, 4]])
    array([[ 2,  1],
           [-1,  2]])
    """
    ids, queries = check_vector(ids, "ids"), integers(queries, "queries")
    last = {id: i for i, id in enumerate(ids.tolist())}
    found = [last.get(q, missing_value) for q in queries.reshape(-1).tolist()]
    return np.array(found, np.int64).reshape(queries.shape)


@find.infer_rule
def _(ids, queries, *, missing_value=-1):
    return queries.but(dtype=np.dtype("int64"))


unique.example(lambda dtype: [((np.array([3, 1, 3]),), {"return_inverse": True})])
merge_id_lists.example(lambda dtype: [((LoDTensor([3, 1, 3], [[2, 1]]),), {})])
find_duplicate_elements.example(lambda dtype: [((np.array([3, 1, 3]),), {})])
find.example(lambda dtype: [((np.array([3, 1, 3]), np.array([3])), {})])
