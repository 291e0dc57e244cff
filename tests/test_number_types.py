"""The types of numbers that operators declare are those that they take, and no others."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import copy
from samples import SAMPLES

import lodkit
from lodkit.arrays import COMPUTED, FLOATING, INTEGERS, MOVED, TypeSet
from lodkit.registry.kinds import numbers_of, with_numbers


def in_type(x, dtype):
    return with_numbers(x, numbers_of(x).astype(dtype))


def test_sets_take_both_byte_orders_and_times_in_all_units():
    for dtype in (">f4", "<f4", ">i8", "uint64", "bool", "M8[ns]", ">m8[D]"):
        assert np.dtype(dtype) in MOVED
    for dtype in ("complex64", "S3", object, "longdouble", "V2"):
        assert np.dtype(dtype) not in MOVED
    assert FLOATING.known < COMPUTED.known < MOVED.known > INTEGERS.known


@pytest.mark.parametrize("name", [name for name, op in lodkit.OPS.items() if op.types])
def test_infer_refuses_what_the_operator_refuses(name):
    op = lodkit.OPS[name]
    inputs, attrs = SAMPLES[name][0]
    descs = [lodkit.VarDesc.of(x) for x in op._accept(inputs)]
    for i, given in enumerate(op._names(descs)):
        if given in op.types and descs[i] is not None and 0 not in descs[i].dims:
            wrong = [*descs[:i], descs[i].but(dtype=np.complex64), *descs[i + 1 :]]
            with pytest.raises(lodkit.DTypeError, match=f"{name} takes {op.types[given].words}, not complex64"):
                op.full.infer(*wrong, **attrs)


def test_declared_types_name_inputs():
    with pytest.raises(TypeError, match="declared: types= is MOVED, COMPUTED, FLOATING or INTEGERS"):

        @lodkit.op(types={"y": MOVED})
        def declared(x, /):
            return x

    assert all(isinstance(types, TypeSet) for op in lodkit.OPS.values() for types in op.types.values())


#: Operators that look at no numbers: they hand on whatever they get.
HANDS_ON = {"get_tensor_from_selected_rows", "lod_append", "lod_array_length", "lod_rank_table", "lod_reset", "shape"}
HANDS_ON |= {"isfinite", "isinf", "isnan", "read_from_array", "sequence_reshape", "write_to_array"}


@pytest.mark.parametrize("name", [n for n, op in lodkit.OPS.items() if op.types and n not in HANDS_ON])
def test_other_types_are_refused(name):
    """By the definition and by kernels, with numbers of one type in all inputs that have some."""
    op = lodkit.OPS[name]
    given = next(iter(op.types))
    cases = [(op._accept(tuple(map(copy, inputs))), attrs) for inputs, attrs in SAMPLES[name]]
    cases = [(dict(enumerate(op._names(inputs))), inputs, attrs) for inputs, attrs in cases]
    cases = [(i, inputs, attrs) for names, inputs, attrs in cases for i in names if names[i] == given]
    at, inputs, attrs = next(case for case in cases if getattr(numbers_of(case[1][case[0]]), "size", 0))
    kind = numbers_of(inputs[at]).dtype
    alike = [isinstance(numbers_of(x), np.ndarray) and numbers_of(x).dtype == kind for x in inputs]
    wrong = [in_type(x, np.complex64) if same else x for x, same in zip(inputs, alike, strict=True)]
    for call in (op.definition, op.full):
        with pytest.raises(lodkit.DTypeError):
            call(*map(copy, wrong), **attrs)
