"""Maps with one body for both devices: each number of a result, by its position, from flat arrays.

A body is a plain function that returns the number, ``return offsets[s] + i``; nothing may write to what it reads. A CPU
compiles it into a loop whose iterations threads share, a GPU into a kernel in which a thread takes a number. It is for
the types that move as they are: float16 comes as its bits.
"""

from __future__ import annotations

import functools


def number_elements(body):
    """Make ``numbers(on)(like, n, *args)``: a new vector of ``body(i, *args)`` for i below n, where ``like`` is.

    ``numbers(on)(like, n, *args, out=out)`` fills ``out`` with them, and returns it.
    """
    return functools.cache(lambda on: on.map_numbers_of(body, "element"))


def number_cells(body):
    """Make ``numbers(on)(like, n, columns, *args)`` of ``body(i, j, *args)``, as ``number_elements``, row by row."""
    return functools.cache(lambda on: on.map_numbers_of(body, "cell"))


def number_rows(body):
    """Make ``numbers(on)(like, n, offsets, *args)`` of ``body(i, s, offsets, *args)``, for row i, in segment s."""
    return functools.cache(lambda on: on.map_numbers_of(body, "row"))


def write_loop(body, walk, lines, scope, form="{}"):
    """Write the loop of a body in Python: a function of sizes, ``lines[0]``, the arguments of the body and ``out``.

    A loop over any number of arguments would look at the types of all at each call: a microsecond. It has the file and
    line of the body. ``form`` is how an argument is passed to the body.
    """
    own = {"element": 1, "cell": 2, "row": 3}[walk]
    names = [f"x{k}" for k in range(body.__code__.co_argcount - own)]
    head = f"def {body.__name__}({lines[0]}{', '.join([*names, 'out'])}):"
    exec("\n    ".join([head, *lines[1:]]).format(args=", ".join(map(form.format, names))), scope)
    loop = scope[body.__name__]
    place = {"co_filename": body.__code__.co_filename, "co_firstlineno": body.__code__.co_firstlineno}
    loop.__code__, loop.__module__ = loop.__code__.replace(**place), body.__module__
    return loop
