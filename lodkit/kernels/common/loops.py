"""Loops with one body for both devices: a body is a plain function of a position, of flat arrays and of numbers.

``number_...``: the body returns the number of a position, ``return offsets[s] + i``. ``loop_...``: it writes into its
last arguments itself. What it reads, nothing may write to meanwhile. A CPU compiles a body into a loop whose iterations
threads share, a GPU into a kernel in which a thread takes a position. Numba has no float16 on the CPU: pass such
numbers as float32, or as their bits.

Positions are elements, ``body(i, ...)``; cells of ``columns`` side by side, ``body(i, j, ...)``; or rows with their
segments, ``body(i, s, offsets, ...)``.
"""

from __future__ import annotations

import functools


def number_elements(body):
    """Make ``numbers(on)(like, n, *args, out=None)``: ``body(i, *args)`` for i below n, where ``like`` is."""
    return _compile_once(lambda on: on.numbers_of(body, "element"))


def number_cells(body):
    """Make ``numbers(on)(like, n, columns, *args, out=None)``: ``body(i, j, *args)``, row by row."""
    return _compile_once(lambda on: on.numbers_of(body, "cell"))


def number_rows(body):
    """Make ``numbers(on)(like, n, offsets, *args, out=None)``: ``body(i, s, offsets, *args)`` of each row."""
    return _compile_once(lambda on: on.numbers_of(body, "row"))


def loop_elements(writes):
    """Make ``run(on)(n, *args)`` of a body that writes into its last ``writes`` arguments."""
    return lambda body: _compile_once(lambda on: on.loop_of(body, "element", writes))


def loop_rows(writes):
    """Make ``run(on)(n, offsets, *args)`` of a body that writes into its last ``writes`` arguments."""
    return lambda body: _compile_once(lambda on: on.loop_of(body, "row", writes))


def _compile_once(make):
    """Keep what is made of a body for a device; ``loop_on`` gives its loop, as ``select`` and ``explain`` show it."""
    run_on = functools.cache(make)
    run_on.loop_on = lambda on: run_on(on).loop
    return run_on


#: Parameters of a body that the loop gives it.
_POSITIONS = {"element": 1, "cell": 2, "row": 3}


def write_loop(body, walk, sizes, put, lines, scope, writes=0, form="{}"):
    """Write the loop of a body in Python: a function of ``sizes``, of what else the body takes, and ``out``.

    A loop over any number of arguments would look at the types of all at each call: a microsecond. It has the file and
    line of the body. ``{call}`` in a line is ``put``, empty if the body writes itself; ``form`` is how an argument that
    is not written is passed to it.
    """
    names = [f"x{k}" for k in range(body.__code__.co_argcount - _POSITIONS[walk])]
    read = len(names) - writes
    args = ", ".join([*map(form.format, names[:read]), *names[read:]])
    head = f"def {body.__name__}({sizes}{', '.join([*names, 'out'] if put else names)}):"
    exec("\n    ".join([head, *lines]).format(args=args, call=put), scope)
    loop = scope[body.__name__]
    place = {"co_filename": body.__code__.co_filename, "co_firstlineno": body.__code__.co_firstlineno}
    loop.__code__, loop.__module__ = loop.__code__.replace(**place), body.__module__
    return loop
