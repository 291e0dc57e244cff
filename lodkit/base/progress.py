"""How far a long call is: a bar of tqdm where that is installed, else lines on stderr; nothing of fast calls.

Shown is what takes over a second, on a terminal and in notebooks. ``LODKIT_PROGRESS=0`` in the environment says never,
``1`` also elsewhere, as in the log of a job.
"""

from __future__ import annotations

import contextlib
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

#: Seconds until a call counts as long, and between lines of text.
DELAY_SECONDS, LINE_SECONDS = 1.0, 3.0
clock = time.monotonic


@contextlib.contextmanager
def show_progress(what: str, total: int, unit: str, asked: bool | None = None) -> Iterator[Callable[..., None]]:
    """Yield a function that is told how much was done since it was last called, and shows it.

    Parameters
    ----------
    what : str
        What is done: ``"lodkit.save"``.
    total : int
        How many units there are.
    unit : str
        What is counted, ``"kernels"``; ``"B"`` are bytes.
    asked : bool, optional
        True shows progress from the first unit on, wherever stderr leads; False never. By default the rule of the
        module.

    Examples
    --------
    >>> with show_progress("lodkit.load", 10, "arrays") as advance:
    ...     for _ in range(10):
    ...         advance(1)
    """
    meter = _Meter(what, total, unit, asked)
    try:
        yield meter.advance
    finally:
        meter.close()


class _Meter:
    """What ``show_progress`` counts, and the bar or the lines that show it."""

    def __init__(self, what, total, unit, asked):
        self.what, self.total, self.unit, self.asked = what, total, unit, asked
        self.done, self.bar, self.started = 0, None, clock()
        self.shown, self.last_line = asked, None

    def advance(self, count=1, note=""):
        """Count units; ``note`` says which was the last."""
        self.done += count
        if self.shown is False:
            return
        now = clock()
        if self.shown is None:
            if now - self.started < DELAY_SECONDS:
                return
            self.shown = _is_wanted()
            if not self.shown:
                return
        if self.last_line is None and self.bar is None:
            self.bar = _open_bar(self.what, self.total, self.unit, self.done - count)
        if self.bar is not None:
            self.bar.set_postfix_str(note, refresh=False)
            self.bar.update(count)
        elif self.asked or self.last_line is None or now - self.last_line >= LINE_SECONDS:
            self.last_line = now
            left = (now - self.started) / max(self.done, 1) * (self.total - self.done)
            named = f" ({note})" if note else ""
            about = f", about {left:.0f} s left" if left >= 0.5 else ""
            _print(f"{self.what}: {_count(self.done, self.total, self.unit)}{named}{about}")

    def close(self):
        if self.bar is not None:
            self.bar.close()
        elif self.last_line is not None:
            _print(f"{self.what}: {clock() - self.started:.1f} s")


def _is_wanted() -> bool:
    """Whether long calls show how far they are: as the environment says, else where somebody looks on."""
    said = os.environ.get("LODKIT_PROGRESS", "")
    return said != "0" if said else _is_terminal() or _is_notebook()


def _is_terminal():
    # Without a console Python has no stderr.
    return sys.stderr is not None and sys.stderr.isatty()


def _is_notebook():
    shell: Any = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return hasattr(shell, "kernel")


def _open_bar(what, total, unit, done):
    """A bar of tqdm for a terminal or a notebook; None elsewhere, and where tqdm is missing."""
    if not (_is_terminal() or _is_notebook()):
        return None
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return None
    with warnings.catch_warnings():
        # It warns of notebooks without widgets, and draws text there.
        warnings.simplefilter("ignore")
        scale = {"unit": "B", "unit_scale": True} if unit == "B" else {"unit": f" {unit}"}
        return tqdm(total=total, desc=what, initial=done, **scale)


def _count(done, total, unit):
    if unit != "B":
        return f"{done:,} of {total:,} {unit}"
    return f"{done / 1e6:,.0f} of {total / 1e6:,.0f} MB"


def _print(line):
    if sys.stderr is not None:
        print(line, file=sys.stderr, flush=True)
