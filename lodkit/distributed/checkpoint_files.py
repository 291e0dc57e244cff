"""What a checkpoint is on disk: a directory of .npy files by row ranges, and a manifest that is renamed last.

    checkpoints/checkpoint-00000007/values-000000000000.npy     rows from 0 on
                                    values-000000500000.npy     rows from 500000 on
                                    moment-000000000000.npy ...
                                    manifest.json               sizes and checksums; without it nothing else counts

Checkpoints are numbered in the order in which they were saved, whatever iteration they hold: none is ever overwritten.
Checksums are those of zlib.crc32, as in a zip archive: they find damage, at 2 to 3 times the speed of hashlib's
cryptographic hashes, and nobody is kept from forging a manifest anyway.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import pathlib
import re
import zlib

import numpy as np

from ..base.files import open_regular, replacing, sync_folder
from ..base.loading import public
from ..models.storage import StorageError
from ..models.storage.npz import header
from ..models.storage.reading import MOST_DIMENSIONS

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

FORMAT = 1
MANIFEST = "manifest.json"
FOLDER = re.compile(r"checkpoint-(\d{8,18})")
MAX_NAME_CHARACTERS = 81
# Files begin with the name of an array, of its table and its state together.
NAME = re.compile(rf"\w[\w.-]{{0,{MAX_NAME_CHARACTERS - 1}}}")
SHARD = re.compile(r"\w[\w.-]*-\d{12,18}\.npy")
EXTRA = "extra.safetensors"
PIECE = 1 << 20  # bytes read at a time for a checksum


@public(home="lodkit.distributed")
class CheckpointError(StorageError):
    """A checkpoint is damaged, or could not be saved; the message names the file and the rank."""


@public(home="lodkit.distributed")
class NoCheckpointError(CheckpointError):
    """No checkpoint was saved to the end in the directory: a run starts anew. A damaged one is a CheckpointError."""


def folder_name(number):
    return f"checkpoint-{number:08d}"


def as_path(directory):
    """A directory's path, as text."""
    try:
        return os.fspath(directory)
    except TypeError:
        raise TypeError(f"directory must be a path, got {type(directory).__name__}") from None


def shard_name(array, first):
    """Name of the file of an array's rows from ``first`` on; 12 digits sort as text."""
    return f"{array}-{first:012d}.npy"


def numbered_checkpoints(directory):
    """(number, path) of the checkpoints in a directory, whole or not, oldest first."""
    try:
        names = os.listdir(directory)
    except FileNotFoundError:
        return []
    found = ((number_of(name), pathlib.Path(directory, name)) for name in names)
    return sorted((number, path) for number, path in found if number is not None)


def number_of(path):
    """The number of a checkpoint by its path, None where it has another name."""
    match = FOLDER.fullmatch(os.path.basename(path))
    return int(match[1]) if match else None


def whole_checkpoints(directory):
    """Paths of the checkpoints in a directory that were saved to the end, oldest first."""
    return [path for _, path in numbered_checkpoints(directory) if (path / MANIFEST).is_file()]


def newest(directory):
    """The directory itself if it is a checkpoint, else its newest one."""
    if (directory / MANIFEST).is_file():
        return directory
    if found := whole_checkpoints(directory):
        return found[-1]
    if drafts := [path.name for _, path in numbered_checkpoints(directory)]:
        why = f"{', '.join(drafts)} was never finished (no {MANIFEST}): the job ended while it saved; start anew"
    elif not directory.exists():
        why = "there is no such directory; give the directory that was given to save"
    elif directory.name.startswith("checkpoint-"):
        why = f"the save was never finished (no {MANIFEST}); give {directory.parent}, of which the newest is taken"
    else:
        why = "no checkpoint in the directory; pass the directory of save"
    raise NoCheckpointError(f"{directory}: {why}")


@contextlib.contextmanager
def saving_alone(directory):
    """Hold the lock of a directory, so that no other job removes what this one writes; refuse a checkpoint."""
    # A checkpoint inside another one would never be found.
    if os.path.exists(os.path.join(directory, MANIFEST)):
        parent = os.path.dirname(os.path.abspath(directory))
        raise CheckpointError(f"{directory}: is a checkpoint itself; load it, and save in {parent}")
    if not os.path.isdir(directory):
        os.makedirs(directory)
        sync_folder(os.path.dirname(os.path.abspath(directory)))
    with open(os.path.join(directory, ".lock"), "ab") as file:
        try:
            if fcntl:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise CheckpointError(
                f"{directory}: another job saves there at this moment; give each job a directory of its own"
            ) from None
        except OSError:
            # A file system without locks: nobody gets one.
            pass
        yield


def start(directory):
    """Remove what killed saves left, and make the folder of the next checkpoint."""
    there = numbered_checkpoints(directory)
    for _, path in there:
        if not (path / MANIFEST).exists():
            remove(path)
    path = pathlib.Path(directory, folder_name(1 + max((number for number, _ in there), default=0)))
    path.mkdir()
    sync_folder(directory)
    return path


def remove(path):
    """Remove a checkpoint: its manifest first, so that a crash leaves a draft; files of others stay."""
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path / MANIFEST)
        sync_folder(path)
    for name in os.listdir(path):
        if SHARD.fullmatch(name) or name == EXTRA or re.fullmatch(rf"\.({MANIFEST}|{EXTRA})\.\w{{8}}\.draft", name):
            os.unlink(path / name)
    with contextlib.suppress(OSError):  # what somebody else put there
        os.rmdir(path)


def prune(directory, keep):
    """Remove all whole checkpoints but the newest ``keep``."""
    for path in whole_checkpoints(directory)[: -keep or None] if keep is not None else []:
        remove(path)
    sync_folder(directory)


class ShardWriter:
    """A .npy file of some rows, written block by block; its record has its size and checksum."""

    def __init__(self, path, array, first, shape, dtype):
        self._file = open(path, "xb")  # noqa: SIM115  close() closes it
        self._left = math.prod(shape) * dtype.itemsize
        self.record = {"name": path.name, "array": array, "first": first, "rows": shape[0], "bytes": 0, "crc32": 0}
        self.write_bytes(header(dtype, shape))

    def write(self, rows):
        self._left -= rows.nbytes
        self.write_bytes(memoryview(np.ascontiguousarray(rows).reshape(-1).view(np.uint8)))

    def write_bytes(self, data):
        try:
            self._file.write(data)
        except OSError as error:
            raise type(error)(error.errno, error.strerror, self._file.name) from None
        self.record["bytes"] += len(data)
        self.record["crc32"] = zlib.crc32(data, self.record["crc32"])

    def finish(self):
        """Bring the file to the disk."""
        if self._left:
            raise CheckpointError(f"{self._file.name}: {self._left} bytes are missing")
        self._file.flush()
        os.fsync(self._file.fileno())

    def close(self):
        with contextlib.suppress(OSError):  # of a full disk, which finish has reported
            self._file.close()


def record_of(path):
    """The record of a file that has no rows, which is there already."""
    size = path.stat().st_size
    return {"name": path.name, "array": None, "first": 0, "rows": 0, "bytes": size, "crc32": crc32(path)}


def crc32(path):
    """Checksum of a file."""
    found, buffer = 0, bytearray(PIECE)
    with open_regular(path, buffering=0) as file:
        while count := file.readinto(buffer):
            found = zlib.crc32(memoryview(buffer)[:count], found)
    return found


def write_manifest(path, content):
    """Make a checkpoint whole: the manifest is written beside, brought to the disk and renamed."""
    text = json.dumps(content, sort_keys=True, allow_nan=False)
    with replacing(path / MANIFEST) as file:
        file.write(json.dumps({"manifest": content, "crc32": zlib.crc32(text.encode())}, indent=1).encode())
    sync_folder(path)


LONGEST_DTYPE = len("<f16")


def is_sound(content):
    """Whether a manifest has what reading relies on: names without folders, numbers that are sizes."""

    def number(x):
        return type(x) is int and 0 <= x < 2**62

    def array(x):
        dtype, shape = x["dtype"], x["shape"]
        numbers = len(dtype) <= LONGEST_DTYPE and np.dtype(dtype).kind in "fiu" and np.dtype(dtype).str == dtype
        return numbers and 0 < len(shape) <= MOST_DIMENSIONS and all(map(number, shape))

    def file(x):
        named = SHARD.fullmatch(x["name"]) and x["array"] in content["arrays"]
        numbers = all(number(x[key]) for key in ("first", "rows", "bytes", "crc32"))
        return numbers and (named or (x["name"] == EXTRA and x["array"] is None))

    try:
        return (
            all(isinstance(x, dict) for x in content["tables"].values())
            and all(NAME.fullmatch(name) and array(x) for name, x in content["arrays"].items())
            and all(file(x) for x in content["files"])
            and len({x["name"] for x in content["files"]}) == len(content["files"])
        )
    except (KeyError, TypeError, AttributeError, ValueError):
        return False
