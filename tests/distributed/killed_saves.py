"""Save again and again in children that die at the first, the second ... operation on a file; look what they left."""

from __future__ import annotations

import itertools
import os
import sys

import numpy as np

from lodkit.distributed import Alone, Checkpoint, Ranges, checkpoint_exchange
from lodkit.distributed.checkpoint_exchange import Held

EVENTS = {"open", "os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.listdir", "os.truncate"}


def save(directory, number):
    part = Held(np.full((50, 3), number), Ranges(50, 1))
    parts = {"table.values": part, "table.moment": Held(part.local[:, 0] * 2, part.dealing)}
    checkpoint_exchange.save(Alone(), directory, {"table": {}}, parts, keep=1, extra={"number": number})


def dies(directory, number, operations):
    """Whether a child that saves is killed at so many operations."""
    child = os.fork()
    if not child:
        counted = itertools.count(1)

        def hook(event, args):
            if event in EVENTS and next(counted) == operations:
                os._exit(9)

        sys.addaudithook(hook)
        save(directory, number)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9


def main(directory):
    save(directory, 0)
    last = 0
    for operations in itertools.count(1):
        killed = dies(directory, operations, operations)
        found = Checkpoint(directory)
        found.verify()
        values, states = found.table()
        number = int(values[0, 0])
        assert number in (last, operations), (number, last, operations)
        assert (values == number).all()
        assert (states["moment"] == 2 * number).all()
        assert found.extra() == {"number": number}
        last = number
        if not killed:
            break
    assert last == operations
    assert len(os.listdir(directory)) == 2, os.listdir(directory)  # the checkpoint and the lock
    print(operations)


if __name__ == "__main__":
    main(sys.argv[1])
