"""Steps of several updates that Ctrl-C does not part: it waits until the last is done."""

from __future__ import annotations

import _signal  # without the enums of signal: 1 us for 8
import functools
import threading
import weakref


class uninterrupted:
    """Context, for ``with`` alone, in which SIGINT waits for the end, where its handler runs then.

    Python runs handlers in the main thread alone: in others this does nothing, nor where SIGINT ends the process.

    It is the handler meanwhile. What another signal's handler raises between two bytecodes may keep ``with`` from
    calling ``__exit__``, or part that: so SIGINT is put off only as long as the statement holds its ``__exit__``, a
    reference that Python drops whichever way the statement ends. From then on SIGINT is passed to the handler before,
    which is set again by the first one that comes, or by the next context.
    """

    __slots__ = ("_before", "_caught", "_statement")

    @property
    def __exit__(self):
        self._before = self._caught = None
        held = functools.partial(uninterrupted._leave, self)  # in C: no frame has it, which a traceback would keep
        self._statement = weakref.ref(held)
        return held

    def __enter__(self):
        if threading.get_ident() == threading.main_thread().ident:
            before = _signal.getsignal(_signal.SIGINT)
            if type(before) is uninterrupted:
                if before._statement() is not None:
                    return self  # SIGINT waits for the outermost
                before._give_back()
                before = before._before
            if callable(before):  # neither ignored, nor of another language
                self._before = before
                try:
                    _signal.signal(_signal.SIGINT, self)
                except ValueError as error:
                    self._before = None
                    if "main" not in str(error):  # not of the main interpreter: of another signal's handler
                        raise
        return self

    def __call__(self, *caught):
        self._caught = caught
        if self._statement() is None:
            self._give_back()

    def _leave(self, *error):
        if self._before is not None:
            _signal.signal(_signal.SIGINT, self._before)
            if self._caught:
                self._before(*self._caught)

    def _give_back(self):
        """Let the handler before have SIGINT, and what came of it, after a context that was not left."""
        if _signal.getsignal(_signal.SIGINT) is self:  # and not one that calls it
            _signal.signal(_signal.SIGINT, self._before)
        if self._caught:
            self._before(*self._caught)
