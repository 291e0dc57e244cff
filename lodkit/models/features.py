"""Features: a batch of examples that are maps from feature keys to lists, LIST<MAP<INT, LIST<INT>>>."""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Literal, Self, TypeAlias, overload

import numpy as np

from .. import ops
from ..arrays import from_lists, integers, is_array
from ..arrays.sizes import total_size
from ..arrays.types import Array, ArrayLike, DenseLike, Values
from ..base.errors import LoDError, LoDMismatchError
from ..base.loading import public
from ..base.tracebacks import surface
from ..lod import LoDTensor, check_lengths, check_vector
from ..lod.batching import Batch, concat
from ..lod.elsewhere import FEATURES, suggest
from ..lod.key_index import KeyIndex
from ..lod.levels import lock_array, locked_copy
from ..ops.shared.features import to_numpy
from . import feature_lists
from .embedding_bags import embedding_bags
from .feature_conversions import Conversions, check_count, checked_names

if TYPE_CHECKING:
    # jedi, which IPython completes by, fails at properties whose hints are literals: it does not find these.
    from ..arrays.types import Device

    Kind: TypeAlias = Literal["scalar", "list", "map"]


@public
@suggest(FEATURES)
class Features(Batch, Conversions):
    """A batch of examples, each with a value, a list or a map for some feature keys.

    Lengths and keys are on the CPU, copied in, checked and read-only; values are shared, mutable, and may be on a GPU.
    Caffe2's MergeMulti*FeatureTensors have the same four arrays.

    Parameters
    ----------
    lengths : array of int
        Number of keys per example.
    keys : array of int
        Keys of all examples. A key may repeat in an example (see ``merge``): reading it returns both, in order.
    values_lengths : array of int, or None
        Number of values per key. None: one value per key.
    values : array of shape (rows, *item)
    map_keys : array of int, optional
        One per row of ``values``: each key then has a map.
    names : type of enum.IntEnum, optional
        Names of keys, for reading and printing.

    Examples
    --------
    >>> class Kind(enum.IntEnum):
    ...     PAGE_ID, APP_ID, POST_ID = 1, 2, 3
    >>> features = Features([2, 3], [1, 3, 1, 2, 3], [2, 1, 1, 1, 2], [10, 11, 101, 11, 50, 102, 103], names=Kind)
    >>> features
    Features([{PAGE_ID: [10, 11], POST_ID: [101]}, {PAGE_ID: [11], APP_ID: [50], POST_ID: [102, 103]}], dtype=int64)
    >>> features[Kind.APP_ID].to_list(), features["POST_ID"].to_list()
    ([[], [50]], [[101], [102, 103]])
    >>> features[1:].to_list() == [{1: [11], 2: [50], 3: [102, 103]}]
    True
    """

    __slots__ = ("_index", "_keys", "_map_keys", "_values", "names")
    __hash__ = None  # type: ignore[assignment]

    @surface
    def __init__(
        self,
        lengths: ArrayLike,
        keys: ArrayLike,
        values_lengths: ArrayLike | None,
        values: DenseLike,
        map_keys: DenseLike | None = None,
        *,
        names: type[enum.IntEnum] | None = None,
    ) -> None:
        lengths, keys = check_lengths(to_numpy(lengths, "lengths")), check_vector(to_numpy(keys, "keys"), "keys")
        _check_sum("lengths", lengths, len(keys), "keys")
        self._keys, self._map_keys, self.names = LoDTensor(locked_copy(keys), [lengths]), None, checked_names(names)
        values = LoDTensor(values).values
        if values_lengths is None:
            check_count("values", values.shape[0], len(keys), "keys")
            self._values = LoDTensor._wrap(values, self._keys._lod)
        else:
            counts = check_lengths(to_numpy(values_lengths, "values_lengths"), "values_lengths")
            check_count("values_lengths", len(counts), len(keys), "keys")
            _check_sum("values_lengths", counts, values.shape[0], "values")
            self._values = LoDTensor._wrap(values, (*self._keys._lod, *LoDTensor(None, [counts])._lod))
        if map_keys is not None:
            if values_lengths is None:
                raise LoDError("map_keys need values_lengths, the number of entries per key")
            given: Any = map_keys if is_array(map_keys) else check_vector(from_lists(map_keys, "map_keys"), "map_keys")
            given = integers(given, "map_keys") if isinstance(given, np.ndarray) else given
            if given.ndim != 1:
                raise LoDError(f"map_keys must be one-dimensional, got shape {tuple(given.shape)}")
            check_count("map_keys", given.shape[0], values.shape[0], "values")
            self._map_keys = self._values.with_values(given)

    @classmethod
    def _wrap(cls, keys, values, map_keys, names):
        """Make features unchecked, from LoDTensors of one structure."""
        self = object.__new__(cls)
        if keys._values.flags.writeable:
            keys = keys._like(lock_array(keys._values))
        self._keys, self._values, self._map_keys, self.names = keys, values, map_keys, names
        return self

    def __getstate__(self):
        state: Any = super().__getstate__()
        others, slots = state
        return others, {name: value for name, value in slots.items() if name != "_index"}

    @property
    def kind(self) -> Kind:
        """Kind of the values: ``"scalar"``, ``"list"`` or ``"map"``."""
        if self._map_keys is not None:
            return "map"
        return "scalar" if self._values.lod_level == 1 else "list"

    @property
    def lengths(self) -> Array:
        """Number of keys per example."""
        return self._keys.lengths()

    @property
    def keys(self) -> Array:
        """Keys of all examples, int64, read-only."""
        return self._keys._values.view()

    @property
    def values_lengths(self) -> Array | None:
        """Number of values per key; None if always one."""
        return None if self._values.lod_level == 1 else self._values.lengths()

    @property
    def values(self) -> LoDTensor:
        """A LoDTensor with levels for examples and (unless scalar) keys, a new one per call; its array is shared."""
        return self._values._like(self._values._values)

    @property
    def map_keys(self) -> LoDTensor | None:
        """Keys of the maps, a LoDTensor structured as ``values``, a new one per call; None without maps."""
        return None if self._map_keys is None else self._map_keys._like(self._map_keys._values)

    @property
    def dtype(self) -> np.dtype[Any] | Any:
        """Dtype of the values."""
        return self._values.dtype

    @property
    def device(self) -> Device:
        """Device of the values, ``"cpu"`` or ``"cuda"``. Lengths and keys are always on the CPU."""
        return self._values.device

    def to(self, device: Device) -> Self:
        """Return the features with their values on ``"cpu"`` or ``"cuda"``."""
        return self._with_keys(self._keys, lambda t: t.to(device))

    def _with_keys(self, keys, change):
        """Replace the keys, and apply ``change`` to values and map_keys."""
        map_keys = None if self._map_keys is None else change(self._map_keys)
        return self._wrap(keys, change(self._values), map_keys, self.names)

    def __len__(self) -> int:
        return len(self._keys)

    def feature(self, key: int | enum.Enum | str) -> LoDTensor | Any:
        """Return one feature of all examples, empty where absent.

        Parameters
        ----------
        key : int, IntEnum or str

        Returns
        -------
        LoDTensor, or for maps two of one structure: keys and values
            One sequence per example; the values of a repeated key are concatenated.

        Notes
        -----
        The first read of a key groups the entries of all, once; others take time by their own rows and the examples.
        """
        number = feature_lists.number(key, self.names, "feature")
        found = [self._select(t, [number]) for t in (self._map_keys, self._values) if t is not None]
        parts = [LoDTensor._wrap(t._values, t._lod[1:]) for t in found]
        return parts[0] if len(parts) == 1 else tuple(parts)

    def _select(self, t, numbers):
        """The rows of some keys in values or map_keys, a batch of all examples for each key."""
        index = getattr(self, "_index", None)
        if index is None:
            index = self._index = KeyIndex(self._keys._values, self._values._lod)
        return ops.select_features(t, keys=index, feature_keys=numbers)

    def has(self, key: int | enum.Enum | str) -> Array:
        """Return a mask of the examples that have a feature, even if empty."""
        found = self.keys == feature_lists.number(key, self.names, "has")
        return np.bincount(self._keys.segment_ids()[found], minlength=len(self)) > 0

    @overload
    def __getitem__(self, key: enum.Enum | str) -> LoDTensor | Any: ...
    @overload
    def __getitem__(self, key: slice | list[Any] | Array) -> Self: ...
    def __getitem__(self, key):
        if isinstance(key, enum.Enum | str):
            return self.feature(key)
        if isinstance(key, slice) or (isinstance(key, list | np.ndarray) and np.ndim(key)):
            return self._with_keys(self._keys[key], lambda t: t[key])
        raise TypeError(
            f"features[{key!r}] is ambiguous: .feature({key!r}) reads a key, "
            "features[i:i + 1] selects an example, features[list or mask] several"
        )

    def __iter__(self) -> Iterator[dict[int, Any]]:
        return iter(self.to_list())

    def merge(self, *others: Features) -> Self:
        """Merge with features of the same examples: each example gets the keys of all, in this order.

        Caffe2's MergeMulti{Scalar,List,Map}FeatureTensors. Common keys repeat.
        """
        for i, other in enumerate(others):
            if not isinstance(other, Features):
                raise TypeError(f"merge takes Features, got {type(other).__name__} at position {i}")
            if other.kind != self.kind:
                raise LoDMismatchError(f"merge: these are {self.kind} features, those at position {i} {other.kind}")
        return self._join((self, *others), lambda tensors: ops.merge_features(*tensors))

    @classmethod
    def _concat(cls, parts):
        """Concatenate the examples of all parts (``lodkit.concat``)."""
        first = parts[0]
        for i, part in enumerate(parts):
            if not isinstance(part, cls) or part.kind != first.kind:
                found = f"{part.kind} features" if isinstance(part, cls) else type(part).__name__
                raise LoDMismatchError(f"concat: part {i} is {found}, part 0 {first.kind} features")
        return first._join(parts, concat)

    def _join(self, parts, join):
        """Join keys, values and map_keys of features of one kind by ``join``."""
        keys, values = join([part._keys for part in parts]), join([part._values for part in parts])
        map_keys = None if self._map_keys is None else join([part._map_keys for part in parts])
        return self._wrap(LoDTensor._wrap(keys.values, values._lod[:1]), values, map_keys, self.names)

    def pool(
        self, tables: Mapping[Any, DenseLike], pool: Literal["sum", "mean", "sqrt", "max", "min"] = "sum", **attrs: Any
    ) -> Values:
        """Look up each feature in its own table, pool it per example, and concatenate the columns.

        Maps pool the rows of their keys, weighted by their values.

        Parameters
        ----------
        tables : dict
            Key -> table ``(height, width)``; columns are in this order.
        pool : {"sum", "mean", "sqrt", "max", "min"}
        **attrs
            Passed to ``lodkit.embedding_bags``: ``pad_value``, ``padding_idx``, ``is_sparse``, ``dtype``, ``as_dict``.

        Returns
        -------
        array of shape (examples, sum of widths)
            Gradients of the tables are SelectedRows, unless ``is_sparse=False``.

        Examples
        --------
        >>> features = Features.from_list([{1: [0, 1], 2: [1]}, {1: [1]}])
        >>> features.pool({1: np.array([[1., 2.], [3., 4.]]), 2: np.array([[5.], [6.]])})
        array([[4., 6., 6.],
               [3., 4., 0.]])
        """
        if not isinstance(tables, Mapping):
            raise TypeError(f"tables must be a dictionary, {{key: table}}, got {type(tables).__name__}")
        if not tables:
            raise ValueError("pool needs at least one table: {key: table}")
        names = self.names
        numbers = [key if type(key) is int else feature_lists.number(key, names, "tables") for key in tables]
        if self._map_keys is None:
            return embedding_bags(tables, self._select(self._values, numbers), pool=pool, **attrs)
        pairs: list[Any] = [self.feature(number) for number in numbers]
        bags = {key: ids for key, (ids, _) in zip(tables, pairs, strict=True)}
        weights = {key: w.values for key, (_, w) in zip(tables, pairs, strict=True)}
        return embedding_bags(tables, bags, weights, pool=pool, **attrs)

    def equals(self, other: object) -> bool:
        """Return whether the examples have the same keys in the same order, and the same values."""
        if not isinstance(other, Features) or self.kind != other.kind or not self._keys.equals(other._keys):
            return False
        same_maps = self._map_keys is None or self._map_keys.equals(other._map_keys)
        return same_maps and self._values.equals(other._values)

    def __eq__(self, other: object) -> bool:
        return self.equals(other) if isinstance(other, Features) else NotImplemented

    def __repr__(self):
        return feature_lists.text(self)

    def _repr_html_(self) -> str:
        from .feature_pictures import html

        return html(self)


def _check_sum(name, lengths, count, what):
    found = total_size(lengths, name)
    if found != count:
        raise LoDError(f"{name} sum to {found}, but there are {count} {what}; each must be counted once")
