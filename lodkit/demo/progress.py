"""What the main job is doing: a bar on a terminal, elsewhere a line now and then."""

from __future__ import annotations

import shutil
import sys
import time

WIDTH = 20  # of a bar
DRAWN_EVERY, PRINTED_EVERY = 0.1, 3.0  # seconds


class Bar:
    """How much of a stage is done, and about how long the rest will take.

    Parameters
    ----------
    name : str
    total : int
        How many ``units`` the stage has.
    units : str
        What is counted; shares are shown of what has no name.
    silent : bool
        Print nothing where there is no terminal.
    """

    drawn = 0  # characters that stand on the terminal's line, of whichever bar

    def __init__(self, name, total, units, silent=False):
        self.name, self.total, self.units, self.silent = name, total, units, silent
        self.live = sys.stdout.isatty() and sys.stderr.isatty()
        self.started = self.shown = time.perf_counter()

    def at(self, done, facts="", now=False):
        """Show how much is done, unless it was shown just before; ``now``: even then."""
        time_now = time.perf_counter()
        if not now and time_now - self.shown < (DRAWN_EVERY if self.live else PRINTED_EVERY):
            return
        self.shown = time_now
        share = done / max(self.total, done, 1)
        count = f"{done:,} of {self.total:,} {self.units}" if self.units else f"{share:.0%}"
        parts = filter(None, (count, self.left(done), f"{facts}"))
        if self.live:
            filled = int(WIDTH * share)
            self.draw(f"{self.name} [{'#' * filled}{'-' * (WIDTH - filled)}] {', '.join(parts)}")
        elif not self.silent:
            print(f"{self.name}: {', '.join(parts)}", flush=True)

    def left(self, done):
        """About how long the rest will take, at the rate so far; nothing is said too early, or of half a second."""
        taken = time.perf_counter() - self.started
        left = taken / max(done, 1) * (self.total - done)
        return f"about {left:.0f} s left" if done and taken > 0.5 and left > 0.5 else ""

    def draw(self, line):
        """Draw a line over the one before."""
        line = line[: shutil.get_terminal_size().columns - 1]
        print("\r" + line.ljust(Bar.drawn), end="", file=sys.stderr, flush=True)
        Bar.drawn = len(line)


def clear():
    """Leave the terminal's line empty, whichever bar stands there."""
    if Bar.drawn:
        print("\r".ljust(Bar.drawn + 1), end="\r", file=sys.stderr, flush=True)
        Bar.drawn = 0


def say(text):
    """Print lines, in place of a bar."""
    clear()
    print(text, flush=True)


def format_warning(message, category, *place):
    """A warning on a line of its own, without the line of code; in place of ``warnings.formatwarning``."""
    clear()
    return f"warning: {message}\n"


class Kernels:
    """Counts what is compiled, or loaded from the cache, while the context is open, and shows compiling.

    Attributes
    ----------
    ready : int
        Functions that were compiled or loaded.
    compiled : int
        Those that were compiled.
    seconds : float
        How long compiling took.
    """

    def __init__(self, expected, silent=False):
        from ..jit import cache

        self.cache, self.expected, self.silent = cache, expected, silent
        self.ready = self.compiled = 0
        self.seconds, self.begun, self.bar = 0.0, [], None

    def __enter__(self):
        self.cache.watchers.append(self.watch)
        return self

    def __exit__(self, *error):
        self.cache.watchers.remove(self.watch)
        clear()

    def watch(self, event, name):
        """Take what the cache says: a function is ``loaded``, ``compiling`` or ``compiled``."""
        if event == "compiling":
            self.begun.append(time.perf_counter())
            first, self.bar = self.bar is None, self.bar or Bar("compiling", self.expected, "kernels", self.silent)
            self.bar.total = max(self.expected, self.ready + 1)
            self.bar.at(self.ready, name.partition(".<locals>")[0].strip("_"), now=first or self.bar.live)
            return
        self.ready += 1
        if event == "compiled":
            begun = self.begun.pop()
            self.compiled += 1
            self.seconds += 0 if self.begun else time.perf_counter() - begun

    def report(self):
        """Say how much was compiled since the last report, and where it is kept."""
        if self.compiled:
            place = self.cache.place()
            what = f"{self.compiled} {'kernel' if self.compiled == 1 else 'kernels'} in {self.seconds:.1f} s"
            say(f"compiled {what}; {f'kept in {place}' if place else 'not kept'}")
            self.compiled, self.seconds = 0, 0.0
