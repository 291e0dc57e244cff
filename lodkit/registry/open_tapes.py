"""What calls know of tapes: those that are open in a thread, those that are told of a write, a call as they keep it.

The room ``tape`` stands above this one, and puts into ``arrays.recorded.hooks`` what records a call.
"""

from __future__ import annotations

import threading
import weakref

from ..arrays.recorded import hooks

thread = threading.local()
#: Tapes of all threads that may still be asked for gradients, open or not: they are told what is written.
listeners: weakref.WeakSet = weakref.WeakSet()


def open_tapes():
    """Tapes that record the calls of this thread."""
    return getattr(thread, "tapes", ())


class Call:
    """Recorded call, as gradient rules see it.

    Attributes
    ----------
    op : Op
    inputs, outputs : tuple
    attrs : dict
        All attributes, defaults included.
    wanted : tuple of bool
        Per input, True if it needs a gradient.
    """

    __slots__ = ("attrs", "input_keys", "inputs", "op", "output_keys", "outputs", "wanted")

    def __init__(self, op, inputs, attrs, outputs):
        self.op, self.inputs, self.attrs, self.outputs = op, inputs, attrs, outputs
        self.wanted, self.input_keys, self.output_keys = (), (), ()


class no_grad:
    """Context without recording: gradient rules call operators too."""

    def __enter__(self):
        self.tapes, thread.tapes = open_tapes(), []

    def __exit__(self, *error):
        thread.tapes = self.tapes


def call_recorded(op, inputs, out, attrs):
    """Call an operator and record it on the open tapes."""
    return hooks.call_recorded(op, inputs, out, attrs)


def differentiate(call):
    """Run ``functools.partial(op, *inputs, **attrs)``, and the gradients of its floating outputs by such inputs."""
    return hooks.differentiate(call)


def note_written(array):
    """Tell all tapes that an array was written to."""
    for reference in listeners.data.copy():  # one step: threads add tapes, collections remove them
        if (tape := reference()) is not None:
            tape._overwritten(array)


def note_update(op, inputs):
    """Tell all tapes which arrays an operator has updated."""
    for name, x in zip(op._names(inputs), inputs, strict=True):
        if name in op.updates:
            note_written(x)
