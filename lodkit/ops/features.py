"""Nested features, LIST<MAP<INT, LIST<INT>>> of Caffe2's sparse page: merge, stack, pack, read by key.

``lodkit.Features`` holds the structure; these operators move its values.
"""

from __future__ import annotations

import typing

import numpy as np

from ..arrays import FLOATING, MOVED, check_values
from ..lod import LoDTensor, values_of
from ..lod.key_index import KeyIndex
from ..registry import Dense, op, takes_bfloat16
from .shared import features as shared

DOCS_PAGE = "features"
SEARCH_WORDS = {
    "merge_features": "join feature maps",
    "pack_features": "dictionary of features, KeyedJaggedTensor",
    "stack_features": "features to examples",
    "select_features": "feature by key",
}


@op(types=MOVED)
def merge_features(*xs: LoDTensor) -> LoDTensor:
    """Merge example by example: join the entries of an example in the first input, in the second, and so on.

    MergeMulti{Scalar,List,Map}FeatureTensors of Caffe2, which merge keys and values in this way; a key of two inputs
    appears twice. Inputs have one lod_level (at least 1), number of examples, item shape and dtype.

    >>> merge_features(LoDTensor([1, 3, 1], [[2, 1]]), LoDTensor([7, 8, 9], [[1, 2]]))
    LoDTensor([[1, 3, 7], [1, 8, 9]], recursive_sequence_lengths=[[3, 3]], shape=(6,), dtype=int64)
    """
    shared.check_features("merge_features", xs)
    return shared.merge_examples(xs)


@merge_features.infer_rule
def _(*xs):
    return shared.rows_of(xs[0], lod_level=xs[0].lod_level)


@op(like=("xs",), gradient_of=merge_features, types=FLOATING)
def merge_features_grad(grad: Dense, /, *xs: LoDTensor) -> tuple:
    """Return the gradients of ``merge_features`` by the values of its inputs.

    >>> x, y = LoDTensor([1.0, 2.0], [[1, 1]]), LoDTensor([3.0], [[0, 1]])
    >>> merge_features_grad(np.array([10.0, 20.0, 30.0]), x, y)
    (array([10., 20.]), array([30.]))
    """
    shared.check_features("merge_features", xs)
    return shared.scatter_to_sources(shared.sources_of(shared.merge_examples, xs), xs, grad)


def _stack_present(xs, masks):
    kept = []
    for x, mask in zip(xs, masks, strict=True):
        part = x[mask]
        lower = part.recursive_sequence_lengths() if isinstance(part, LoDTensor) else []
        kept.append(LoDTensor(values_of(part), [mask.astype(np.int64), *lower]))
    return shared.merge_examples(kept)


@op(types=MOVED)
def stack_features(*xs: Dense | LoDTensor, presence: typing.Any = None) -> LoDTensor:
    """Make examples of features: each input has one feature of all examples.

    MergeSingle{Scalar,List,Map}FeatureTensors of Caffe2, where an absent value with a length shifts all later values;
    here its rows are left out.

    Parameters
    ----------
    *xs : arrays of shape (examples, *item), or LoDTensors
        One value per example, or one sequence per example.
    presence : list of masks, optional
        Per input, which examples have the feature. All by default.

    Returns
    -------
    LoDTensor
        Its outermost sequences are the examples, with one entry per feature that is present: a row, or a sequence.

    Examples
    --------
    >>> pages, posts = LoDTensor([10, 11, 11], [[2, 1]]), LoDTensor([101, 102, 103], [[1, 2]])
    >>> stack_features(pages, posts, presence=[[True, True], [False, True]]).to_list()
    [[[10, 11]], [[11], [102, 103]]]
    """
    return _stack_present(xs, prepare_stack(xs, presence)[1])


def prepare_stack(xs, presence):
    """Check the inputs. Returns their rows, and booleans per input: which examples have it."""
    return shared.check_features("stack_features", xs), shared.check_presence(presence, xs)


@stack_features.infer_rule
def _(*xs, presence=None):
    return shared.rows_of(xs[0], lod_level=xs[0].lod_level + 1)


@op(like=("xs",), gradient_of=stack_features, types=FLOATING)
def stack_features_grad(grad: Dense, /, *xs: Dense | LoDTensor, presence: typing.Any = None) -> tuple:
    """Return the gradients of ``stack_features`` by its inputs: 0 for absent entries.

    >>> stack_features_grad(np.array([5.0]), np.array([1.0, 2.0]), presence=[[False, True]])
    (array([0., 5.]),)
    """
    return shared.scatter_to_sources(shared.sources_of(_stack_present, xs, prepare_stack(xs, presence)[1]), xs, grad)


def _pack_present(x, mask):
    return LoDTensor(x.reshape(mask.size, *x.shape[2:])[mask.reshape(-1)], [mask.sum(1)])


@op(types=MOVED)
def pack_features(x: Dense, /, *, presence: typing.Any) -> LoDTensor:
    """Keep the values that are present: per example, one row per feature that it has.

    The values of MergeDenseFeatureTensors of Caffe2.

    Parameters
    ----------
    x : array of shape (examples, features, *item)
    presence : mask of shape (examples, features)

    Examples
    --------
    >>> pack_features(np.array([[1, 2], [3, 4]]), presence=[[True, True], [False, True]]).to_list()
    [[1, 2], [4]]
    """
    return _pack_present(x, prepare_pack(x, presence))


def prepare_pack(x, presence):
    """Check the inputs. Returns booleans: which values are present."""
    check_values(shared.check_packed(x).dtype, "pack_features")
    return shared.check_mask(presence, x.shape[:2], "presence")


@pack_features.infer_rule
def _(x, *, presence):
    return shared.rows_of(x, lod_level=1, drop=2)


@op(like="x", gradient_of=pack_features, types=FLOATING)
def pack_features_grad(x: Dense, grad: Dense, /, *, presence: typing.Any) -> Dense:
    """Return the gradient of ``pack_features``: 0 for absent entries.

    >>> pack_features_grad(np.zeros((1, 2)), np.array([5.0]), presence=[[False, True]])
    array([[0., 5.]])
    """
    mask = prepare_pack(x, presence)
    flat = x.reshape(mask.size, *x.shape[2:])
    sources = _pack_present(np.arange(mask.size).reshape(mask.shape), mask)
    return shared.scatter_to_sources(sources.values, [flat], grad)[0].reshape(x.shape)


def _select_keys(xs, keys, feature_keys):
    (values,) = xs
    keys = keys.keys if type(keys) is KeyIndex else keys
    bounds, lengths, rows = values.offsets(0), [], []
    starts = values._row_offsets() if values.lod_level == 2 else np.arange(len(keys) + 1)
    for key in feature_keys:
        for i in range(len(values)):
            found = [e for e in range(bounds[i], bounds[i + 1]) if keys[e] == key]
            lengths.append(sum(int(starts[e + 1] - starts[e]) for e in found))
            rows += [row for e in found for row in range(starts[e], starts[e + 1])]
    upper = [len(values)] * len(feature_keys)
    return LoDTensor(values.values[np.array(rows, np.int64)], [upper, lengths])


@op(types=MOVED)
def select_features(values: LoDTensor, /, *, keys: typing.Any, feature_keys: typing.Any) -> LoDTensor:
    """Read features by key: for each key to read, the rows of each example under it, in order.

    Parameters
    ----------
    values : LoDTensor
        Its outermost sequences are the examples. With lod_level 1, one row per key; with lod_level 2, one sequence per
        key.
    keys : array of int
        The key of each entry of the outermost level: structure, which is read on the CPU. Or the index that
        ``Features`` keep of it, by which a key is read in time proportional to its rows and the examples.
    feature_keys : list of int
        The keys to read.

    Returns
    -------
    LoDTensor
        Has lod_level 2: per key a batch of all examples, empty for an example without the key. The rows of
        a key that an example has twice are joined.

    Examples
    --------
    >>> values = LoDTensor([10, 11, 101, 11, 50, 102, 103], [[2, 3], [2, 1, 1, 1, 2]])
    >>> select_features(values, keys=[1, 3, 1, 2, 3], feature_keys=[3, 2]).to_list()
    [[[101], [102, 103]], [[], [50]]]
    """
    return _select_keys([values], *prepare_select(values, keys, feature_keys))


def prepare_select(values, keys, feature_keys):
    """Check the inputs. Returns the key of every entry, or their index, and the keys to read: int64."""
    check_values(values.values.dtype, "select_features")
    return shared.check_keys(values, keys, feature_keys)


@select_features.infer_rule
def _(values, *, keys, feature_keys):
    return shared.rows_of(values, lod_level=2)


@op(like="values", gradient_of=select_features, types=FLOATING)
def select_features_grad(values: LoDTensor, grad: Dense, /, *, keys: typing.Any, feature_keys: typing.Any) -> Dense:
    """Return the gradient of ``select_features`` by the values: 0 where a key was not read.

    >>> values = LoDTensor([0.5, 0.1, 0.7], [[2, 1]])
    >>> select_features_grad(values, np.array([5.0, 7.0]), keys=[1, 3, 1], feature_keys=[1])
    array([5., 0., 7.])
    """
    sources = shared.sources_of(_select_keys, [values], *prepare_select(values, keys, feature_keys))
    return shared.scatter_to_sources(sources, [values], grad)[0]


def _example(dtype):
    return LoDTensor(np.ones((3, 4), dtype), [[1, 1], [2, 1]])


merge_features.example(lambda dtype: [((_example(dtype), _example(dtype)), {})])
stack_features.example(lambda dtype: [((_example(dtype), _example(dtype)), {})])
pack_features.example(lambda dtype: [((np.ones((2, 2), dtype),), {"presence": [[True, False], [True, True]]})])
select_features.example(lambda dtype: [((_example(dtype),), {"keys": [1, 2], "feature_keys": [1]})])


takes_bfloat16(merge_features, stack_features, pack_features, select_features)
