"""What CUDA operators do about ids that are outside their table."""

from __future__ import annotations

import typing

Mode = typing.Literal["raise", "defer", "clamp"]

_mode: Mode = "raise"


def bounds_check(mode: Mode | None = None) -> Mode:
    """Say what CUDA operators do about bad ids, for the whole process; the CPU always raises at once.

    Whatever is said, nothing is read or written outside an array: a bad id reads as a row of zeros and writes nothing.

    Parameters
    ----------
    mode : {"raise", "defer", "clamp"}, optional
        "raise" looks at the ids before anything is written and raises RowIndexError there, which waits for the
        device once a call. "defer" looks as well but does not wait: the error comes with the next lodkit call that
        waits (a merge, ``.to("cpu")``), when results of the bad call have been made. "clamp" does not look. Without a
        mode nothing is changed.

    Returns
    -------
    str
        The mode before.

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
