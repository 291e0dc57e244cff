"""Atomic replacement of files."""

from __future__ import annotations

import contextlib
import os
import re
import uuid

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]


@contextlib.contextmanager
def replacing(path):
    """Yield a file beside ``path`` to write to, then rename it: an interrupt leaves the old or the new file.

    Drafts of processes that were killed meanwhile are removed by the next one that writes this file.
    """
    folder, name = os.path.split(os.path.realpath(os.fsdecode(path)))
    check_regular(path, "replaced")
    _remove_left(folder, name)
    file = _draft(folder, name)
    try:
        with file:
            yield file
            file.flush()
            os.fsync(file.fileno())
            if fcntl:
                os.replace(file.name, os.path.join(folder, name))
        if not fcntl:  # open files have fixed names there
            os.replace(file.name, os.path.join(folder, name))
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(file.name)


def check_regular(path, done):
    """Refuse a directory, pipe or device: some have no end, and opening others waits. What is not there passes."""
    if os.path.exists(path) and not os.path.isfile(path):
        raise OSError(f"{os.fsdecode(path)!r} is no regular file, and is not {done}; give another path")


def sync_folder(path):
    """Bring the names in a folder to the disk: a file that was created or renamed there survives a power failure."""
    if fcntl:  # Windows opens no folders
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _draft(folder, name):
    """A new file, locked as long as it is open: what others find locked is not left behind."""
    while True:
        path = os.path.join(folder, f".{name}.{uuid.uuid4().hex[:8]}.draft")
        file = open(path, "xb")  # noqa: SIM115  the caller closes it
        try:
            if fcntl:
                fcntl.flock(file, fcntl.LOCK_EX)
        except OSError:  # a file system without locks: nobody gets one, and nothing is removed
            return file
        if not fcntl or os.fstat(file.fileno()).st_nlink:
            return file
        file.close()  # removed before it was locked


def _remove_left(folder, name):
    """Remove drafts of a file that nobody writes any more."""
    draft, found = re.compile(rf"\.{re.escape(name)}\.[0-9a-f]{{8}}\.draft"), []
    with contextlib.suppress(PermissionError):  # a folder that may be written to, but not listed
        found = [x for x in os.listdir(folder) if draft.fullmatch(x)] if fcntl else []
    for path in (os.path.join(folder, x) for x in found):
        with contextlib.suppress(OSError):  # a BlockingIOError where another process holds it
            handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                os.unlink(path)
            finally:
                os.close(handle)
