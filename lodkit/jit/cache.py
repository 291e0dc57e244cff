"""Disk cache for compiled code that never confuses two processes, edits or options.

Every entry is one file, named by the digest of all that its code depends on and put in place by one rename: there is
no index to race for, and nothing to invalidate. Without a directory to write to, code is compiled in memory, and one
RuntimeWarning per process says so.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import stat
import sys
import tempfile
import threading
import time
import warnings

import llvmlite
import numba
import numpy as np
from numba import config

from ..base.tracebacks import depth_of_caller
from . import private_numba
from .fingerprint import NotFingerprintable, check_plain, fingerprint

_FORMAT = "lodkit 2"
_SETTINGS = ("BOUNDSCHECK", "OPT", "LOOP_VECTORIZE", "SLP_VECTORIZE", "DEBUGINFO_DEFAULT", "USING_SVML")
_CHECKSUM = hashlib.sha256().digest_size
_READ = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)  # a pipe does not wait for a writer
_MOST_ENTRIES, _MOST_BYTES, _MOST_DAYS = 20_000, 1 << 30, 60
# Acquired by the first thread that warns, and never released.
_warned = threading.Lock()

# Names of all entries that this process has loaded or made; the directory that takes them while they are baked.
_used: set[str] = set()
_baked: list[str] = []

#: Called with ``"loaded"``, ``"compiling"`` or ``"compiled"`` and the name of a function, as it happens.
watchers: list = []

# Numba builds symbols from a counter. Closures of one factory, compiled in two processes, would share symbols, and
# loaded together one would run the code of the other.
private_numba.number_functions(iter(lambda: int.from_bytes(os.urandom(6), "little"), None))


class DiskCache(private_numba.NullCache):
    """Cache of a dispatcher, which asks it before compiling and hands it the result afterwards."""

    def __init__(self, dispatcher):
        self._dispatcher = dispatcher

    @property
    def cache_path(self):
        return place()

    def load_overload(self, sig, target_context):
        found = None
        with failing_softly():
            payload = load(self._name(sig, target_context.codegen()))
            found = payload and private_numba.deserialise(target_context, payload)
        self._tell("loaded" if found else "compiling")
        return found or None

    def save_overload(self, sig, data):
        self._tell("compiled")
        if private_numba.is_storable(data):
            with failing_softly():
                store(self._name(sig, data.codegen), private_numba.serialise(data))

    def entry_of(self, kinds):
        """File of the entry for arguments of these types; None if there is none."""
        with contextlib.suppress(OSError, NotFingerprintable):
            path = os.path.join(directory(), self._name(kinds, self._dispatcher.targetctx.codegen()))
            return path if os.path.exists(path) else None
        return None

    def _tell(self, event):
        for watcher in watchers:
            watcher(event, self._dispatcher.py_func.__qualname__)

    def _name(self, sig, codegen):
        args = private_numba.argument_types(sig)
        versions = _FORMAT, numba.__version__, llvmlite.__version__, np.__version__, sys.version
        settings = [(name, getattr(config, name, None)) for name in _SETTINGS]
        types = check_plain(" ".join(f"{arg} {arg!r}" for arg in args))
        return entry_name(versions, private_numba.target_of(codegen), settings, types, fingerprint(self._dispatcher))


def entry_name(*parts):
    """File name of the entry for code that depends on ``parts``, compared by their representation."""
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:40] + ".nbc"


def load(name):
    """Content of an entry; None if there is none, or it is damaged, another one's, or not only this user's."""
    with contextlib.suppress(OSError):
        path = os.path.join(directory(), name)
        with open(os.open(path, _READ), "rb") as file:
            _check_owner(path, os.fstat(file.fileno()))
            checksum, payload = file.read(_CHECKSUM), file.read()
        if _checksum(name, payload) == checksum:
            with contextlib.suppress(OSError):
                os.utime(path)
            _used.add(name)
            return payload
    return None


def _checksum(name, payload):
    """Checksum of an entry, which another name has not."""
    return hashlib.sha256(name.encode() + payload).digest()


def store(name, payload):
    """Write an entry."""
    _used.add(name)
    folder = directory(make=True)
    path = os.path.join(folder, name)
    handle, draft = tempfile.mkstemp(suffix=".tmp", dir=folder)
    try:
        with open(handle, "wb") as file:
            file.write(_checksum(name, payload) + payload)
        if _baked:
            os.chmod(draft, 0o644)
        os.replace(draft, path)
    except BaseException as error:
        with contextlib.suppress(OSError):
            os.unlink(draft)
        if not isinstance(error, PermissionError) or not os.path.exists(path):  # Windows: another process reads it
            raise
    prune_once(folder, os.getpid())


@contextlib.contextmanager
def baking(path):
    """Context whose compiled code goes to a directory for other users to read, with all that this process has used.

    Raises
    ------
    OSError
        Nothing can be written there, or code that was compiled before is kept nowhere.
    """
    path = os.path.abspath(path)
    os.makedirs(path, mode=0o755, exist_ok=True)
    kept = [(name, load(name)) for name in sorted(_used)]
    if lost := sum(payload is None for _, payload in kept):
        raise OSError(f"{lost} functions were compiled before and are kept nowhere; bake {path} in a new process")
    _baked.append(path)
    try:
        for entry in kept:
            store(*entry)
        yield
    finally:
        _baked.remove(path)


@contextlib.contextmanager
def failing_softly():
    """Context whose errors end it with one warning per process, since compiling anew is always right.

    Code that cannot be stored by its nature (``NotFingerprintable``) is no reason to warn.
    """
    try:
        yield
    except NotFingerprintable:
        return
    except Exception as error:
        if _warned.acquire(blocking=False):
            reason = f"{type(error).__name__}: {error}"
            remedy = "set LODKIT_CACHE_DIR to a directory that only you can write to"
            if not isinstance(error, OSError):
                remedy += f"; if it is one, lodkit does not fit Numba {numba.__version__}: please report this"
            message = f"compiled code cannot be kept on disk ({reason}), every process compiles it again; {remedy}"
            libraries = os.path.join(os.path.dirname(numba.__file__), ""), contextlib.__file__
            warnings.warn(message, RuntimeWarning, stacklevel=depth_of_caller(*libraries))


def directory(make=False):
    """Directory of the cache; OSError unless only this user, or root, can write to it."""
    path = _baked[-1] if _baked else os.path.expanduser(os.environ.get("LODKIT_CACHE_DIR", ""))
    if not path:
        base = os.environ.get("XDG_CACHE_HOME", "")
        base = base if os.path.isabs(base) else os.path.join(os.path.expanduser("~"), ".cache")
        path = os.path.join(base, "lodkit")
        if not os.path.isabs(path):
            raise OSError("this user has no home directory")
    if make:
        os.makedirs(path, mode=0o700, exist_ok=True)
    _check_owner(path, os.stat(path))
    return os.path.abspath(path)


def place():
    """Directory of the cache; None if there is none, or others can write to it."""
    with contextlib.suppress(OSError):
        return directory()
    return None


def _check_owner(path, status):
    """Refuse what others than this user and root can write: entries are pickles, and whoever writes one runs code."""
    if hasattr(os, "geteuid") and (status.st_uid not in (0, os.geteuid()) or stat.S_IMODE(status.st_mode) & 0o022):
        raise OSError(f"others can write to {path}")


def entries(path):
    """Time of last use, size and path of each entry in a directory, those that are being written too."""
    found = []
    with os.scandir(path) as files:
        for file in files:
            with contextlib.suppress(OSError):
                if file.name.endswith((".nbc", ".tmp")):
                    status = file.stat()
                    found.append((status.st_mtime, status.st_size, file.path))
    return found


@functools.cache
def prune_once(path, process):
    """Remove the least recently used entries, once per process, after its first addition."""
    now, count, total = time.time(), 0, 0
    for used, size, name in sorted(entries(path), reverse=True):
        days = (now - used) / 86400
        count, total = count + 1, total + size
        too_old = days > (_MOST_DAYS if name.endswith(".nbc") else 1)
        if too_old or count > _MOST_ENTRIES or total > _MOST_BYTES:
            with contextlib.suppress(OSError):
                os.unlink(name)
