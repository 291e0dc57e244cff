"""Conversions of features: dictionaries, Arrow maps, columns, dense arrays."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from .. import ops
from ..arrays import dtype_of, from_lists, integers, is_array
from ..arrays.types import ArrayLike, DenseLike, Device, DTypeLike
from ..base.errors import DTypeError, LoDError, LoDMismatchError
from ..lod import LoDTensor
from ..ops.shared.features import check_mask, check_packed, check_presence, to_numpy
from . import feature_lists


class Conversions:
    """One constructor per encoding, and the conversions back."""

    if TYPE_CHECKING:

        def __init__(self, *arrays: Any, names: type[enum.IntEnum] | None) -> None: ...
        @classmethod
        def _wrap(cls, keys: LoDTensor, values: LoDTensor, map_keys: LoDTensor | None, names: Any) -> Self: ...
        @classmethod
        def _concat(cls, batches: list[Self]) -> Self: ...
        def to(self, device: Device) -> Self: ...
    else:
        __slots__ = ()

    @classmethod
    def from_list(
        cls,
        examples: Iterable[Mapping[Any, Any]],
        *,
        names: type[enum.IntEnum] | None = None,
        dtype: DTypeLike | None = None,
        kind: Literal["scalar", "list", "map"] | None = None,
    ) -> Self:
        """Make features from a list of dictionaries: ``[{1: [10, 11], 3: [101]}, {}]``.

        Parameters
        ----------
        examples : list of dict
            Keys are integers, members of an IntEnum, or names in ``names``; values are all lists (sets are sorted), all
            numbers, or all dictionaries of numbers.
        names : type of enum.IntEnum, optional
        dtype : data-type, optional
            Dtype of the values.
        kind : {"list", "scalar", "map"}, optional
            Kind of the values; default: inferred from the first, else "list".
        """
        return cls(*feature_lists.arrays_of(examples, checked_names(names), dtype, kind), names=names)

    @classmethod
    def from_arrow(cls, array: Any, *, names: type[enum.IntEnum] | None = None) -> Self:
        """Make features from a column of ``map<int, list<int>>``, one example per map.

        Values may also be numbers, or maps of numbers. Of a ``list<map<...>>``, each map in a list is an example.

        Parameters
        ----------
        array : object with ``__arrow_c_array__`` or ``__arrow_c_stream__``
            pyarrow's arrays and chunked arrays and others. Values of one chunk are a read-only view.
        names : type of enum.IntEnum, optional
        """
        from ..interop.arrow.features import arrays_of

        parts = [cls(*arrays, names=names) for arrays in arrays_of(array)]
        return parts[0] if len(parts) == 1 else cls._concat(parts)

    @classmethod
    def from_columns(
        cls,
        columns: Mapping[Any, Any] | Sequence[tuple[Any, Any]],
        presence: Mapping[Any, Any] | Sequence[Any] | None = None,
        *,
        names: type[enum.IntEnum] | None = None,
    ) -> Self:
        """Make features from one column per key: Caffe2's MergeSingle{Scalar,List,Map}FeatureTensors.

        Parameters
        ----------
        columns : dict, or list of (key, column)
            A column is an array ``(examples, *item)``, a LoDTensor with one sequence per example, or for maps a pair of
            LoDTensors, keys and values.
        presence : dict or list of masks, optional
            Examples that have the feature. Defaults to all, as does None for a key.
        """
        if not columns:
            raise ValueError("from_columns needs at least one column, for the number of examples")
        names, columns = checked_names(names), list(columns.items() if isinstance(columns, dict) else columns)
        keys = integers([feature_lists.number(key, names, "columns") for key, _ in columns], "columns")
        masks = _masks_of(presence, [key for key, _ in columns]) if isinstance(presence, dict) else presence
        pairs = [_pair(*named) for named in columns]
        values = ops.stack_features(*(v for _, v in pairs), presence=masks)
        map_keys = None
        if pairs[0][0] is not None:
            map_keys = ops.stack_features(*(k for k, _ in pairs), presence=masks)
            _check_maps(values, map_keys)
        keep = check_presence(masks, [v for _, v in pairs])
        return cls._wrap(LoDTensor._wrap(_keys_of(keep.T, keys), values._lod[:1]), values, map_keys, names)

    @classmethod
    def from_dense(
        cls,
        x: DenseLike,
        keys: ArrayLike,
        presence: ArrayLike | None = None,
        *,
        names: type[enum.IntEnum] | None = None,
    ) -> Self:
        """Make features from a dense array ``(examples, keys, *item)``: Caffe2's MergeDenseFeatureTensors.

        Parameters
        ----------
        x : array
        keys : list of int
        presence : mask of shape (examples, keys), optional
            Defaults to all.
        """
        x = _column(x)
        if not is_array(x):
            raise TypeError(f"x must be an array (examples, keys, *item), got {type(x).__name__}")
        shape = tuple(check_packed(x).shape[:2])
        names = checked_names(names)
        keys = keys if isinstance(keys, list | tuple) else to_numpy(keys, "keys").tolist()
        keys = integers([feature_lists.number(key, names, "keys") for key in keys], "keys")
        check_count("keys", len(keys), shape[1], "columns")
        mask = np.ones(shape, bool) if presence is None else check_mask(presence, shape, "presence")
        values = ops.pack_features(x, presence=mask)
        return cls._wrap(LoDTensor._wrap(_keys_of(mask, keys), values._lod), values, None, names)

    def to_list(self) -> list[dict[int, Any]]:
        """Return one dictionary per example; keys are members of ``names`` where it has them."""
        return feature_lists.dictionaries(self)

    def to_arrow(self) -> Any:
        """Return a pyarrow array of maps, one per example, that shares the values: ``pyarrow.array(features)``."""
        from ..interop.arrow.exporting import pyarrow_array

        return pyarrow_array(self.to("cpu"))

    def __arrow_c_array__(self, requested_schema: object | None = None) -> tuple[object, object]:
        """Return capsules of the type and of the array, maps with offsets of 32 bits; values and keys are shared."""
        from ..interop.arrow.features import features

        return features(self)

    def __arrow_c_schema__(self) -> object:
        """Return a capsule of the type that ``__arrow_c_array__`` gives."""
        from ..interop.arrow.features import features

        return features(self, with_array=False)


def _column(x):
    return from_lists(x, "columns") if isinstance(x, list) else x


def _masks_of(presence, keys):
    for key in presence:
        if key not in keys:
            raise ValueError(f"presence has key {key!r}, but no column has; columns are {', '.join(map(repr, keys))}")
    return [presence.get(key) for key in keys]


def _pair(key, column):
    """Keys and values of a column of maps; None and the values of another."""
    if not isinstance(column, tuple):
        return None, _column(column)
    if len(column) != 2:
        raise TypeError(f"columns[{key!r}] is a tuple of {len(column)}; maps are a pair of LoDTensors, keys and values")
    return column


def _keys_of(mask, keys):
    """Return the key of each true cell of a mask ``(examples, keys)``."""
    return keys[np.nonzero(mask)[1]]


def checked_names(names):
    if names is not None and not (isinstance(names, type) and issubclass(names, enum.IntEnum)):
        raise TypeError(f"names must be a type of enum.IntEnum, got {names!r}; class Kind(enum.IntEnum): PAGE_ID = 1")
    return names


def check_count(name, found, count, what):
    if found != count:
        raise LoDError(f"{name} has {found} entries for {count} {what}; give one each")


def _check_maps(values, map_keys):
    if not values.same_lod(map_keys):
        raise LoDMismatchError("the keys and values of a map column have different lengths; give one key per value")
    if dtype_of(map_keys.values).kind not in "iu":
        raise DTypeError(f"the keys of a map column must be integers, not {dtype_of(map_keys.values)}")
