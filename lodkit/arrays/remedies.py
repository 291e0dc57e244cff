"""What converts an array of another library: one table, by the names of types, so that no library is imported."""

from __future__ import annotations

import numbers
import re
from collections.abc import Callable
from typing import Any, Literal, TypeAlias

import numpy as np

from ..base.bfloat16 import is_bfloat16, name_of_dtype
from ..base.errors import DTypeError

Wanted: TypeAlias = Literal["array", "LoDTensor", "SelectedRows"]
WORDS = "vocab({}), with vocab = lodkit.vocabulary({})"
TEXT, TIMES = ("S", "U", "T"), ("m", "M")  # kinds of dtype
NOTHING = "pass a NumPy array, a tensor of PyTorch, a CUDA array or a list of numbers"


def remedy_for(x, name, wanted: Wanted = "array"):
    """Return the conversion of ``x``, which is called ``name``, to what is wanted: ``pass np.asarray(x)``."""
    found = conversion_of(x, wanted)
    if not found and wanted == "LoDTensor" and isinstance(x, list | tuple):
        found = "LoDTensor.from_nested({})"
    return f"pass {found.replace('{}', name)}" if found else NOTHING


def conversion_of(x: Any, wanted: Wanted = "array") -> str | None:
    """Return the conversion of ``x``, with ``{}`` for its name; None if there is none."""
    if type(x).__name__ == "PackedRows":
        return "lodkit.dequantize_rows({}), or call lodkit.quantized_embedding_bag or lodkit.quantized_lookup_table"
    made = _look_up(x, wanted)
    if made is None and isinstance(x, numbers.Number | np.generic):  # nothing makes sequences of it
        return None if wanted == "LoDTensor" else "[{}]"
    made = made or next((call for method, call in PROTOCOLS.items() if hasattr(type(x), method)), None)
    flat = wanted == "LoDTensor" and made and made.startswith(("{}.to_numpy(", "np."))
    return f"LoDTensor({made}, [lengths])" if flat else made


def _look_up(x, wanted):
    """What the table says of the type."""
    for kind in type(x).__mro__:
        library, _, inner = kind.__module__.partition(".")
        found = CONVERSIONS.get(f"{library}.{kind.__name__}") or CONVERSIONS.get(f"{library}.{inner.partition('.')[0]}")
        if found:
            return found if isinstance(found, str) else found(x, wanted)
    return None


def cast_to(dtype, given="x", of=None, which=""):
    """Say how numbers of type ``of`` get another type, so that none changes but by rounding.

    Whatever holds them: lists have no ``astype``, and tensors call it ``to``. ``given`` is their name, ``which`` says
    of several arrays which to convert.
    """
    name, kind = name_of_dtype(np.dtype(dtype)), kind_of_numbers(of)
    given = given if re.fullmatch(r"[\w.\[\]]+", given) else "x"
    if kind == "V":
        if of.names:
            return "pass one field, x['name'], of a LoDTensor x.with_values(x.values['name'])"
        return "pass x.view(dtype), of a LoDTensor x.with_values(x.values.view(dtype)), with the type of the numbers"
    if kind == "c":
        return (
            f"pass np.real({given}).astype(np.{name}), the real parts, or np.abs({given}).astype(np.{name}), "
            "of a LoDTensor x.with_values(np.real(x.values))"
        )
    if kind in TIMES:
        return f"convert {which}with .astype(np.{name}), a list with np.asarray({given}).astype(np.{name})"
    if kind in TEXT:
        return f"convert text of numbers with np.asarray({given}, np.{name})"
    if is_bfloat16(dtype) or (is_bfloat16(of) and np.dtype(dtype).kind == "f"):
        return f"convert {which}with lodkit.cast({given}, dtype={name!r})"
    whole = "whole numbers " if kind == "f" and np.dtype(dtype).kind in "iu" else ""
    cast = (
        f"convert {which}{whole}with .astype(np.{name}), a tensor with .to(torch.{name}), "
        f"a list with np.asarray({given}, np.{name})"
    )
    if kind in ("i", "u") and np.dtype(dtype).kind == "i" and not _fits(of, dtype):
        return f"{cast}, if all are below 2**{8 * np.dtype(dtype).itemsize - 1}"
    return cast


def kind_of_numbers(dtype):
    """The kind of a type; of those of ml_dtypes, whose kinds are others, "f" or "i"; an empty text of no type."""
    if getattr(dtype, "kind", "") != "V" or dtype.type is np.void:
        return "f" if is_bfloat16(dtype) else getattr(dtype, "kind", "")
    return "i" if "int" in dtype.name else "f"


def _is_uint64(dtype):
    return getattr(dtype, "kind", "") == "u" and dtype.itemsize == 8


def mixed_types(what, of, other, wanted):
    """Return the error for ``what``, numbers of type ``of``, beside those of another array, which are ``wanted``."""
    return DTypeError(f"{what} is {of}, {other} {wanted}; {_match_types(of, wanted)}")


def _match_types(of, wanted):
    """Say how an array of type ``of`` and one of type ``wanted`` get one type that holds the numbers of both."""
    kinds = kind_of_numbers(of), kind_of_numbers(wanted)
    if kinds[1] not in ("", *"biuf", *TIMES):
        return f"of the {wanted}: {cast_to(np.float64, of=wanted)}"
    if kinds[0] in TIMES and kinds[1] in TIMES:
        return _match_units(of, wanted)
    common = _common_type(of, wanted)
    if common == wanted:
        return cast_to(common, of=of)
    if common == of:
        return cast_to(common, of=wanted, which=f"the {wanted} array ")
    # What is said of one type, as that numbers must be below 2**63, holds for both.
    return cast_to(common, of=of if _is_uint64(of) else wanted if _is_uint64(wanted) else None, which="both ")


def _match_units(of, wanted):
    """Say how times of two units get the finer one, which holds both."""
    try:
        common = np.promote_types(of, wanted) if of.kind == wanted.kind else None
    except TypeError:
        # Years and months have no number of days.
        common = None
    if common is None:
        return "no type of times holds both; pass numbers in one unit, as .astype(np.int64) gives them"
    which = "" if common == wanted else f"the {wanted} array " if common == of else "both "
    return f'convert {which}with .astype("{common}"), if 64 bits hold all in that unit'


def _common_type(of, wanted):
    """The type that holds numbers of both, ``wanted`` where that rounds at most."""
    kinds = kind_of_numbers(of) or "f", kind_of_numbers(wanted) or "f"
    if any(kind in TIMES for kind in kinds):
        return np.dtype(np.float64 if "f" in kinds else np.int64)
    if kinds[1] == "f" and np.dtype(wanted).itemsize <= 8:
        return wanted
    if "u" in kinds and set(kinds) <= {"b", "u"}:
        return np.promote_types(of, wanted)
    if kinds[0] in "biu" and kinds[1] in "biu":
        safe = kinds[1] == "i" and np.dtype(wanted).itemsize >= 4 and _fits(of, wanted)
        return wanted if safe else np.dtype(np.int64)
    if kinds[0] == "f" or kinds[1] != "i":
        return np.dtype(np.float64)
    return wanted  # text, objects, complex numbers


def _fits(of, wanted):
    """Whether a type of integers holds all numbers of another one, which ml_dtypes may have in few bits."""
    return of.kind == "V" or np.can_cast(of, wanted)


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
