"""What an error says to do with numbers of a type that an operator refuses is done, and then the operator takes them.

The definitions check what kernels check, so nothing is compiled here.
"""

from __future__ import annotations

import re

import numpy as np
import pytest
from conftest import copy
from samples import SAMPLES, defined

import lodkit
from lodkit import LoDTensor, SelectedRows
from lodkit.registry.kinds import numbers_of

#: Types that operators refuse, as values, ids, weights or states.
REFUSED = ["?", "i1", "u4", "u8", "i8", "g", "c8", "m8[s]", "U9", "O", [("a", "f4")]]
#: Errors that say which argument to give, as their trouble is not how numbers are stored.
OTHERS = (
    r"pass the ids of all steps, then the scores",
    r"mask holds .*; give True or False, or the integers 1 or 0",
    r"pad_value .* pass a number",
    r"must be packed rows of uint8, not .*; make them with quantize_rows",
)
TARGET = r"np\.(\w+)\)"
FORMS = {
    "both": rf"convert both with \.astype\({TARGET}",
    "other": rf"convert the \S+ (?:array )?(?:whole numbers )?with \.astype\({TARGET}",
    "cast": rf"convert (?:whole numbers )?with \.astype\({TARGET}",
    "texts": rf"of whole numbers with np\.asarray\(x, np\.int64\), of others with np\.asarray\(x, {TARGET}",
    "text": rf"convert text of numbers with np\.asarray\([\w.\[\]]+, {TARGET}",
    "complex": rf"pass np\.real\([\w.\[\]]+\)\.astype\({TARGET}",
    "objects": rf"convert integers with \.astype\({TARGET}",
    "field": r"pass one field, x\[",
}


def remedied(array, message, form, target):
    """The array, as the message says that it becomes."""
    if form == "field":
        return array["a"]
    if form == "complex":
        assert "the real parts" in message
        return np.real(array).astype(target)
    if form == "text":
        return np.asarray(array, target)
    if form == "objects":
        target = "int64" if all(isinstance(x, int) for x in array.flat) else "float64"
    if form == "texts":
        return np.asarray(array, np.int64 if all(x.lstrip("-").isdigit() for x in array.flat) else target)
    if array.dtype == np.uint64 and target == "int64":
        assert "if all are below 2**63" in message
    return array.astype(target)


def check_numbers(before, after, message):
    """The same numbers: of integers all digits where the operator takes integers, of others to rounding."""
    if before.dtype.kind in "cV":
        return
    if after.dtype.kind == "i":
        assert before.astype(object if before.dtype.kind not in "mU" else after.dtype).tolist() == after.tolist()
        return
    takes_integers = "int32 or int64, not" in message
    assert not (takes_integers and before.dtype.kind in "biu"), f"integers become floats: {message}"
    seconds = before.astype(np.int64) if before.dtype.kind == "m" else before
    exact = seconds.astype(np.longdouble)
    with np.errstate(over="ignore"):
        np.testing.assert_allclose(after.astype(np.longdouble), exact, rtol=2 * np.finfo(after.dtype).eps)


def over(x, values):
    if isinstance(x, LoDTensor):
        return x.with_values(values)
    return SelectedRows(x.rows, values, x.height) if isinstance(x, SelectedRows) else values


def name_of(array):
    return "structured" if array.dtype.kind == "V" else str(array.dtype)


def follow(message, inputs, changed):
    """The inputs after what the message says; ``changed`` is the number of that of another type."""
    form, found = next(
        ((form, found) for form, text in FORMS.items() if (found := re.search(text, message))), (None, None)
    )
    assert form, f"nothing that could be done: {message}"
    kinds = {i: name_of(numbers_of(x)) for i, x in enumerate(inputs) if isinstance(numbers_of(x), np.ndarray)}
    message = message.replace(str(np.dtype(REFUSED[-1])), "structured")
    mixed = re.search(r" is (\S+), [^;]*? (\S+);", message)
    of = mixed.groups() if mixed and form == "both" else mixed.groups()[:1] if mixed else (kinds[changed],)
    of = re.findall(r"convert the (\S+) (?:array )?(?:whole|with)|of the (\S+):", message) or of
    of = [*filter(None, of[0])] if isinstance(of[0], tuple) else of
    chosen = [changed] if kinds[changed] in of and len(of) == 1 else [i for i, kind in kinds.items() if kind in of]
    made = list(inputs)
    for i in chosen:
        before = numbers_of(made[i])
        after = remedied(before, message, form, found.group(1) if found.groups() else None)
        check_numbers(before, after, message)
        made[i] = over(made[i], after)
    return made


def in_type(array, kind):
    """The numbers of an array in another type, whole where it is one of integers."""
    if isinstance(kind, list):
        made = np.zeros(array.shape, kind)
        made["a"] = array
        return made
    with np.errstate(all="ignore"):
        return (np.abs(array) if kind.startswith("u") else array).astype(kind)


def sample(name):
    """The first sample of an operator whose arrays have numbers, and which of its inputs are arrays of numbers."""
    cases = SAMPLES[name]
    inputs, attrs = next((case for case in cases if all(map(filled, case[0]))), cases[0])
    inputs = lodkit.OPS[name]._accept(tuple(map(copy, inputs)))
    return inputs, attrs, [i for i, x in enumerate(inputs) if filled(x) and isinstance(numbers_of(x), np.ndarray)]


def filled(x):
    numbers = numbers_of(x)
    return not isinstance(numbers, np.ndarray) or (numbers.size > 0 and numbers.dtype.kind in "biuf")


def run(op, inputs, attrs):
    """Run the definition; the operator where that fails on what kernels refuse."""
    try:
        defined(op, map(copy, inputs), attrs)
    except (TypeError, AttributeError, IndexError, Warning) as error:
        if isinstance(error, lodkit.LodkitError):
            raise
        op(*map(copy, inputs), **attrs)


@pytest.mark.parametrize("name", lodkit.OPS)
def test_numbers_of_another_type_are_taken_after_what_the_error_says(name):
    inputs, attrs, places = sample(name)
    for changed in places:
        for kind in REFUSED:
            given = [*map(copy, inputs)]
            try:
                given[changed] = over(given[changed], in_type(numbers_of(given[changed]), kind))
            except (lodkit.LodkitError, TypeError):
                continue  # LoDTensor and SelectedRows refuse it
            follow_all(lodkit.OPS[name], given, attrs, changed)


def follow_all(op, given, attrs, changed):
    """Do what errors of types say until the operator takes its inputs: each says something once."""
    told = []
    while True:
        try:
            return run(op, given, attrs)
        except lodkit.DTypeError as error:
            message = str(error)
        except (lodkit.LodkitError, ValueError):
            return None  # of the numbers, which are others as bool or integers
        if any(re.search(text, message) for text in OTHERS):
            return None
        assert message not in told, f"said again: {message}"
        told.append(message)
        given = follow(message, given, changed)


SHAPES = (
    r"has shape (\(.*?\))[;,] (?:it|they) must be (\([\d, ]*\))",
    r"has shape (\(.*?\)), the parameter .*; pass one of shape (\([\d, ]*\))",
    r"has shape (\(.*?\)), (?:the result|a row of data) (\([\d, ]*\)); pass one like it",
)


@pytest.mark.parametrize("name", lodkit.OPS)
def test_arrays_of_another_shape_are_taken_after_what_the_error_says(name):
    """With an axis too much, and of no dimension."""
    inputs, attrs, places = sample(name)
    for changed in places:
        array = numbers_of(inputs[changed])
        for wrong in (array[..., None], array.ravel()[0].reshape(())):
            check_shape_remedy(lodkit.OPS[name], [*map(copy, inputs)], attrs, changed, wrong)


def check_shape_remedy(op, given, attrs, changed, wrong):
    try:
        given[changed] = over(given[changed], wrong)
        run(op, given, attrs)
    except lodkit.ShapeMismatchError as error:
        message = str(error)
    except (lodkit.LodkitError, TypeError, ValueError):
        return
    else:
        return
    shapes = next((found.groups() for text in SHAPES if (found := re.search(text, message))), (None, None))
    told = re.search(r"pass \w+\.reshape\(([\d, -]+)\)", message)
    if shapes[0] == str(wrong.shape):
        target = tuple(map(int, re.findall(r"\d+", shapes[1])))
    elif not wrong.ndim and told:
        target = tuple(map(int, told.group(1).split(", ")))
    else:
        return
    given[changed] = over(given[changed], np.resize(wrong, [max(n, 1) for n in target]))
    try:
        run(op, given, attrs)
    except (lodkit.LodkitError, ValueError) as error:  # an array of one row need not fit the others
        assert not wrong.ndim, message
        assert "no dimension" not in str(error)


#: Numbers that float32 and int64 do not all hold, and what an operator that takes integers is told to make of them.
EXTREMES = [
    (np.array([[1 << 60], [1]], object), "int64", [(1 << 60) + 1]),
    (np.array([[0.5], [2]], object), "float64", [2.5]),
    (np.array([["1.5"], ["2"]]), "float64", [3.5]),
    (np.array([[1 + 2j], [2 + 1j]]), "float64", [3.0]),
    (np.array([[10**9 + 1], [10**9]], "m8[ns]"), "int64", [2 * 10**9 + 1]),
    (np.array([[16777217], [1]], np.longdouble), "float64", [16777218.0]),
]


@pytest.mark.parametrize(("rows", "target", "total"), EXTREMES, ids=lambda x: str(getattr(x, "dtype", "")))
def test_a_sum_after_the_remedy_is_the_true_one(rows, target, total):
    with pytest.raises(lodkit.DTypeError) as told:
        lodkit.segment_reduce(rows, np.array([2]), by="lengths")
    message = str(told.value)
    assert f"np.{target})" in message
    form = next(form for form, text in FORMS.items() if re.search(text, message))
    made = rows.astype(target) if form == "cast" else remedied(rows, message, form, target)
    assert lodkit.segment_reduce(made, np.array([2]), by="lengths").ravel().tolist() == total


@pytest.mark.parametrize(
    ("call", "target", "truth"),
    [
        (lambda a, b: lodkit.concat_columns(a, b), np.float64, [[1.0, 2.5]]),
        (lambda a, b: lodkit.sum(a, b), np.float64, [[3.5]]),
        (lambda a, b: lodkit.elementwise_mul(a, b), np.float64, [[2.5]]),
    ],
    ids=["concat_columns", "sum", "elementwise_mul"],
)
def test_floats_beside_integers_are_not_cut_off(call, target, truth):
    """An error that names a type of integers for 2.5 would be followed to a wrong result."""
    whole, broken = np.array([[1]]), np.array([[2.5]])
    for pair in ((whole, broken), (broken, whole)):
        with pytest.raises(lodkit.DTypeError, match=r"\.astype\(np\.float64\)") as told:
            call(*pair)
        assert "np.int64" not in str(told.value)
    assert call(whole.astype(target), broken).tolist() == truth
    with pytest.raises(lodkit.DTypeError, match=r"the int32 array with \.astype\(np\.int64\)"):
        call(np.array([[1]], np.int32), np.array([[2**40]]))
