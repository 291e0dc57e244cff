"""Errors for what NumPy refuses while an operator runs: sizes that no memory holds, no dimensions, uneven lists.

Operators would check these one by one, at each call. Nothing was written yet: launchers make their results first.
"""

from __future__ import annotations

import numpy as np

from ..base.errors import DTypeError, LoDError, LodkitError, NoKernelError, ShapeMismatchError, SizeError
from ..lod import LoDTensor, SelectedRows
from ..lod.large import is_size, memory_error
from .inputs import names_of
from .kinds import numbers_of
from .mistakes import explain_mistake
from .usage import rename_attributes, write_call

#: Errors of inputs that misfit.
_MISTAKES = (TypeError, ValueError, AttributeError, NoKernelError)
_NO_ROWS = ("len() of unsized", "iteration over a 0-d", "tuple index out of range", "too many indices for array")


def explain(op, inputs, attrs, error):
    """Return an error that names inputs and attributes, in place of one of NumPy's; None for others."""
    text = str(error)
    if not hasattr(op, "inputs"):  # a function of the array API on a tape
        return None
    if isinstance(error, TypeError) and (misnamed := by_position(op, attrs)):
        return misnamed
    if isinstance(error, _MISTAKES) and (meant := explain_mistake(op, inputs, attrs, error)):
        return meant
    if type(error) is DTypeError and _names_reduction(op, attrs, text):  # it refuses the first input
        return DTypeError(f"{op.name}: {names_of(op, inputs)[0]}: {text}")
    if isinstance(error, LodkitError) and (not isinstance(error, SizeError) or text.startswith(f"{op.name}: ")):
        return None
    named = [*zip(names_of(op, inputs), inputs, strict=False)]
    if isinstance(error, TypeError | IndexError) and text.startswith(_NO_ROWS):
        return next(filter(None, (_without_rows(op, name, x) for name, x in named)), None)
    if isinstance(error, ValueError) and "inhomogeneous" in text:
        return next(filter(None, (_uneven_error(op, name, x) for name, x in [*attrs.items(), *named])), None)
    return memory_error(op.name, [*attrs.items(), *named], error) if is_size(error) else None


def check_keywords(op, attrs):
    """Return the attributes of a call by their new names; refuse inputs among them."""
    if misnamed := by_position(op, attrs):
        raise misnamed
    return rename_attributes(op, attrs)


def by_position(op, attrs):
    """Return the error for inputs that were given by name; None if there are none."""
    given = [name for name in op.inputs if name in attrs and name not in op._checks]
    if not given:
        return None
    are, them = ("are", "them") if len(given) > 1 else ("is", "it")
    return TypeError(
        f"{op.name}: {' and '.join(given)} {are} positional, pass {them} without {', '.join(f'{n}=' for n in given)}: "
        f"{write_call(op)}"
    )


def _names_reduction(op, attrs, text):
    """Whether the first word of an error is a reduction, which an attribute names."""
    return any(isinstance(x, str) and text.startswith(f"{x} ") for x in {**op.defaults, **attrs}.values())


def _uneven_error(op, name, x):
    if isinstance(x, list | tuple):
        try:
            np.asarray(x)
        except ValueError:
            return LoDError(f"{op.name}: {name} = {x!r:.200} is a list of uneven lists; pass lists of one length")
    return None


def _without_rows(op, name, x):
    numbers = numbers_of(x)
    if not isinstance(numbers, np.ndarray | np.generic | int | float) or np.ndim(numbers):
        return None
    if isinstance(x, LoDTensor | SelectedRows):
        return LoDError(f"{op.name}: {name} was made of rows, its values have shape () now; make it anew")
    return ShapeMismatchError(f"{op.name}: {name} has no dimension; the first one counts rows, pass {name}.reshape(1)")
