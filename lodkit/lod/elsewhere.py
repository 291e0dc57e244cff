"""Names that users of NumPy, PyTorch, pandas, TensorFlow and awkward try, and what does it here.

Such a name is no attribute: ``hasattr`` is False, and reading it raises an AttributeError that names the call.
"""

# mypy: disable-error-code="attr-defined"
# The members of Familiar use those of the class that it is mixed into.
from __future__ import annotations

import copy
import functools
import sys
from typing import Any, Self

from ..arrays.recorded import track
from ..arrays.tensors import is_tensor
from .large import needs_memory


class MissingName:
    """A name that a class lacks: to read it raises with suggestions. Attributes that exist stay as fast."""

    __slots__ = ("name", "suggestions")

    def __init__(self, name, suggestions):
        self.name, self.suggestions = name, suggestions

    def __get__(self, instance, owner):
        article = "" if owner.__name__.endswith("s") else "a "
        calls = write_calls(self.suggestions, self.name)
        raise AttributeError(f"{article}{owner.__name__} has no {self.name!r}; use {calls}")


def suggest(table):
    """Decorate a class: names that it lacks raise with the suggestions of a table."""

    def decorate(cls):
        for names, calls in table.items():
            for name in names.split():
                setattr(cls, name, MissingName(name, calls))
        cls.__dir__ = _list_names
        return cls

    return decorate


def list_missing(cls):
    """Return the names of a class that only raise."""
    return {name for base in cls.__mro__ for name, x in vars(base).items() if isinstance(x, MissingName)}


def _list_names(self):
    """Return the names of an object, without those that only raise."""
    if "IPython.utils.generics" in sys.modules:  # its completer asks this, and then the class
        _teach_completer(sys.modules["IPython.utils.generics"].complete_object, type(self))  # type: ignore[arg-type]
    return sorted(set(object.__dir__(self)) - list_missing(type(self)))


@functools.cache
def _teach_completer(complete_object, cls):
    """Have IPython's completer leave out what only raises, which it finds by the class of an object."""
    absent = list_missing(cls)
    complete_object.register(cls, lambda _, names: [name for name in names if name not in absent])


def write_calls(calls, name):
    """Return calls, each with what it gives, as text."""
    return ", ".join(f"{call} ({what})" if what else call for call, what in calls.items()).replace("NAME", name)


#: Names that a class lacks -> calls, each with what it gives; NAME is the name.
LOD_TENSOR = {
    "sum mean max min": {"lodkit.sequence_pool(t, pool='NAME')": "of each sequence", "t.values.NAME()": "of all rows"},
    "std var prod any all": {
        "[s.NAME() for s in t.sequences()]": "of each innermost sequence",
        "t.values.NAME()": "of all rows",
    },
    "argmax argmin": {
        "lodkit.sequence_pool(t, pool='max', return_index=True)": "rows of the maxima of sequences; or pool='min'",
        "t.values.NAME()": "of all rows",
    },
    "median nanmean quantile describe": {"t.values": "all rows, for NumPy", "t.sequences()": "sequence by sequence"},
    "norm": {"np.linalg.norm(t.values)": "of all rows"},
    "cumsum": {"lodkit.sequence_cumsum(t)": "along sequences", "t.values.cumsum()": "along all rows"},
    "softmax": {"lodkit.sequence_softmax(t)": "over each sequence", "lodkit.softmax(t)": "over each row"},
    "sort argsort sort_values": {
        "lodkit.sequence_sort(t, t, level=-1)": "numbers inside each sequence",
        "np.sort(t.values)": "of all rows",
    },
    "topk nlargest": {"lodkit.sequence_topk(t, k=2)": "of each sequence of numbers"},
    "unique nunique value_counts": {"np.unique(t.values, return_counts=True)": "of all rows"},
    "flip": {"lodkit.sequence_reverse(t)": "each sequence backwards"},
    "clip clamp": {"np.clip(t, low, high)": ""},
    "abs": {"abs(t)": ""},
    "round exp log sqrt tanh": {"np.exp(t)": "and other ufuncs keep the structure; np.rint rounds"},
    "sigmoid relu": {"lodkit.NAME(t)": ""},
    "dot mm matmul": {"lodkit.fc(t, weight)": "each row times a matrix"},
    "pow add mul sub div": {"t * 2 + 1": "operators and ufuncs keep the structure"},
    "apply map transform": {
        "t.with_values(f(t.values))": "row by row",
        "LoDTensor.from_sequences([f(s) for s in t.sequences()])": "sequence by sequence",
    },
    "where mask": {"np.where(t > 1, t, 0)": "element by element", "t[mask]": "sequences by a mask"},
    "isna isnull": {"np.isnan(t)": ""},
    "fillna dropna nan_to_num": {"t.with_values(np.nan_to_num(t.values))": "missing numbers as 0"},
    "T mT transpose swapaxes permute": {"t.to_padded().swapaxes(0, 1)": "time first", "t.values.T": "of all rows"},
    "reshape view flatten ravel squeeze unsqueeze expand resize": {
        "t.with_values(t.values.reshape(len(t.values), -1))": "items of another shape",
        "LoDTensor(t.values, lengths)": "other sequences of the same rows",
        "t.values": "all rows",
    },
    "numpy to_numpy toarray": {
        "t.values": "all rows",
        "t.to_padded()": "one axis a level, padded",
        "t.to_uniform()": "the same, where lengths are equal",
    },
    "to_tensor to_padded_tensor to_dense pad fill_none": {"t.to_padded()": ""},
    "size numel count": {"t.values.size": "numbers", "len(t)": "sequences", "t.shape": "(rows, *item)"},
    "dim ndimension": {"t.ndim": ""},
    "nrows num_rows": {"len(t)": "sequences", "len(t.values)": "rows"},
    "is_cuda": {"t.device": ""},
    "item": {"t.values.item(0)": "one number"},
    "cpu cuda": {"t.to('NAME')": ""},
    "detach": {"lodkit.stop_gradient(t)": "for a tape", "t.with_values(t.values.detach())": "of PyTorch's tensors"},
    "requires_grad requires_grad_": {"lodkit.parameter(t)": "for a tape"},
    "float double half": {"t.astype('float32')": "or float64, float16"},
    "long int bool type": {"t.astype('int64')": "or another type"},
    "clone": {"t.copy()": ""},
    "fill_ zero_ fill": {"t.values[...] = 0": "in place"},
    "explode flatten_rows": {"t.values, t.segment_ids()": "rows, and the sequence of each"},
    "append extend insert": {"lodkit.concat([t, u])": "the sequences of both"},
    "chunk array_split": {"lodkit.split(t, 2)": "", "lodkit.batches(t, size=2)": "mini-batches"},
    "head tail": {"t[:5]": "the first sequences", "t[-5:]": "the last ones"},
    "iloc loc at iat take filter": {"t[0]": "a sequence", "t[[1, 0]]": "sequences by number", "t[mask]": "by a mask"},
    "unbind": {"list(t)": "top-level sequences", "t.sequences()": "innermost ones"},
    "row_splits nested_row_splits": {"t.offsets()": "innermost", "t.lod()": "of all levels"},
    "row_lengths nested_row_lengths": {"t.lengths()": "innermost", "t.recursive_sequence_lengths()": "of all levels"},
    "value_rowids": {"t.segment_ids()": ""},
    "flat_values data": {"t.values": ""},
    "ragged_rank depth nlevels": {"t.lod_level": ""},
    "to_pandas": {"pd.Series(t.to_list())": ""},
    "from_row_splits from_nested_row_splits from_jagged": {"LoDTensor.from_offsets(values, offsets)": "row splits"},
    "from_row_lengths from_nested_row_lengths": {"LoDTensor.from_lengths(values, *lengths)": "row lengths"},
    "from_value_rowids": {"LoDTensor.from_segment_ids(values, segment_ids)": "row ids"},
    "from_row_starts": {"LoDTensor.from_offsets(values, [*starts, len(values)])": ""},
    "from_row_limits": {"LoDTensor.from_offsets(values, [0, *limits])": ""},
    "from_uniform_row_length": {"LoDTensor.from_uniform(values.reshape(-1, length))": ""},
    "from_list from_lists from_iter from_pylist from_array_list": {"LoDTensor.from_nested(lists)": ""},
    "from_numpy from_array": {
        "LoDTensor(values, lengths)": "rows end to end",
        "LoDTensor.from_uniform(array)": "sequences of one length",
    },
    "from_dense from_tensor": {
        "LoDTensor.from_padded(array, lengths[0])": "padded sequences",
        "LoDTensor.from_uniform(array)": "of one length",
    },
    "from_pandas": {"LoDTensor.from_nested(lists)": "a Series of lists, too"},
    "from_packed_sequence": {"LoDTensor.from_torch(packed)": ""},
}

#: Functions of NumPy that are no members -> calls; the others are those of the name in ``LOD_TENSOR``.
FUNCTIONS = {
    "concatenate vstack append": {
        "lodkit.concat([t, u])": "the sequences of both",
        "lodkit.sequence_concat(t, u)": "the i-th with the i-th",
        "t.with_values(lodkit.concat_columns(t.values, u.values))": "side by side, row by row",
    },
    "hstack column_stack": {
        "t.with_values(lodkit.concat_columns(t.values, u.values))": "side by side, row by row",
        "lodkit.concat([t, u])": "the sequences of both",
    },
    "stack dstack": {"lodkit.concat([t, u])": "the sequences of both", "np.stack([t.values, u.values])": "of all rows"},
    "zeros_like ones_like empty_like full_like": {"t.with_values(np.zeros_like(t.values))": "of the same structure"},
    "array_equal array_equiv": {"t.equals(u)": "structure and values"},
    "allclose isclose": {"t.same_lod(u) and np.allclose(t.values, u.values)": "structure and values"},
    "split": {"lodkit.split(t, 2)": "parts of a batch", "np.split(t.values, 3)": "of all rows"},
    "take compress delete extract": {"t[[1, 0]]": "sequences by number", "t[mask]": "by a mask"},
    "tile repeat": {"t[[0, 0, 1, 1]]": "sequences", "lodkit.sequence_expand(t, u)": "as often as another one is long"},
    "bincount histogram digitize": {"np.bincount(t.values)": "of all rows"},
    "isin in1d": {
        "lodkit.sequence_contains(t, tokens=[1])": "of each sequence",
        "t.with_values(np.isin(t.values, [1]))": "of each element",
    },
    "diff gradient ediff1d": {"[np.diff(s) for s in t.sequences()]": "of each sequence"},
    "nonzero flatnonzero argwhere": {"np.flatnonzero(t.values)": "rows", "t.segment_ids()": "the sequence of each row"},
    "einsum tensordot inner": {"lodkit.fc(t, weight)": "each row times a matrix", "t.values": "all rows"},
    "save savez savetxt": {"lodkit.save('t.npz', t)": "and lodkit.load"},
    "searchsorted": {"np.searchsorted(np.sort(t.values), 1)": "of all rows"},
    "roll": {"lodkit.sequence_slice(t, 1)": "each sequence from its second row on"},
}
#: NumPy's other names of functions.
SAME_FUNCTIONS = {
    "amax": "max",
    "amin": "min",
    "average": "mean",
    "nansum": "sum",
    "nanmax": "max",
    "nanmin": "min",
    "expand_dims": "unsqueeze",
    "moveaxis": "transpose",
    "rollaxis": "transpose",
    "percentile": "quantile",
    "nanmedian": "median",
    "partition": "topk",
    "argpartition": "topk",
    "fliplr": "flip",
    "flipud": "flip",
    "lexsort": "argsort",
    "ndim": "dim",
    "vdot": "dot",
    "cumprod": "prod",
    "around": "round",
    "nanstd": "std",
    "nanvar": "var",
    "broadcast_to": "expand",
    "apply_along_axis": "apply",
    "apply_over_axes": "apply",
    "vectorize": "apply",
    "array_str": "tolist",
    "copyto": "fill_",
}
#: What a LoDTensor has, and NumPy calls as a function.
MEMBERS = {"copy": "t.copy()", "shape": "t.shape"}


def write_function(name):
    """Return what does for a LoDTensor what a function of NumPy does for an array, as text."""
    if name in MEMBERS:
        return f"use {MEMBERS[name]}"
    for table, known in ((FUNCTIONS, name), (LOD_TENSOR, SAME_FUNCTIONS.get(name, name))):
        for names, calls in table.items():
            if known in names.split():
                return f"use {write_calls(calls, known)}"
    return "use t.with_values(f(t.values)) (row by row), [f(s) for s in t.sequences()] (one by one), or t.to_padded()"


SELECTED_ROWS = {
    "sum mean max min std var prod any all": {
        "s.value.NAME()": "of the entries, duplicates apart",
        "s.to_dense().NAME()": "of the table",
    },
    "numpy to_numpy toarray todense": {"s.to_dense()": "the table", "s.rows, s.value": "the entries"},
    "tolist to_list": {"s.rows.tolist(), s.value.tolist()": ""},
    "T mT transpose reshape view flatten": {"s.to_dense()": "the table", "s.value": "the entries"},
    "coalesce sum_duplicates": {"s.merge()": "sorted rows, duplicates summed"},
    "is_coalesced has_canonical_format": {"s.is_merged": ""},
    "indices row": {"s.rows": ""},
    "data": {"s.value": ""},
    "dense_shape": {"s.shape": ""},
    "nnz size numel": {"len(s)": "entries", "s.shape": "of the table", "s.value.size": "numbers"},
    "astype float double half": {"SelectedRows(s.rows, s.value.astype('float32'), s.height)": ""},
    "copy clone": {"copy.deepcopy(s)": ""},
    "cpu cuda": {"s.to('NAME')": ""},
    "tocoo tocsr": {"s.to_scipy()": ""},
}

FEATURES = {
    "sum mean max min": {"f.pool(tables, pool='NAME')": "of embeddings", "f.values.values.NAME()": "of all values"},
    "get": {"f.feature(1)": "one feature of all examples"},
    "items columns": {"f.to_list()": "a dictionary per example", "np.unique(f.keys)": "keys"},
    "tolist to_dict": {"f.to_list()": "a dictionary per example"},
    "numpy to_numpy": {"f.values.values": "all values", "f.to_list()": "a dictionary per example"},
    "to_pandas": {"pd.DataFrame(f.to_list())": ""},
    "shape size": {"len(f)": "examples", "f.values.shape": "(values, *item)"},
    "head tail iloc loc": {"f[:5]": "the first examples", "f[[1, 0]]": "examples by number"},
    "astype": {"Features(f.lengths, f.keys, f.values_lengths, f.values.values.astype('float32'))": ""},
    "copy clone": {"copy.deepcopy(f)": ""},
    "append extend": {"lodkit.concat([f, f])": "examples", "f.merge(f)": "features of the same examples"},
    "cpu cuda": {"f.to('NAME')": ""},
}


@suggest(LOD_TENSOR)
class Familiar:
    """Members that mean for LoDTensors what they mean for arrays; other names of arrays raise and say what does it."""

    __slots__ = ()

    @property
    def ndim(self) -> int:
        """Dimensions of ``shape``, ``(rows, *item)``."""
        return len(self.shape)

    def tolist(self) -> list[Any]:
        """Return nested Python lists, as ``to_list`` does."""
        return self.to_list()

    @needs_memory
    def astype(self, dtype: Any) -> Self:
        """Return a tensor of the same structure, its values in another type."""
        from .nesting import cast_values

        return self.with_values(cast_values(track(self._need_values()), dtype))

    @needs_memory
    def copy(self) -> Self:
        """Return a tensor with values of its own; the structure, which is read-only, is shared."""
        values = track(self._whole())
        return self.with_values(values.clone() if is_tensor(values) else copy.deepcopy(values))
