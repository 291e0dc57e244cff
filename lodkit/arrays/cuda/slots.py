"""Numbers in the host's memory that kernels write: the host waits for the stream, and has them without a copy.

Beside an H100 a launch and a number read from the device take 17.5 us, a launch and waiting 12. Slots hold -1 until a
kernel notes something, as of a bad id, and are taken again after they were read; those of a call that fails are not.
"""

from __future__ import annotations

from ...base.errors import DeviceError
from .views import pending, raise_pending

AT_ONCE = 512  # numbers of a piece of memory: a page
_free: dict[tuple, list] = {}  # (library, device, count) -> Slots that hold -1


class Slots:
    """A View of ``count`` int64 for kernels, and NumPy's array of the same memory."""

    __slots__ = ("_where", "numbers", "view")

    def __init__(self, view, numbers, where):
        self.view, self.numbers, self._where = view, numbers, where

    def release(self):
        """The numbers, as a list, of kernels that have run; others may take the slots now."""
        found = self.numbers.tolist()
        self.numbers.fill(-1)
        _free[self._where].append(self)
        return found

    def read(self):
        """Wait for the current stream; the numbers, as a list. Raises deferred errors."""
        self.view.library.wait(self.view.device)
        found = self.release()
        if pending:
            raise_pending()
        return found


def slots(like, count, refusal="the host cannot wait for a number while a CUDA graph is captured; call this before"):
    """Slots for kernels on the device of an array, which hold -1. Raises DeviceError while a CUDA graph is captured."""
    if like.library.captures():
        raise DeviceError(refusal)
    where = like.library, like.device, count
    try:
        return _free[where].pop()
    except (KeyError, IndexError):
        # Another thread may have taken the last slot.
        return _make(where)


def _make(where):
    library, device, count = where
    memory, numbers = library.host_numbers(AT_ONCE, device)
    made = [
        Slots(memory.part(k, k + count), numbers[k : k + count], where) for k in range(0, AT_ONCE - count + 1, count)
    ]
    _free.setdefault(where, []).extend(made[1:])
    return made[0]
