"""A disk cache for compiled code in which no two processes, edits or options can be mistaken for each other.

Every entry is one file whose name is the digest of all that its code depends on, put in place by one rename:
there is no index to race for, and nothing to invalidate. Where no directory can be used code is compiled in
memory.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import stat
import sys
import tempfile
import time

import llvmlite
import numba
import numpy as np
from numba import config

from . import private_numba
from .fingerprint import fingerprint, plain

_FORMAT = "lodkit 1"
_SETTINGS = ("BOUNDSCHECK", "OPT", "LOOP_VECTORIZE", "SLP_VECTORIZE", "DEBUGINFO_DEFAULT", "USING_SVML")
_CHECKSUM = hashlib.sha256().digest_size
_MOST_ENTRIES, _MOST_BYTES, _MOST_DAYS = 20_000, 1 << 30, 60

# Numba numbers functions 1, 2, 3 and builds symbols from the number. Two closures of one factory, compiled
# in two processes, would share their symbols, and loaded together one would run the other's code.
private_numba.number_functions(iter(lambda: int.from_bytes(os.urandom(6), "little"), None))


class DiskCache(private_numba.NullCache):
    """What a dispatcher asks for compiled code before it compiles, and hands it to afterwards."""

    def __init__(self, dispatcher):
        self._dispatcher = dispatcher

    @property
    def cache_path(self):
        with contextlib.suppress(OSError):
            return directory()
        return None

    def load_overload(self, sig, target_context):
        target_context.refresh()
        try:
            path = os.path.join(directory(), self._name(sig, target_context.codegen()))
            payload = read_entry(path)
            return payload and private_numba.deserialise(target_context, payload)
        except Exception:  # whatever is wrong with an entry, compiling anew is right
            return None

    def save_overload(self, sig, data):
        if not private_numba.is_storable(data):
            return
        with contextlib.suppress(Exception):  # code that cannot be kept is still good code
            path = os.path.join(directory(make=True), self._name(sig, data.codegen))
            write_entry(path, private_numba.serialise(data))
            prune_once(os.path.dirname(path), os.getpid())

    def _name(self, sig, codegen):
        args = private_numba.argument_types(sig)
        versions = _FORMAT, numba.__version__, llvmlite.__version__, np.__version__, sys.version
        settings = [(name, getattr(config, name, None)) for name in _SETTINGS]
        types = plain(" ".join(f"{arg} {arg!r}" for arg in args))
        text = repr((versions, private_numba.target_of(codegen), settings, types, fingerprint(self._dispatcher)))
        return hashlib.sha256(text.encode()).hexdigest()[:40] + ".nbc"


def directory(make=False):
    """Return the directory of the cache; OSError where there is none that only this user can write to."""
    path = os.environ.get("LODKIT_CACHE_DIR")
    if not path:
        base = os.environ.get("XDG_CACHE_HOME", "")
        base = base if os.path.isabs(base) else os.path.join(os.path.expanduser("~"), ".cache")
        path = os.path.join(base, "lodkit")
        if not os.path.isabs(path):
            raise OSError("this user has no home directory")
    if make:
        os.makedirs(path, mode=0o700, exist_ok=True)
    # Entries are pickles: whoever can write one can run code here.
    status = os.stat(path)
    if hasattr(os, "geteuid") and (status.st_uid != os.geteuid() or stat.S_IMODE(status.st_mode) & 0o022):
        raise OSError(f"others can write to {path}")
    return os.path.abspath(path)


def read_entry(path):
    """Return what an entry holds; None where it was not written to its end or is damaged."""
    with open(path, "rb") as file:
        checksum, payload = file.read(_CHECKSUM), file.read()
    if hashlib.sha256(payload).digest() != checksum:
        return None
    with contextlib.suppress(OSError):
        os.utime(path)
    return payload


def write_entry(path, payload):
    handle, draft = tempfile.mkstemp(suffix=".tmp", dir=os.path.dirname(path))
    try:
        with open(handle, "wb") as file:
            file.write(hashlib.sha256(payload).digest() + payload)
        os.replace(draft, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(draft)
        raise


@functools.cache
def prune_once(path, process):
    """Remove the entries that were used longest ago, once a process, when it has first added one."""
    now, entries = time.time(), []
    with os.scandir(path) as found:
        for entry in found:
            with contextlib.suppress(OSError):
                status = entry.stat()
                entries.append((status.st_mtime, status.st_size, entry.path))
    count = total = 0
    for used, size, name in sorted(entries, reverse=True):
        if not name.endswith((".nbc", ".tmp")):
            continue
        days = (now - used) / 86400
        count, total = count + 1, total + size
        too_old = days > (_MOST_DAYS if name.endswith(".nbc") else 1)
        if too_old or count > _MOST_ENTRIES or total > _MOST_BYTES:
            with contextlib.suppress(OSError):
                os.unlink(name)
