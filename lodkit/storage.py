"""``save`` and ``load``: nested dictionaries of arrays, LoDTensors and SelectedRows in one file.

The arrays are those of a NumPy archive (.npz) or a safetensors file, named by their keys: ``table/moment``. A text in
JSON holds the rest: structure, numbers, strings and lists. Other programs read the arrays without it.
"""

from __future__ import annotations

import json
import os
from typing import Any

import numpy as np

from .arrays import is_array, to_device
from .errors import LodkitError
from .files import replacing
from .lod import LoDTensor, SelectedRows
from .public import public

META = "__lodkit__"


@public
class StorageError(LodkitError, ValueError):
    """The file cannot be read: it is damaged, or was not written by ``lodkit.save``."""


def save(path: str | os.PathLike[str], values: dict[str, Any]) -> None:
    """Save nested dictionaries; an interrupt leaves the old file or the new one.

    Parameters
    ----------
    path : str or path-like
        Ends in ``.npz``, or in ``.safetensors`` (where safetensors is installed).
    values : dict
        By strings: arrays of any device, LoDTensors, SelectedRows, numbers, strings, None, dictionaries, lists (tuples
        become lists).

    Examples
    --------
    >>> import os, tempfile, lodkit
    >>> file = os.path.join(tempfile.mkdtemp(), "state.npz")
    >>> lodkit.save(file, {"epoch": 3, "batch": lodkit.LoDTensor([1, 2, 3], [[2, 1]])})
    >>> lodkit.load(file)["batch"]
    LoDTensor([[1, 2], [3]], recursive_sequence_lengths=[[2, 1]], shape=(3,), dtype=int64)
    """
    write = _format(path)[0]
    if not isinstance(values, dict):
        raise TypeError(f"save takes a dictionary, got {type(values).__name__}; pass {{'name': value}}")
    arrays = {}
    meta = json.dumps(_packed("", values, arrays))
    with replacing(path) as draft:
        write(draft, arrays, meta)


def load(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Load what ``save`` wrote; arrays come back as NumPy's. An .npz of arrays alone gives those.

    Raises
    ------
    StorageError
        The file is damaged.
    """
    read = _format(path)[1]
    try:
        arrays, meta = read(os.fspath(path))
        return arrays if meta is None else _unpacked(json.loads(meta), arrays)
    except (FileNotFoundError, ImportError, MemoryError):
        raise
    except Exception as error:  # of NumPy, zipfile, zlib, json, safetensors: what a damaged file makes them do
        raise StorageError(f"{os.fspath(path)}: cannot be read ({error})") from None


def _packed(name, value, arrays):
    """A value as JSON, in which arrays stand by their names."""
    if isinstance(value, dict):
        for key in value:
            if not isinstance(key, str) or not key or "/" in key or "\0" in key or key.endswith(".npy"):
                raise TypeError(f"{name or 'values'}: keys are strings without '/', NUL and '.npy', got {key!r}")
            if not name and key in ("file", "allow_pickle"):
                raise ValueError(f"{key!r} is no key of the outermost dictionary: NumPy keeps it; rename it")
        inside = {key: _packed(f"{name}/{key}" if name else key, item, arrays) for key, item in value.items()}
        return {"dict": inside}
    if isinstance(value, list | tuple):
        return [_packed(f"{name}/{i}", item, arrays) for i, item in enumerate(value)]
    if isinstance(value, LoDTensor):
        values = None if value.values is None else _packed(f"{name}/values", value.values, arrays)
        lod = [_packed(f"{name}/lod{i}", value.offsets(i), arrays) for i in range(value.lod_level)]
        return {"lod_tensor": values, "lod": lod}
    if isinstance(value, SelectedRows):
        rows, numbers = _packed(f"{name}/rows", value.rows, arrays), _packed(f"{name}/value", value.value, arrays)
        return {"selected_rows": rows, "value": numbers, "height": value.height}
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.generic):
        return value.item()
    if not is_array(value):
        raise TypeError(f"{name}: save takes no {type(value).__name__}; pass arrays, numbers, strings, lists or dicts")
    if isinstance(value, np.ma.MaskedArray):
        raise TypeError(f"{name} is a masked array, whose mask no file keeps; pass {name}.filled(...)")
    array = np.asarray(to_device(value, "cpu"))
    if array.dtype.kind not in "fiub":
        raise TypeError(f"{name}: save takes arrays of numbers or booleans, not {array.dtype}")
    if name in arrays or name == META:
        raise ValueError(f"two values are called {name!r}; rename one")
    arrays[name] = array
    return {"array": name}


def _unpacked(value, arrays):
    if isinstance(value, list):
        return [_unpacked(item, arrays) for item in value]
    if not isinstance(value, dict):
        return value
    if "dict" in value:
        return {key: _unpacked(item, arrays) for key, item in value["dict"].items()}
    if "array" in value:
        return arrays[value["array"]]
    if "lod_tensor" in value:
        lod = [_unpacked(offsets, arrays) for offsets in value["lod"]]
        return LoDTensor(_unpacked(value["lod_tensor"], arrays), lod=lod)
    rows, numbers = _unpacked(value["selected_rows"], arrays), _unpacked(value["value"], arrays)
    return SelectedRows(rows, numbers, value["height"])


def _format(path):
    """Writer and reader of a path's suffix."""
    suffix = os.path.splitext(os.fspath(path))[1]
    if suffix not in _FORMATS:
        raise ValueError(f"{os.fspath(path)!r} must end in {' or '.join(_FORMATS)}")
    return _FORMATS[suffix]


def _write_npz(path, arrays, meta):
    with open(path, "wb") as file:
        np.savez(file, allow_pickle=False, **{META: np.array(meta)}, **arrays)


def _read_npz(path):
    with open(path, "rb") as file, np.load(file, allow_pickle=False) as archive:
        arrays = dict(archive)
    meta = arrays.pop(META, None)
    return arrays, None if meta is None else str(meta)


def _safetensors():
    try:
        import safetensors.numpy
    except ImportError as error:
        raise ImportError('.safetensors files need safetensors: pip install "lodkit[safetensors]"') from error
    return safetensors


def _write_safetensors(path, arrays, meta):
    _safetensors().numpy.save_file({name: np.array(a, order="C") for name, a in arrays.items()}, path, {META: meta})


def _read_safetensors(path):
    with _safetensors().safe_open(path, "np") as file:
        return {name: file.get_tensor(name) for name in file.keys()}, (file.metadata() or {}).get(META)  # noqa: SIM118


_FORMATS = {".npz": (_write_npz, _read_npz), ".safetensors": (_write_safetensors, _read_safetensors)}
