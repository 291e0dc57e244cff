"""Short tracebacks: an error that lodkit raises on purpose ends at the line that called it, as those of NumPy do.

The frames inside lodkit are cut where an error leaves an operator, in a handler that costs nothing until then. Errors
that nobody raised on purpose, and those of functions that a user passed in, keep all frames; so do all errors with
``LODKIT_FULL_TRACEBACK=1`` in the environment, which is read when an error occurs.
"""

from __future__ import annotations

import functools
import itertools
import linecache
import os
import sys
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from .binding import explain_binding, is_unbound
from .errors import LodkitError, cut_message

P = ParamSpec("P")
R = TypeVar("R")
_PACKAGE = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "")


def full():
    """Whether tracebacks show all frames."""
    return os.environ.get("LODKIT_FULL_TRACEBACK", "0") not in ("", "0")


def shorten(error):
    """Cut the frames of lodkit out of the traceback of an error that it raised on purpose, and of its cause.

    Call it where the error is handled, and re-raise with a bare ``raise``, which adds no frame. A message that is too
    long loses its middle, as those of ``LodkitError`` do.
    """
    frames = _frames(error)
    if frames and _is_inside(frames[-1]) and error.args and isinstance(error.args[0], str):
        error.args = cut_message(error.args[0]), *error.args[1:]
    if full():
        return
    if not (frames and _is_raised(error, frames[-1])):
        return
    error._lodkit_raised = True  # its innermost frame is another one from here on
    _cut(error, frames)
    if error.__cause__ is not None:
        _cut(error.__cause__, _frames(error.__cause__))


def restate(error, clear):
    """Give an error the message of another of its type; return whether it has. Its traceback gets no frame by that."""
    if type(error) is not type(clear) or full():
        return False
    error.args, error._lodkit_raised = clear.args, True
    return True


def _frames(error):
    found, trace = [], error.__traceback__
    while trace is not None:
        found.append(trace)
        trace = trace.tb_next
    return found


def _cut(error, frames):
    kept = [trace for trace in frames if not _is_inside(trace)]
    for trace, following in itertools.pairwise([*kept, None]):
        trace.tb_next = following
    error.__traceback__ = kept[0] if kept else None


def _is_raised(error, innermost):
    if hasattr(error, "_lodkit_raised"):
        return True
    if isinstance(error, LodkitError) or not _is_inside(innermost):
        return isinstance(error, LodkitError)
    return linecache.getline(innermost.tb_frame.f_code.co_filename, innermost.tb_lineno).lstrip().startswith("raise")


def _is_inside(trace):
    return trace.tb_frame.f_code.co_filename.startswith(_PACKAGE)


def depth_of_caller(*libraries):
    """Return the ``stacklevel`` of the user's line that called lodkit, for ``warnings.warn`` in the calling function.

    Frames of the files and folders in ``libraries`` are passed over too.
    """
    inside = (_PACKAGE, *libraries)
    depth, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(inside):
        depth, frame = depth + 1, frame.f_back
    return depth


def compile_function(name, title, lines, names):
    """Compile the source of one function, which may use ``names``; tracebacks show its lines under a title.

    Its frames are of lodkit.
    """
    source, file = "\n".join(lines) + "\n", os.path.join(_PACKAGE, f"<{title}>")
    linecache.cache[file] = len(source), None, source.splitlines(keepends=True), file
    space = {"__name__": __name__, **names}
    exec(compile(source, file, "exec"), space)
    return space[name]


def surface(function: Callable[P, R]) -> Callable[P, R]:
    """Decorate a function that users call, and that is slow enough not to mind: its errors end at their line."""

    @functools.wraps(function)
    def call(*args, **kwargs):
        try:
            return function(*args, **kwargs)
        except Exception as error:
            if is_unbound(error) and not restate(error, clear := explain_binding(function, args, kwargs)):
                raise clear from error
            shorten(error)
            raise

    return call
