"""Setting: the treatment of ids outside their table by CUDA operators."""

from __future__ import annotations

import typing

from ..base.tracebacks import surface

Mode = typing.Literal["raise", "defer", "clamp"]

_mode: Mode = "raise"


@surface
def bounds_check(mode: Mode | None = None) -> Mode:
    """Set how CUDA operators of this process treat bad ids; the CPU always raises at once.

    In every mode nothing is read or written outside an array: a bad id reads as a row of zeros and writes nothing.

    Parameters
    ----------
    mode : {"raise", "defer", "clamp"}, optional
        "raise" raises RowIndexError before anything of the caller's is written: one synchronisation per call.
        "defer" checks without synchronising: the next lodkit call that synchronises (a merge, ``.to("cpu")``) raises,
        after the bad call has written its results. "clamp" does not check. The mode stays as it is by default.

    Returns
    -------
    str
        The previous mode.

    Examples
    --------
    >>> bounds_check("defer")
    'raise'
    >>> bounds_check("raise"), bounds_check()
    ('defer', 'raise')
    """
    global _mode
    before = _mode
    if mode is not None:
        if mode not in typing.get_args(Mode):
            raise ValueError(f'bounds_check takes "raise", "defer" or "clamp", got {mode!r}')
        _mode = mode
    return before
