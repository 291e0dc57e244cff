"""A checkpoint as one process reads it: by rows, memory-mapped, whatever the number of ranks that saved it."""

from __future__ import annotations

import json
import math
import os
import pathlib
import stat
import zlib
from typing import Any

import numpy as np

from ..arrays import empty
from ..arrays.ids import checked_ids
from ..arrays.types import Array, DenseLike
from ..base.errors import ShapeMismatchError, cut_message
from ..base.files import open_regular
from ..base.loading import public
from ..base.tracebacks import surface
from ..models.storage import StorageError, load
from ..models.storage.npz import header, read_header
from .checkpoint_files import (
    EXTRA,
    FORMAT,
    MANIFEST,
    CheckpointError,
    as_path,
    crc32,
    is_sound,
    newest,
    number_of,
    whole_checkpoints,
)


@public(home="lodkit.distributed")
class Checkpoint:
    """A checkpoint of sharded tables on disk.

    Opening it reads the manifest, and looks whether each file is there and as long as it was; ``verify`` reads the
    files and compares their checksums.

    Parameters
    ----------
    directory : str or path-like
        What was given to ``save``: its newest whole checkpoint is taken; or one of the checkpoints in it.
    look : bool
        Whether to look at each file. Of many processes that open a checkpoint together, one is enough.

    Attributes
    ----------
    path : pathlib.Path
        The checkpoint.
    tables : dict
        Name -> height, width, dtype, rule, attrs and iteration of each table. ``ShardedTable.save`` calls it ``table``.
    arrays : dict
        Name -> shape and dtype of each array: ``table.values``, and a state of a rule, ``table.moment``.

    Raises
    ------
    NoCheckpointError
        No checkpoint was saved to the end.
    CheckpointError
        The newest is damaged: the message says which file, and which checkpoint is left.

    Examples
    --------
    >>> import tempfile
    >>> directory = tempfile.mkdtemp()
    >>> Checkpoint(directory)
    Traceback (most recent call last):
        ...
    lodkit.distributed.NoCheckpointError: ...: no checkpoint in the directory; pass the directory of save
    """

    def __init__(self, directory: str | os.PathLike[str], look: bool = True) -> None:
        self.path = newest(pathlib.Path(as_path(directory)))
        content = self._manifest()
        self.tables: dict[str, dict[str, Any]] = content["tables"]
        self.arrays: dict[str, dict[str, Any]] = content["arrays"]
        self._files: dict[str, list[dict[str, Any]]] = {name: [] for name in self.arrays}
        self._records = content["files"]
        for record in self._records:
            self._check_rows(record)
            if look:
                self._check_size(record)
            if record["array"] is not None:
                self._files[record["array"]].append(record)
        for name, array in self.arrays.items():
            self._files[name].sort(key=lambda record: record["first"])
            self._check_cover(name, array["shape"][0])

    def __repr__(self):
        size = sum(record["bytes"] for record in self._records)
        return f"<Checkpoint {self.path}: {', '.join(self.arrays)}; {len(self._records)} files, {size} bytes>"

    @surface
    def verify(self, part: int = 0, parts: int = 1) -> None:
        """Compare the checksums of the files.

        Parameters
        ----------
        part, parts : int
            Of so many parts of about the same size, look at this one alone: each rank takes one.

        Raises
        ------
        CheckpointError
            A file's content is not what was saved.
        """
        sizes = [0] * parts
        for record in sorted(self._records, key=lambda record: -record["bytes"]):
            least = sizes.index(min(sizes))
            sizes[least] += record["bytes"]
            if least == part and (found := self._crc32(record["name"])) != record["crc32"]:
                raise self._damage_error(record["name"], f"its checksum is {found:08x}, not {record['crc32']:08x}")

    @surface
    def rows(self, name: str, start: int = 0, stop: int | None = None) -> Array:
        """Return some rows of an array, in new memory.

        Parameters
        ----------
        name : str
            ``table.values``, or another key of ``arrays``.
        start, stop : int, optional
            A range of rows, all by default.

        Returns
        -------
        array of shape (stop - start, *item)
        """
        shape, dtype = self._like(name)
        start, stop, _ = slice(start, stop).indices(shape[0])
        made, filled = empty((max(stop - start, 0), *shape[1:]), dtype), 0
        for first, last, record in self._overlapping_parts(name, start, stop):
            made[first - start : last - start] = self._map_rows(record)[
                first - record["first"] : last - record["first"]
            ]
            filled += last - first
        return self._whole_array(name, made, filled)

    @surface
    def pick(self, name: str, ids: DenseLike) -> Array:
        """Return the row of each id, in new memory; files without any of the ids are not read.

        Parameters
        ----------
        name : str
            As in ``rows``.
        ids : array of int32 or int64, or list
            In any order; they may repeat.

        Returns
        -------
        array of shape (len(ids), *item)

        Raises
        ------
        RowIndexError
            An id is negative or not below the number of rows.
        """
        shape, dtype = self._like(name)
        chosen: Array = checked_ids(ids, shape[0])
        if chosen.ndim != 1:
            raise ShapeMismatchError(f"ids must be one-dimensional, got shape {chosen.shape}; pass ids.reshape(-1)")
        order = np.argsort(chosen, kind="stable")
        ordered, made, filled = chosen[order], empty((len(chosen), *shape[1:]), dtype), 0
        for first, last, record in self._overlapping_parts(name, 0, shape[0]):
            low, high = np.searchsorted(ordered, (first, last))
            if low < high:
                made[order[low:high]] = self._map_rows(record)[ordered[low:high] - first]
                filled += int(high - low)
        return self._whole_array(name, made, filled)

    @surface
    def table(self, name: str = "table") -> tuple[Array, dict[str, Array]]:
        """Return the values of a table and its states by name, whole, in the memory of this process.

        They are what one process trains with: ``lodkit.adagrad(values, grad, states["moment"], lr=0.1)``.
        """
        if name not in self.tables:
            raise KeyError(cut_message(f"{self.path} has no table {name!r}, but {', '.join(self.tables)}"))
        prefix = f"{name}."
        found = {key.removeprefix(prefix): self.rows(key) for key in self.arrays if key.startswith(prefix)}
        return found.pop("values"), found

    @surface
    def extra(self) -> Any:
        """Return what was given to ``save`` as ``extra``, None if nothing was."""
        if not any(record["name"] == EXTRA for record in self._records):
            return None
        try:
            return load(self.path / EXTRA)
        except StorageError as error:
            raise self._damage_error(EXTRA, error) from None
        except OSError as error:
            raise self._read_error(EXTRA, error) from None

    def _like(self, name):
        """Shape of an array, and its type on this machine."""
        if name not in self.arrays:
            raise KeyError(cut_message(f"{self.path} has no array {name!r}, but {', '.join(self.arrays)}"))
        return self.arrays[name]["shape"], np.dtype(self.arrays[name]["dtype"]).newbyteorder("=")

    def _whole_array(self, name, made, filled):
        """An array whose rows have all been filled; ``arrays`` may have been changed since the files were checked."""
        if filled != len(made):
            raise CheckpointError(
                f"{self.path}: the files have {filled} of {len(made)} rows of {name}; arrays were changed since it was "
                "opened: open it again"
            )
        return made

    def _overlapping_parts(self, name, start, stop):
        """First row, last and the record of the parts of files that lie in a range of rows."""
        for record in self._files[name]:
            first, last = max(start, record["first"]), min(stop, record["first"] + record["rows"])
            if first < last:
                yield first, last, record

    def _map_rows(self, record):
        """The rows of a file, which is open while they are held: there may be more files than descriptors."""
        name, array = record["name"], self.arrays[record["array"]]
        shape, dtype = (record["rows"], *array["shape"][1:]), np.dtype(array["dtype"])
        # Takes 8 us, NumPy's parser 54.
        written = header(dtype, shape)
        try:
            # Opened once; np.load opens it three times.
            with open_regular(self.path / name) as file:
                # Another NumPy may have padded the header otherwise.
                if file.read(len(written)) != written:
                    file.seek(0)
                    found = read_header(file)
                    if found != (shape, False, dtype):
                        raise ValueError(f"it has {found[0]} {found[2].str}, not {shape} {dtype.str}")
                return np.memmap(file, dtype, "r", file.tell(), shape)
        except OSError as error:
            raise self._read_error(name, error) from None
        except ValueError as error:
            raise self._damage_error(name, error) from None

    def _crc32(self, file):
        try:
            return crc32(self.path / file)
        except OSError as error:
            raise self._read_error(file, error) from None

    def _manifest(self):
        """The content of the manifest, of the right format, undamaged."""
        try:
            with open_regular(self.path / MANIFEST) as file:
                outer = json.loads(file.read())
            content = outer["manifest"]
            intact = outer["crc32"] == zlib.crc32(json.dumps(content, sort_keys=True, allow_nan=False).encode())
        except OSError as error:
            raise self._read_error(MANIFEST, error) from None
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            raise self._damage_error(MANIFEST, error) from None
        if not intact:
            raise self._damage_error(MANIFEST, "its checksum is another one")
        if not isinstance(content, dict):
            raise self._damage_error(MANIFEST, "it is not what save writes")
        if content.get("format") != FORMAT:
            raise CheckpointError(
                f"{self.path / MANIFEST}: is of format {content.get('format')!r}, this version of lodkit reads {FORMAT}"
            )
        if not is_sound(content):
            raise self._damage_error(MANIFEST, "it is not what save writes")
        return content

    def _check_size(self, record):
        try:
            found = (self.path / record["name"]).stat()
        except OSError as error:
            raise self._read_error(record["name"], error) from None
        if not stat.S_ISREG(found.st_mode):
            raise self._damage_error(record["name"], "it is no regular file")
        if found.st_size != record["bytes"]:
            raise self._damage_error(record["name"], f"it has {found.st_size} bytes, not {record['bytes']}")

    def _check_rows(self, record):
        if record["array"] is not None:
            array = self.arrays[record["array"]]
            if record["rows"] * math.prod(array["shape"][1:]) * np.dtype(array["dtype"]).itemsize > record["bytes"]:
                raise self._damage_error(MANIFEST, f"{record['name']} is too short for {record['rows']} rows")

    def _check_cover(self, name, height):
        following = 0
        for record in self._files[name]:
            if record["first"] != following:
                break
            following += record["rows"]
        if following != height:
            raise self._damage_error(MANIFEST, f"it has no file of {name} from row {following} on, of {height}")

    def _read_error(self, file, error):
        """The error of a file that cannot be read, though what is in it may be right."""
        if not (self.path / MANIFEST).exists():  # which goes first
            return CheckpointError(
                f"{self.path}: the checkpoint was removed while it was read, as others were saved; "
                f"open {self.path.parent} again, or save with a larger keep"
            )
        if isinstance(error, FileNotFoundError):
            return self._damage_error(file, error.strerror)
        return CheckpointError(f"{self.path / file}: cannot be read ({error.strerror or error})")

    def _damage_error(self, file, why):
        number = number_of(self.path)
        earlier = [
            path for path in whole_checkpoints(self.path.parent) if number is not None and number_of(path) < number
        ]
        remedy = f"use an earlier checkpoint: {earlier[-1]}" if earlier else "there is no earlier checkpoint"
        return CheckpointError(f"{self.path / file}: the checkpoint is damaged ({why}); {remedy}")
