"""What was meant by a call whose inputs misfit: swapped, without lengths, text, attributes by position, tuples.

It is asked on the way out of a call that raised, and looks at kinds, shapes and types alone. Where it is not sure it
says nothing, and the error stays as it was.
"""

from __future__ import annotations

import itertools

import numpy as np

from ..arrays import is_array
from ..base.errors import DTypeError, LodkitError
from ..lod import LoDTensor, SelectedRows
from .kinds import CONTAINERS, Dense, kind_of, numbers_of
from .usage import count_error, fits_attribute, match_attributes, need_error, unknown_error, write_call

#: Inputs that are integers in every operator that has one of the name.
_INTEGERS = {
    "ids",
    "labels",
    "label",
    "lengths",
    "offsets",
    "segment_ids",
    "segments",
    "indices",
    "hyp",
    "ref",
    "inference",
}
#: Lengths and offsets by the names of other libraries.
_LENGTHS = {
    "lengths",
    "length",
    "row_lengths",
    "seq_lens",
    "seq_lengths",
    "sequence_length",
    "recursive_sequence_lengths",
}
_OFFSETS = {"offsets", "row_splits", "cu_seqlens", "lod", "splits", "indptr"}
_SHOWN = 8  # lengths in a message
_MOST_NUMBERS = 1_000_000  # that are looked at: an array of stride 0 has any number of elements


def explain_mistake(op, inputs, attrs, error):
    """Return an error of the type of ``error`` that says what was meant; None where nothing is recognised."""
    finders = [find_tuple, find_swap, find_lengths, find_position]
    if type(error) is not DTypeError or "hyp" in op.inputs:  # that has the place, too
        finders.append(find_text)
    try:
        text = next(filter(None, (find(op, inputs, attrs) for find in finders)), None)
    except Exception:  # of an object that is no array, say: the first error counts
        text = None
    if text is None:
        return explain_usage(op, inputs, attrs) if isinstance(error, TypeError) else None
    kind = type(error) if isinstance(error, LodkitError) or type(error) in (TypeError, ValueError) else TypeError
    return kind(f"{op.name}: {text}")


def explain_usage(op, inputs, attrs):
    """Return the error for inputs or attributes that lack or do not exist; None if a call has what it must."""
    unknown = [name for name in attrs if name not in op._checks and name not in op.inputs]
    if unknown and len(inputs) >= op.required:
        return unknown_error(op, unknown[0], attrs[unknown[0]])
    if (counted := count_error(op, len(inputs), attrs, unknown)) or len(inputs) < op.required:
        return counted
    return need_error(op, attrs, len(inputs))


def describe(x):
    """Say what an input is: its kind, shape and type."""
    numbers = numbers_of(x)
    dtype = f" of {numbers.dtype}" if hasattr(numbers, "dtype") else ""
    if isinstance(x, LoDTensor | SelectedRows):
        return f"{'a LoDTensor' if isinstance(x, LoDTensor) else 'SelectedRows'}{dtype}"
    if is_array(x):
        return f"an array of shape {tuple(x.shape)}{dtype}"
    return "None" if x is None else f"a {type(x).__name__}"


def find_swap(op, inputs, attrs):
    """Recognise two inputs in each other's place: as they stand one of them misfits, and swapped both fit."""
    names = [*op.inputs][: len(inputs)]
    if op.variadic or len(names) < len(inputs):
        return None
    wrong = {i for i, (name, x) in enumerate(zip(names, inputs, strict=True)) if misfits(op, name, x)}
    if not wrong:
        return None
    for i, j in itertools.combinations(range(len(inputs)), 2):
        if wrong <= {i, j} and inputs[i] is not None and inputs[j] is not None:
            if any(names[k] in _INTEGERS and k not in wrong for k in (i, j)):  # integers where they belong
                continue
            bare = _needs_wrapping(op, names, inputs, i, j)
            if not bare and (misfits(op, names[i], inputs[j]) or misfits(op, names[j], inputs[i])):
                continue
            got = f"{names[i]} is {describe(inputs[i])}, {names[j]} {describe(inputs[j])}"
            if i in wrong and j not in wrong and _wants_lod(op, names[i]) and is_array(inputs[i]):
                got += f" (or is {names[i]} an array without lengths? LoDTensor({names[i]}, [lengths]) has some)"
            shown = write_call(op, [*op.inputs][: max(len(names), op.required)])
            if bare:
                shown = shown.replace(bare, f"LoDTensor({bare}, [lengths])")
            return f"the inputs are ({', '.join(names)}): are {names[i]} and {names[j]} swapped? {got}; call {shown}"
    return None


def _needs_wrapping(op, names, inputs, i, j):
    """Return the name of an input that got floats for integers, and the integers elsewhere as a plain array."""
    for one, other in ((i, j), (j, i)):
        name, x, given = names[one], inputs[other], inputs[one]
        floats = name in _INTEGERS and "float" in str(getattr(numbers_of(given), "dtype", ""))
        plain = isinstance(x, np.ndarray) and x.ndim == 1 and x.dtype.kind in "iu"
        if floats and plain and _wants_lod(op, name) and not misfits(op, names[other], given):
            return name
    return None


def misfits(op, name, x):
    """Whether an input is of a kind or a type that an operator does not take there."""
    kinds = op.inputs[name]
    if x is None:
        return type(None) not in kinds
    array = x
    if isinstance(x, list | tuple):
        if Dense not in kinds and not (LoDTensor in kinds and any(isinstance(part, list | tuple) for part in x)):
            return True
        array = _array_of(x)
    elif isinstance(x, int | float | np.generic):
        return Dense not in kinds
    else:
        rows = isinstance(x, LoDTensor) and (name in op.rowwise or not x.lod_level)
        if not (isinstance(x, CONTAINERS) or is_array(x)) or not (rows or kind_of(x) in kinds):
            return True
    dtype = str(getattr(numbers_of(array), "dtype", ""))
    return name in _INTEGERS and ("float" in dtype or "complex" in dtype)


def _holds_lengths(op, x):
    """Whether a LoDTensor may stand for lengths: of any kind, or with whole numbers where each row is a length."""
    whole = "lengths" in op.rowwise and np.dtype(numbers_of(x).dtype).kind in "iu"
    return whole or LoDTensor in op.inputs["lengths"]


def find_lengths(op, inputs, attrs):
    """Recognise lengths or offsets beside a plain array, which a LoDTensor holds together."""
    names = [*op.inputs]
    for i, (name, x) in enumerate(zip(names, inputs, strict=False)):
        if name == "lengths" and isinstance(x, LoDTensor) and not _holds_lengths(op, x):
            return f"{name} is a LoDTensor, which has lengths; pass {name}.lengths()"
        flat = is_array(x) and not isinstance(x, CONTAINERS) and bool(getattr(x, "shape", ()))
        if not (_wants_lod(op, name) and (flat or (isinstance(x, list) and not _is_nested(x)))):
            continue
        rows = len(x)
        beside = [(key, value) for key, value in attrs.items() if key in _LENGTHS | _OFFSETS and key not in op._checks]
        beside += [("", value) for value in inputs[len(names) :]]
        after = inputs[i + 1 : i + 2]
        if len(names) > i + 1 and type(None) in op.inputs[names[i + 1]]:
            beside += [("", value) for value in after]
        for key, value in beside:
            if (made := _write_structure(name, value, rows, key)) is not None:
                return f"{name} must be a LoDTensor, which holds rows and lengths together; pass {made}"
    return None


def _write_structure(name, value, rows, key):
    """Return the LoDTensor of an array and lengths or offsets as source; None where the numbers are neither."""
    numbers = _array_of(value)
    if numbers is None or numbers.ndim != 1 or numbers.dtype.kind not in "iu" or numbers.size > _MOST_NUMBERS:
        return None
    sums, last = int(numbers.sum()), int(numbers[-1]) if numbers.size else -1
    if key not in _OFFSETS and sums == rows:
        return f"LoDTensor({name}, [{_show(numbers, 'lengths')}])"
    rising = numbers.size and numbers[0] == 0 and bool((np.diff(numbers.astype(np.int64)) >= 0).all()) and last <= rows
    if key in _LENGTHS or not rising:
        return None
    whole = numbers if last == rows else np.append(numbers, rows)
    shown = _show(whole, "offsets" if last == rows else "[*offsets, len(rows)]".replace("rows", name))
    return f"LoDTensor({name}, lod=[{shown}])"


def _show(numbers, otherwise):
    return str(numbers.tolist()) if numbers.size <= _SHOWN else otherwise


def _wants_lod(op, name):
    return LoDTensor in op.inputs[name] and Dense not in op.inputs[name]


def find_position(op, inputs, attrs):
    """Recognise attributes that were given by position: after the inputs, or in the place of an optional one."""
    names = [*op.inputs]
    if op.variadic:
        return None
    at = next((i for i, x in enumerate(inputs) if i and _is_setting(op, attrs, names[i : i + 1], x)), len(names))
    if at < len(inputs) and (written := match_attributes(op, inputs[at:], attrs)):
        takes = f"{len(names)} input{'s' * (len(names) != 1)}, ({', '.join(names)})"
        return f"it takes {takes}, and attributes by name: {write_call(op, names[:at], written)}"
    return None


def _is_setting(op, attrs, name, x):
    """Whether a value in the place of an input belongs to an attribute: one of its names, or a number that lacks."""
    if not name or isinstance(x, str | type | np.dtype):
        return any(fits_attribute(op, attr, x) for attr in op._checks if not name or op._checks[attr].choices)
    number = isinstance(x, int | float) and (name[0] in op.updates or type(None) in op.inputs[name[0]])
    return number and any(fits_attribute(op, attr, x) for attr in op._needed if attr not in attrs)


def find_text(op, inputs, attrs):
    """Recognise text where numbers belong."""
    for name, x in zip(op.inputs, inputs, strict=False):
        first = x if isinstance(x, str) else _find_leaf(x)
        if isinstance(first, str) and not _is_number(first):
            return f"{name} holds text ({first[:20]!r}), and operators take numbers; {_advise_on_text(op, name, x)}"
    return None


def _advise_on_text(op, name, x):
    if name in ("hyp", "ref") or {"hyp", "ref"} <= op.inputs.keys():
        one = f"[[ord(c) for c in text] for text in {f'[{name}]' if isinstance(x, str) else name}]"
        return f"of characters pass LoDTensor.from_nested({one}); of words the ids of one vocabulary for all inputs"
    if isinstance(x, str):
        words = f"[{name}.split()]"
    elif _is_nested(x):
        words = name
    else:
        split = any(" " in text for text in x if isinstance(text, str))
        words = f"[text.split() for text in {name}]" if split else f"[{name}]"
    ids = "vocab(words)" if LoDTensor in op.inputs[name] or name in op.rowwise else "vocab(words).values"
    where = "" if name in _INTEGERS else ", which lodkit.lookup_table(table, ids) turns into rows"
    return f"words = {words}; vocab = lodkit.vocabulary(words); the ids are {ids}{where}"


def _find_leaf(x):
    """The first element of nested lists, or of an array of text."""
    for _ in range(8):
        if isinstance(x, np.ndarray) and x.dtype.kind in "OSTU" and x.size:
            x = x.flat[0]
        if not (isinstance(x, list | tuple) and x):
            break
        x = next((part for part in x if part is not None and not (isinstance(part, list | tuple) and not part)), None)
    return x


def _is_number(text):
    try:
        float(text)
    except ValueError:
        return False
    return True


def find_tuple(op, inputs, attrs):
    """Recognise the results of an operator that returns several, given on as one input."""
    for name, x in zip(op.inputs, inputs, strict=False):
        if isinstance(x, tuple) and not op.variadic:
            inner = [part for part in x if isinstance(part, (*CONTAINERS, tuple)) or is_array(part)]
            if inner and len(inner) == len(x):
                kinds = ", ".join("LoDTensor" if isinstance(part, LoDTensor) else type(part).__name__ for part in x)
                return (
                    f"{name} is a tuple ({kinds}), all results of an operator; pass one of "
                    f"them, {name}[0], or take them apart: first, *others = {name}"
                )
    return None


def _is_nested(x):
    return isinstance(x, list | tuple) and any(isinstance(part, list | tuple | np.ndarray) for part in x)


def _array_of(x):
    """Numbers in lists or an array as one of NumPy's; None where they are uneven or no numbers."""
    try:
        made = np.asarray(x) if isinstance(x, list | tuple | np.ndarray) else None
    except (ValueError, TypeError, OverflowError):
        return None
    return made if made is None or made.dtype.kind in "biufc" else None
