"""Atomic replacement of files."""

from __future__ import annotations

import contextlib
import os
import re
import stat
import uuid

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

ACCESS = "system.posix_acl_access"  # the attribute in which Linux keeps a file's list


@contextlib.contextmanager
def replacing(path):
    """Yield a file beside ``path`` to write to, then rename it: an interrupt leaves the old or the new file.

    Drafts of processes that were killed meanwhile are removed by the next one that writes this file. Whom the old file
    kept out the new one does, and its draft; what replaces none has the mode that the umask leaves.
    """
    folder, name = os.path.split(os.path.realpath(os.fsdecode(path)))
    check_regular(path, "replaced")
    _remove_left(folder, name)
    file = _draft(folder, name)
    try:
        with file:
            yield file
            file.flush()
            if fcntl:
                _take_rights(file.fileno(), os.path.join(folder, name))
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
        raise _not_regular_error(path, done)


def open_regular(path, buffering=-1):
    """Open a regular file to read its bytes; OSError for what is none.

    It is looked at again when it is open, as its name may be another file's by then; to open a pipe does not wait.
    """
    check_regular(path, "read")
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise _not_regular_error(path, "read")
        return open(handle, "rb", buffering)
    except BaseException:
        os.close(handle)
        raise


def _not_regular_error(path, done):
    return OSError(f"{os.fsdecode(path)!r} is no regular file, and is not {done}; give another path")


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
    replaced = fcntl and os.path.exists(os.path.join(folder, name))
    while True:
        path = os.path.join(folder, f".{name}.{uuid.uuid4().hex[:8]}.draft")
        file = open(path, "xb", opener=_open_private if replaced else None)  # noqa: SIM115  the caller closes it
        try:
            if fcntl:
                fcntl.flock(file, fcntl.LOCK_EX)
        except OSError:  # a file system without locks: nobody gets one, and nothing is removed
            return file
        if not fcntl or os.fstat(file.fileno()).st_nlink:
            return file
        file.close()  # removed before it was locked


def _open_private(path, flags):
    return os.open(path, flags, 0o600)


def _take_rights(handle, path):
    """Give an open file the owner and the mode of one that is there, or fewer rights where the system refuses that."""
    try:
        like = os.stat(path)
    except FileNotFoundError:
        return
    for owner in (like.st_uid, -1):  # others than root may only give it to a group of their own
        with contextlib.suppress(OSError):
            os.fchown(handle, owner, like.st_gid)
            break
    mode, kept = like.st_mode & 0o777, os.fstat(handle).st_gid == like.st_gid
    if not kept:
        mode &= mode << 3 | 0o707  # another group: it may do what everybody may
    _take_list(handle, path if kept else None)
    with contextlib.suppress(OSError):  # a file system without modes
        os.fchmod(handle, mode)


def _take_list(handle, path):
    """Give an open file the access control list of another one, or none: a folder may have one for new files."""
    if not hasattr(os, "setxattr"):  # not Linux
        return
    with contextlib.suppress(OSError):  # it has none
        os.removexattr(handle, ACCESS)
    with contextlib.suppress(OSError):
        if path is not None:
            os.setxattr(handle, ACCESS, os.getxattr(path, ACCESS))


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
