"""Batches of Python examples to LoDTensors: Paddle's DataFeeder, create_lod_tensor, create_random_int_lodtensor."""

from __future__ import annotations

import math

import numpy as np

from ..arrays import is_array, is_integer, plain_array, plain_rows, to_device
from ..base.errors import DTypeError, LoDError, LoDMismatchError
from ..base.loading import public
from ..lod import LoDTensor, levels
from ..lod.encodings import MAX_DEPTH
from ..registry import VarDesc, VarType
from .fields import Field, list_error, place_of_row, shape_error

EXACT = 1 << 53  # floats hold integers up to here
_LOSSY = "iub"  # kinds of dtypes that do not hold every number


@public(home="lodkit.paddle")
class DataFeeder:
    """Convert a batch of examples to one LoDTensor or array per field.

    Paddle's DataFeeder. A field of lod_level 0 becomes an array, one row per example. Deeper ones take nested lists:
    for lod_level 1 a list of rows, for lod_level 2 a list of lists of rows. Any of these lists may be an array.

    Parameters
    ----------
    feed_list : list
        One per entry of an example: ``(name, lod_level, dtype)`` or ``(name, lod_level, dtype, shape)``, with the shape
        of a row (``[1]`` for most layers of Paddle), to which rows are reshaped. Or a VarDesc, whose first dimension
        counts rows.
    place : {"cpu", "cuda"}, optional

    Examples
    --------
    >>> import numpy as np
    >>> feeder = DataFeeder([("words", 1, np.int64, [1]), ("label", 0, np.int64, [1])])
    >>> batch = feeder.feed([([3, 1], 0), ([4], 1)])
    >>> batch["words"]
    LoDTensor([[[3], [1]], [[4]]], recursive_sequence_lengths=[[2, 1]], shape=(3, 1), dtype=int64)
    >>> batch["label"].tolist()
    [[0], [1]]
    """

    def __init__(self, feed_list, place=None):
        self.fields = [_field(i, entry) for i, entry in enumerate(feed_list)]
        names = [field.name for field in self.fields]
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f"feed_list has the name {name!r} twice; names must be unique")
        self.place = place

    def feed(self, iterable):
        """Convert a batch to ``{name: LoDTensor or array}``.

        Parameters
        ----------
        iterable : iterable of tuples or lists
            Examples, each with one entry per field.

        Raises
        ------
        LoDError, DTypeError
            The message names the example, the field, and the position in its lists.
        """
        examples = list(iterable)
        for i, example in enumerate(examples):
            if not isinstance(example, list | tuple):
                raise TypeError(f"example {i} is a {type(example).__name__}; give a tuple with one entry per field")
            if len(example) != len(self.fields):
                names = ", ".join(field.name for field in self.fields)
                raise LoDError(f"example {i} has {len(example)} entries for {len(self.fields)} fields ({names})")
        batch = {}
        for at, field in enumerate(self.fields):
            made = _convert(field, [example[at] for example in examples])
            batch[field.name] = made if self.place is None else _move(made, self.place)
        return batch


def create_lod_tensor(data, recursive_seq_lens, place=None):
    """Make a LoDTensor from rows and lengths, in Paddle's order of arguments.

    Parameters
    ----------
    data : array, LoDTensor or list
        Rows (copied if NumPy's); of a LoDTensor, its values. A list is nested according to the lengths, and as in
        Paddle its rows get a trailing dimension of 1.
    recursive_seq_lens : list of lists of int
        Lengths per level, outermost first.
    place : {"cpu", "cuda"}, optional

    Returns
    -------
    LoDTensor

    Raises
    ------
    LoDMismatchError
        The lengths of a list differ; the message names the first difference.

    Examples
    --------
    >>> create_lod_tensor([[3, 1], [4]], [[2, 1]])
    LoDTensor([[[3], [1]], [[4]]], recursive_sequence_lengths=[[2, 1]], shape=(3, 1), dtype=int64)
    """
    if isinstance(data, LoDTensor):
        data = data._need_values()
    if is_array(data):
        rows = data.copy() if isinstance(data, np.ndarray) else data
        return _move(LoDTensor(rows, recursive_seq_lens), place)
    if not isinstance(data, list):
        raise TypeError(f"data must be an array, a LoDTensor or a list, got {type(data).__name__}")
    t = LoDTensor.from_nested(data, lod_level=len(recursive_seq_lens))
    if t.lod_level:
        wanted = LoDTensor(None, recursive_seq_lens)
        if not t.same_lod(wanted):
            raise LoDMismatchError(
                f"the nested list and recursive_seq_lens have {levels.difference(t, wanted)}; LoDTensor.from_nested "
                "counts the lengths itself"
            )
    return _move(t.with_values(t.values[..., np.newaxis]), place)


def create_random_int_lodtensor(recursive_seq_lens, base_shape, place, low, high, *, seed=None):
    """Make a LoDTensor of random int64 values, in Paddle's order of arguments.

    Parameters
    ----------
    recursive_seq_lens : list of lists of int
    base_shape : list of int
        Shape of a row.
    place : {"cpu", "cuda"} or None
    low, high : int
        Smallest and largest value, both inclusive.
    seed : int or numpy.random.Generator, optional

    Returns
    -------
    LoDTensor

    Examples
    --------
    >>> create_random_int_lodtensor([[2, 3]], [4], None, 0, 9, seed=0).shape
    (5, 4)
    """
    if low > high:
        raise ValueError(f"low = {low} is more than high = {high}; both are inclusive")
    structure = LoDTensor(None, recursive_seq_lens)
    random = np.random.default_rng(seed)
    rows = random.integers(low, high, (structure.shape[0], *base_shape), endpoint=True)
    return _move(structure.with_values(rows), place)


def _move(value, place):
    if place is None:
        return value
    return value.to(place) if isinstance(value, LoDTensor) else to_device(value, place)


def _field(i, entry):
    if isinstance(entry, VarDesc):
        if entry.type is not VarType.LOD_TENSOR:
            raise LoDError(f"feed_list[{i}] ({entry.name!r}) is {entry.type.name}; only LOD_TENSOR can be fed")
        item = entry.dims[1:]
        return Field(entry.name, entry.lod_level, entry.dtype, None if min(item, default=0) < 0 else item)
    if not isinstance(entry, list | tuple) or not 3 <= len(entry) <= 4:
        raise TypeError(f"feed_list[{i}] is {entry!r}; give (name, lod_level, dtype[, shape]) or a VarDesc")
    name, lod_level, dtype, shape = (*entry, None)[:4]
    if not isinstance(name, str):
        raise TypeError(f"feed_list[{i}]: name must be a string, got {name!r}")
    if not is_integer(lod_level) or not 0 <= lod_level <= MAX_DEPTH:
        raise ValueError(
            f"feed_list[{i}] ({name!r}): lod_level must be an integer from 0 to {MAX_DEPTH}, got {lod_level!r}"
        )
    if shape is not None:
        shape = tuple(shape)
        if not all(is_integer(size) and size >= 0 for size in shape):
            raise ValueError(f"feed_list[{i}] ({name!r}): shape must be of a row, without unknown sizes, got {shape}")
    return Field(name, lod_level, np.dtype(dtype), shape)


def _convert(field, column):
    """Convert one field of all examples."""
    lengths, parts = [], column
    for level in range(field.lod_level):
        for i, part in enumerate(parts):
            if not _is_list(part):
                raise list_error(field, column, level, i, part)
            if isinstance(part, np.ma.MaskedArray):
                plain_array(part, f"field {field.name!r}")
        lengths.append([len(part) for part in parts])
        if level < field.lod_level - 1 or not all(isinstance(part, np.ndarray) for part in parts):
            parts = [row for part in parts for row in part]
        else:
            parts = _concat(field, column, parts)
    values = _rows(field, column, parts)
    return LoDTensor(values, lengths) if lengths else values


def _is_list(part):
    return isinstance(part, list | tuple) or (isinstance(part, np.ndarray) and part.ndim > 0)


def _concat(field, column, arrays):
    """Concatenate arrays, ignoring item shape and dtype of empty ones."""
    arrays = [a for a in arrays if len(a)] or arrays[:1]
    if not arrays:
        return []
    if any(a.shape[1:] != arrays[0].shape[1:] for a in arrays):
        raise shape_error(field, column)
    if field.dtype.kind in "iu" and len({a.dtype for a in arrays}) > 1 and np.result_type(*arrays).kind == "f":
        return [row for a in arrays for row in a]  # NumPy would round int64 beside uint64 or floats
    return np.concatenate(arrays)


def _rows(field, column, rows):
    """Convert rows to an array of the field's dtype and shape."""
    try:
        array = np.asarray(plain_rows(rows, f"field {field.name!r}"))
    except ValueError:
        raise shape_error(field, column) from None
    if not len(rows):
        array = array.astype(field.dtype)
    shape = array.shape[1:] if field.shape is None else field.shape
    if len(rows) and math.prod(shape) != math.prod(array.shape[1:]):
        place = place_of_row(field, column, 0)
        raise LoDError(
            f"{place}: a row has shape {array.shape[1:]}, the field {shape}; give rows of this shape, or "
            "change the field's lod_level"
        )
    cast = _cast(field, column, array)
    if field.dtype.kind in "iu" and array.dtype.kind == "f" and np.abs(array).max(initial=0) >= EXACT:
        numbers = rows if isinstance(rows, np.ndarray) else np.array(rows, dtype=object)
        cast = np.array([int(number) for number in numbers.reshape(-1)], field.dtype)
    return cast.reshape(len(rows), *shape)


def _cast(field, column, array):
    """Cast to the field's dtype, or raise if values change; floats may lose digits."""
    if array.dtype == field.dtype:
        return array
    if array.dtype.kind not in "biufc" or (array.dtype.kind == "c" and field.dtype.kind != "c"):
        raise DTypeError(f"{place_of_row(field, column, 0)}: rows are {array.dtype}, the field is {field.dtype}")
    with np.errstate(invalid="ignore", over="ignore"):
        cast = array.astype(field.dtype)
    differ = cast != array if field.dtype.kind in _LOSSY else np.isinf(cast) & np.isfinite(array)
    if differ.any():
        at = np.unravel_index(int(np.argmax(differ)), differ.shape)
        place = place_of_row(field, column, int(at[0]))
        raise DTypeError(f"{place}: {field.dtype} cannot hold {array[at]}; change the field's dtype")
    return cast
