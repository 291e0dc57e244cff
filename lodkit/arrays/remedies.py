"""What converts an array of another library: one table, by the names of types, so that no library is imported."""

from __future__ import annotations

import numbers
from collections.abc import Callable
from typing import Any, Literal, TypeAlias

import numpy as np

Wanted: TypeAlias = Literal["array", "LoDTensor", "SelectedRows"]
WORDS = "vocab({}), with vocab = lodkit.vocabulary({})"
NOTHING = "pass a NumPy array, a tensor of PyTorch, a CUDA array or a list of numbers"


def remedy_for(x, name, wanted: Wanted = "array"):
    """Return the conversion of ``x``, which is called ``name``, to what is wanted: ``pass np.asarray(x)``."""
    found = conversion_of(x, wanted)
    if not found and wanted == "LoDTensor" and isinstance(x, list | tuple):
        found = "LoDTensor.from_nested({})"
    return f"pass {found.replace('{}', name)}" if found else NOTHING


def conversion_of(x: Any, wanted: Wanted = "array") -> str | None:
    """Return the conversion of ``x``, with ``{}`` for its name; None if there is none."""
    made = _listed(x, wanted)
    if made is None and isinstance(x, numbers.Number | np.generic):  # nothing makes sequences of it
        return None if wanted == "LoDTensor" else "[{}]"
    made = made or next((call for method, call in PROTOCOLS.items() if hasattr(type(x), method)), None)
    flat = wanted == "LoDTensor" and made and made.startswith(("{}.to_numpy(", "np."))
    return f"LoDTensor({made}, [lengths])" if flat else made


def _listed(x, wanted):
    """What the table says of the type."""
    for kind in type(x).__mro__:
        library, _, inner = kind.__module__.partition(".")
        found = CONVERSIONS.get(f"{library}.{kind.__name__}") or CONVERSIONS.get(f"{library}.{inner.partition('.')[0]}")
        if found:
            return found if isinstance(found, str) else found(x, wanted)
    return None


def cast_to(dtype, given="x"):
    """How numbers get another type, whatever holds them: lists have no ``astype``, and tensors call it ``to``."""
    if np.dtype(dtype).kind not in "biuf":
        return "give all the same type of numbers"
    name = np.dtype(dtype).name
    return (
        f"convert with .astype(np.{name}), a tensor with .to(torch.{name}), a list with np.asarray({given}, np.{name})"
    )


def _text(x, wanted):
    return WORDS.replace("{}", "[{}.split()]" if wanted == "LoDTensor" else "{}.split()")


def _awkward(x, wanted):
    return "np.asarray({})" if x.ndim == 1 else "LoDTensor.from_awkward({})"


def _arrow(x, wanted):
    if "list" in str(x.type):
        return "LoDTensor.from_arrow({})"
    if "string" in str(x.type):
        return WORDS
    return "{}.to_numpy()" if hasattr(x, "num_chunks") else "{}.to_numpy(zero_copy_only=False)"


def _pandas(x, wanted):
    if str(x.dtype).startswith(("list", "large_list")):  # of Arrow
        return "LoDTensor.from_arrow({})"
    if str(x.dtype) in ("str", "string", "category"):
        return WORDS
    return "LoDTensor.from_nested({}.tolist())" if x.dtype == object else "{}.to_numpy()"


def _polars(x, wanted):
    if str(x.dtype) in ("String", "Categorical", "Enum"):
        return WORDS
    return "LoDTensor.from_arrow({})" if x.dtype.is_nested() else "{}.to_numpy()"


def _frame(x, wanted):
    plain = all(str(dtype).lower().startswith(("int", "uint", "float", "bool")) for dtype in x.dtypes)
    return "{}.to_numpy()" if plain else "each of its columns by itself, as {}[name]"


def _scipy(x, wanted):
    if wanted == "LoDTensor":
        return "the ids or the scores of LoDTensor.from_scipy({})"
    return "SelectedRows.from_scipy({})" if wanted == "SelectedRows" else "{}.toarray()"


#: Library and type, or library and package, -> the conversion, or a function of the value that chooses one.
CONVERSIONS: dict[str, str | Callable[[Any, Wanted], str]] = {
    "jax.Array": "np.asarray({})",
    "jaxlib.ArrayImpl": "np.asarray({})",
    "tensorflow.EagerTensor": "{}.numpy()",
    "tensorflow.RaggedTensor": "LoDTensor.from_torch({})",
    "torchrec.JaggedTensor": "LoDTensor.from_torch({})",
    "awkward.Array": _awkward,
    "pandas.Series": _pandas,
    "pandas.Index": "{}.to_numpy()",
    "pandas.DataFrame": _frame,
    "polars.Series": _polars,
    "polars.DataFrame": _frame,
    "pyarrow.Array": _arrow,
    "pyarrow.ChunkedArray": _arrow,
    "scipy.sparse": _scipy,
    "xarray.DataArray": "{}.to_numpy()",
    "dask.Array": "{}.compute()",
    "lodkit.LoDTensor": "{}.values",
    "lodkit.SelectedRows": "{}.to_dense()",
    "builtins.dict": "each of its values by itself",
    "builtins.dict_keys": "list({})",
    "builtins.dict_values": "list({})",
    "builtins.set": "sorted({})",
    "builtins.frozenset": "sorted({})",
    "builtins.generator": "list({})",
    "builtins.range": "list({})",
    "builtins.str": _text,
    "builtins.bytes": "np.frombuffer({}, np.uint8)",
    "builtins.bytearray": "np.frombuffer({}, np.uint8)",
    "builtins.memoryview": "np.asarray({})",
    "collections.deque": "list({})",
    "array.array": "np.asarray({})",
}

#: Protocol -> the conversion of whatever has it. The first one counts.
PROTOCOLS = {
    "__arrow_c_stream__": "LoDTensor.from_arrow({})",
    "__arrow_c_array__": "LoDTensor.from_arrow({})",
    "__array__": "np.asarray({})",
    "__dlpack__": "np.from_dlpack({})",
    "__array_interface__": "np.asarray({})",
    "__next__": "list({})",
}
