"""Steps of several updates that Ctrl-C does not part: it waits until the last is done."""

from __future__ import annotations

import _signal  # without the enums of signal: 1 us for 8
import threading


class uninterrupted:
    """Context in which SIGINT waits for the end, where its handler runs then.

    Python runs handlers in the main thread alone: in others this does nothing, nor where SIGINT ends the process.
    """

    __slots__ = ("_before", "_caught")

    def __enter__(self):
        self._caught, self._before = [], None
        if threading.get_ident() == threading.main_thread().ident:
            before = _signal.getsignal(_signal.SIGINT)
            try:
                if callable(before):  # neither ignored, nor of another language
                    self._before = before
                    _signal.signal(_signal.SIGINT, self._catch)
            except ValueError:  # not the main interpreter
                self._before = None
        return self

    def _catch(self, *caught):
        self._caught.append(caught)

    def __exit__(self, *error):
        if self._before is not None:
            _signal.signal(_signal.SIGINT, self._before)
            if self._caught:
                self._before(*self._caught[-1])
