"""Atomic replacement of files."""

from __future__ import annotations

import contextlib
import os
import uuid


@contextlib.contextmanager
def replacing(path):
    """Yield a temporary path beside ``path``, then rename it: an interrupt leaves the old or the new file."""
    folder, name = os.path.split(os.path.realpath(os.fsdecode(path)))
    if os.path.exists(path) and not os.path.isfile(path):
        raise OSError(f"{os.fsdecode(path)!r} is no regular file, and is not replaced; give another path")
    stem, suffix = os.path.splitext(name)
    draft = os.path.join(folder, f".{stem}.{uuid.uuid4().hex[:8]}{suffix}")
    try:
        yield draft
        os.replace(draft, os.path.join(folder, name))
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(draft)
