"""Attributes and arguments that are data types, in any of NumPy's forms."""

from __future__ import annotations

import contextlib

import numpy as np
import pytest
from conftest import flat
from samples import SAMPLES

import lodkit
from lodkit.arrays.checks import as_dtype


def _named(op):
    """Attributes of an operator whose choices are names of data types."""
    choices = {name: check.choices for name, check in op._checks.items() if check.choices}
    return [(name, word) for name, words in choices.items() for word in words if word in np.sctypeDict]


def _result(op, **given):
    """The results of the first sample that takes the attributes."""
    for inputs, attrs in SAMPLES[op.name]:
        # dtype="float32" is for halves, and rows in float8 have other columns.
        with contextlib.suppress(lodkit.DTypeError, lodkit.ShapeMismatchError):
            return flat(op(*inputs, **attrs | given))
    raise AssertionError(f"no sample of {op.name} takes {given}")


CASES = [(op.name, attr, word) for op in lodkit.OPS.values() for attr, word in _named(op)]


@pytest.mark.parametrize(("name", "attr", "word"), CASES)
def test_types_and_dtypes_are_taken_for_their_names(name, attr, word):
    op = lodkit.OPS[name]
    expected = _result(op, **{attr: word})
    codes = [np.dtype(word).str[1:]] if np.dtype(word).isbuiltin == 1 else []
    for given in (np.dtype(word), np.dtype(word).type, *codes):
        for a, b in zip(_result(op, **{attr: given}), expected, strict=True):
            np.testing.assert_array_equal(a, b, strict=True)


def test_a_code_of_a_size_is_no_type():
    """Of types that NumPy lacks: two formats of float8 have the code V1."""
    for code in ("V1", "f1"):
        with pytest.raises(ValueError, match="quantize_rows: bits must be one of"):
            lodkit.quantize_rows(np.ones((2, 3)), bits=code)


@pytest.mark.parametrize(("name", "attr", "word"), CASES[:1])
def test_other_types_are_refused(name, attr, word):
    op, (inputs, attrs) = lodkit.OPS[name], SAMPLES[name][0]
    for given in (np.complex64, np.dtype(f"{word}").newbyteorder(), list, np.dtype([("a", int)])):
        with pytest.raises(TypeError, match=f"{name}: {attr} must be one of"):
            op(*inputs, **attrs | {attr: given})


@pytest.mark.parametrize("given", ["int7", "q9", 5, [("a",)], "3"])
def test_what_is_no_type_names_the_argument(given):
    with pytest.raises(TypeError, match="dtype must be a NumPy data type"):
        lodkit.empty(3, given)
    with pytest.raises(TypeError, match="dtype must be a NumPy data type"):
        lodkit.GrowingTable(2, dtype=given)
    with pytest.raises(TypeError, match="dtypes must be a NumPy data type"):
        lodkit.warmup("relu", ["float32", given])
    with pytest.raises(TypeError, match="precision must be a NumPy data type"):
        as_dtype(given, "precision")


@pytest.mark.parametrize("name", ["a\0.npz", "a\0.safetensors"])
def test_paths_have_no_null_characters(name, tmp_path):
    for call in (lambda: lodkit.load(tmp_path / name), lambda: lodkit.save(str(tmp_path / name), 1)):
        with pytest.raises(ValueError, match="path must have no null characters"):
            call()
