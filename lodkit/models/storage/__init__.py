"""``save`` and ``load``: arrays, LoDTensors, SelectedRows, Features and nested dictionaries of them in one file.

The arrays are those of a NumPy archive (.npz) or a safetensors file, named by their keys: ``table/moment``. A text in
JSON holds the rest: structure, numbers, strings and lists. Other programs read the arrays without it.
"""

from __future__ import annotations

import json
import os
from typing import Any

from ...base.files import open_regular, replacing
from ...base.progress import show_progress
from ...base.tracebacks import surface
from . import npz, safetensors
from .packing import pack, unpack
from .reading import Source
from .reading import StorageError as StorageError

META = "__lodkit__"
_FORMATS = {".npz": npz, ".safetensors": safetensors}


@surface
def save(path: str | os.PathLike[str], values: Any) -> None:
    """Save a value, or nested dictionaries of values, to one file; a crash leaves the old file or the new one, whole.

    Parameters
    ----------
    path : str or path-like
        Ends in ``.npz`` or ``.safetensors``. Neither format needs a library.
    values : dict or other value
        LoDTensors, SelectedRows, Features, vocabularies, arrays of any device, tensors of PyTorch, numbers, strings,
        None, lists (tuples become lists), and dictionaries of them by strings: the ``state_dict()`` of an optimizer.

    Raises
    ------
    TypeError, DTypeError
        A value cannot be saved; the message names it by its keys. The old file stays.
    ValueError
        A key cannot be in the file: it is too long for an .npz, no text, or one that the file keeps.
    SizeError
        An array that is not contiguous, of a size whose copy no memory holds.

    Notes
    -----
    Arrays are called by their keys, joined by ``/``. A LoDTensor ``batch`` has ``batch/values`` and the offsets
    ``batch/lod0``, ``batch/lod1`` ..., outermost first. SelectedRows have ``grad/rows`` and ``grad/value``. Features
    have ``x/lengths``, ``x/keys``, ``x/values_lengths``, ``x/values`` and ``x/map_keys``. A value that is not in a
    dictionary has the same names without a key: ``values``, ``lod0``. Tensors are saved as arrays, without their
    gradients. A .safetensors file holds bfloat16, also of arrays of ml_dtypes; an .npz file holds it as float32. A
    .safetensors file holds arrays of ml_dtypes in float8_e4m3fn and float8_e5m2; an .npz file has no such type.

    Examples
    --------
    >>> import os, tempfile, lodkit
    >>> file = os.path.join(tempfile.mkdtemp(), "state.safetensors")
    >>> lodkit.save(file, {"epoch": 3, "batch": lodkit.LoDTensor([1, 2, 3], [[2, 1]])})
    >>> lodkit.load(file)["batch"]
    LoDTensor([[1, 2], [3]], recursive_sequence_lengths=[[2, 1]], shape=(3,), dtype=int64)
    """
    form = _format(path)
    arrays: dict[str, Any] = {}
    try:
        meta = json.dumps(pack("", values, arrays))
    except RecursionError:
        raise ValueError("save: lists or dictionaries are nested too deep; does one contain itself?") from None
    if META in arrays:
        raise ValueError(f"{META!r} is no key of the outermost dictionary: the file keeps it; rename it")
    form.check(arrays)
    total = sum(getattr(array, "bits", array).nbytes for array in arrays.values())
    with replacing(path) as file, show_progress("lodkit.save", total, "B") as advance:
        form.write(file, arrays, META, meta, advance)


@surface
def load(path: str | os.PathLike[str], *, mmap: bool = False) -> Any:
    """Load what ``save`` wrote. Load a file by another program as a dictionary of its arrays.

    Arrays come back as NumPy arrays: bfloat16 as ml_dtypes.bfloat16, or without that package as float32, exactly.
    Arrays in float8 need that package.
    Nothing is unpickled, and no memory is allocated for sizes that the file declares but does not have. Compressed
    arrays that would take more than 256 MiB, and 100 times the size of the file, raise.

    Parameters
    ----------
    path : str or path-like
    mmap : bool
        Map the file instead of reading it: arrays are read-only, and their pages are read when they are touched.
        Offsets of LoDTensors and rows of SelectedRows are read and checked nevertheless; compressed arrays and bfloat16
        are read. Checksums of an .npz are not compared. ``save`` may replace the file meanwhile; others must not cut it
        short, which would end the process at the next read.

    Raises
    ------
    StorageError
        The file is damaged; the message names it.
    OSError
        The file cannot be opened, or is no regular file.

    Examples
    --------
    >>> import os, tempfile, lodkit
    >>> file = os.path.join(tempfile.mkdtemp(), "table.npz")
    >>> lodkit.save(file, lodkit.SelectedRows([7, 3], [[1.0, 2.0], [3.0, 4.0]], 10))
    >>> lodkit.load(file, mmap=True)
    SelectedRows(rows=[7, 3], value=[[1., 2.], [3., 4.]], height=10)
    """
    form = _format(path)
    with open_regular(path) as file, show_progress("lodkit.load", os.fstat(file.fileno()).st_size, "B") as advance:
        try:
            arrays, meta = form.read(Source(file, mmap, advance), META)
            return arrays if meta is None else unpack(json.loads(meta), arrays)
        except (MemoryError, ImportError):
            raise
        except Exception as error:  # of NumPy, zipfile, zlib, json: what a damaged file makes them do
            raise StorageError(f"{os.fspath(path)}: cannot be read ({error})") from None


def _format(path):
    """Module that reads and writes a path's suffix."""
    if not isinstance(path, str | os.PathLike):
        raise TypeError(f"path must be a string or a path-like object, got {path!r:.80}")
    if "\0" in os.fsdecode(path):
        raise ValueError(f"path must have no null characters, got {os.fspath(path)!r}")
    suffix = os.path.splitext(os.fspath(path))[1]
    if suffix not in _FORMATS:
        raise ValueError(f"{os.fspath(path)!r} must end in {' or '.join(_FORMATS)}")
    return _FORMATS[suffix]
