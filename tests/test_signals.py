"""``uninterrupted`` gives SIGINT back, whatever another signal's handler raises at any bytecode of it."""

from __future__ import annotations

import _signal
import signal
import types

import pytest
from conftest import tracing

from lodkit.base import signals
from lodkit.base.signals import uninterrupted


class Timeout(Exception):
    """What another signal's handler raises."""


def parted(run, number):
    """Raise at a bytecode of ``run`` or of the context that it enters; what came of it, None if there are fewer."""
    left, code = number, uninterrupted.__enter__.__code__

    def trace(frame, event, arg):
        nonlocal left
        if frame.f_code is not run.__code__ and frame.f_code.co_filename != code.co_filename:
            return None
        frame.f_trace_opcodes = True
        left -= event == "opcode"
        if left < 0:
            raise Timeout
        return trace

    try:
        with tracing(trace):
            run()
    except Timeout as error:
        return error
    return run if left < 0 else None


def in_a_function():
    with uninterrupted():
        pass


def interrupted_meanwhile():
    with uninterrupted():
        signal.raise_signal(signal.SIGINT)


def in_each_other():
    with uninterrupted(), uninterrupted():
        pass


def going_on_behind():
    try:
        with uninterrupted():
            pass
    except Timeout:
        signal.raise_signal(signal.SIGINT)
        assert type(signal.getsignal(signal.SIGINT)) is not uninterrupted


@pytest.mark.parametrize("next_use", [in_a_function, None])
@pytest.mark.parametrize("run", [in_a_function, interrupted_meanwhile, in_each_other, going_on_behind])
def test_another_signal_in_between_does_not_swallow_interrupts(run, next_use):
    caught, kept, number = [], [], 0

    def mine(*_):
        caught.append(1)

    before = signal.signal(signal.SIGINT, mine)
    try:
        while error := parted(run, number):
            kept.append(error)  # with the frames of its traceback
            if next_use:
                next_use()
                assert signal.getsignal(signal.SIGINT) is mine, f"not given back after bytecode {number}"
            caught.clear()
            signal.raise_signal(signal.SIGINT)
            assert caught == [1], f"swallowed after bytecode {number}"
            assert signal.getsignal(signal.SIGINT) is mine
            number += 1
        assert number > 40
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("error", [ValueError("too late"), Timeout()])
def test_what_another_signal_raises_as_the_handler_is_set(error, monkeypatch):
    """``signal`` itself runs the handlers of others first, and raises a ValueError of its own in other interpreters."""

    def refused(*args):
        raise error

    patched = {"signal": refused, "getsignal": lambda _: signal.default_int_handler}
    monkeypatch.setattr(signals, "_signal", types.SimpleNamespace(**{**vars(_signal), **patched}))
    with pytest.raises(type(error)):
        in_a_function()
    error = ValueError("signal only works in main thread of the main interpreter")
    in_a_function()
