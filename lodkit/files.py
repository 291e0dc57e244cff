"""Files that are replaced whole or not at all."""

from __future__ import annotations

import contextlib
import os
import uuid


@contextlib.contextmanager
def replacing(path):
    """Give a path beside ``path`` to write to, then rename it: an interrupt leaves the old file or the new one."""
    folder, name = os.path.split(os.path.realpath(os.fsdecode(path)))
    stem, suffix = os.path.splitext(name)
    draft = os.path.join(folder, f".{stem}.{uuid.uuid4().hex[:8]}{suffix}")
    try:
        yield draft
        os.replace(draft, os.path.join(folder, name))
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(draft)
