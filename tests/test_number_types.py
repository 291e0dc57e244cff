"""The types of numbers that operators declare are those that they take, and no others."""

from __future__ import annotations

import contextlib

import numpy as np
import pytest
from conftest import copy, flat
from samples import ALL_TYPES, SAMPLES, defined, some_of

import lodkit
from lodkit import LoDTensor, SelectedRows
from lodkit.arrays import COMPUTED, FLOATING, INTEGERS, MOVED, ORDERED, PACKED, SUMMED, TypeSet
from lodkit.registry.inputs import parts_of
from lodkit.registry.kinds import numbers_of, with_numbers


def in_type(x, dtype):
    return with_numbers(x, numbers_of(x).astype(dtype))


def draw(shape, dtype, seed=0):
    """Numbers of any bits: both signs, above 2^63 too, flags of 0 and 1, no NaT."""
    dtype, rng = np.dtype(dtype), np.random.default_rng(seed)
    if dtype.kind == "b":
        return rng.integers(0, 2, shape).astype(bool)
    bits = rng.integers(0, 256, (*shape, dtype.itemsize), np.uint8).view(dtype).reshape(shape)
    return (bits.view(np.int64) >> 1).view(dtype) if dtype.kind in "mM" else bits


def test_sets_take_both_byte_orders_and_times_in_all_units():
    for dtype in (">f4", "<f4", ">i8", "uint64", "bool", "M8[ns]", ">m8[D]"):
        assert np.dtype(dtype) in MOVED
    for dtype in ("complex64", "S3", object, "longdouble", "V2"):
        assert np.dtype(dtype) not in MOVED
    assert FLOATING.known < COMPUTED.known < MOVED.known > INTEGERS.known > PACKED.known


@pytest.mark.parametrize("name", [name for name, op in lodkit.OPS.items() if op.types])
def test_infer_refuses_what_the_operator_refuses(name):
    op = lodkit.OPS[name]
    inputs, attrs = SAMPLES[name][0]
    descs = [lodkit.VarDesc.of(x) for x in op._accept(inputs)]
    for i, given in enumerate(parts_of(op, descs, attrs)):
        if given in op.types and descs[i] is not None and 0 not in descs[i].dims:
            wrong = [*descs[:i], descs[i].but(dtype=np.complex64), *descs[i + 1 :]]
            with pytest.raises(lodkit.DTypeError, match=f"{name} takes {op.types[given].words}, not complex64"):
                op.full.infer(*wrong, **attrs)


def test_every_operator_declares_its_types():
    missing = [f"{name} of lodkit/ops/{op.family}.py" for name, op in lodkit.OPS.items() if not op.types]
    assert not missing, f"say what these take, @op(types=...), and write docs/number-types.md anew: {missing}"


def test_declared_types_name_inputs():
    with pytest.raises(TypeError, match="declared: types= is MOVED, COMPUTED, FLOATING or INTEGERS"):

        @lodkit.op(types={"y": MOVED})
        def declared(x, /):
            return x

    assert all(isinstance(types, TypeSet) for op in lodkit.OPS.values() for types in op.types.values())


#: Operators that look at no numbers: they hand on whatever they get.
HANDS_ON = {"get_tensor_from_selected_rows", "lod_append", "lod_array_length", "lod_rank_table", "lod_reset", "shape"}
HANDS_ON |= {"max_sequence_len", "isfinite", "isinf", "isnan", "read_from_array", "sequence_reshape", "write_to_array"}


@pytest.mark.parametrize("name", [n for n, op in lodkit.OPS.items() if op.types and n not in HANDS_ON])
def test_other_types_are_refused(name):
    """By the definition and by kernels, with numbers of one type in all inputs that have some."""
    op = lodkit.OPS[name]
    given = next(iter(op.types))
    cases = [(op._accept(tuple(map(copy, inputs))), attrs) for inputs, attrs in SAMPLES[name]]
    cases = [(dict(enumerate(parts_of(op, inputs, attrs))), inputs, attrs) for inputs, attrs in cases]
    cases = [(i, inputs, attrs) for names, inputs, attrs in cases for i in names if names[i] == given]
    at, inputs, attrs = next(case for case in cases if getattr(numbers_of(case[1][case[0]]), "size", 0))
    kind = numbers_of(inputs[at]).dtype
    alike = [isinstance(numbers_of(x), np.ndarray) and numbers_of(x).dtype == kind for x in inputs]
    wrong = [in_type(x, np.complex64) if same else x for x, same in zip(inputs, alike, strict=True)]
    for call in (op.definition, op.full):
        with pytest.raises(lodkit.DTypeError):
            call(*map(copy, wrong), **attrs)


#: In both byte orders, and of times. Each operator is called with one that it takes, in turns.
OTHERS = ["int8", "uint16", "bool", "uint64", ">u4", "uint8", "int16", "M8[ns]", "uint32", ">i2", "m8[s]", ">u8"]
TAKING = [
    name
    for name, op in lodkit.OPS.items()
    if op.types and next(iter(op.types.values())) in (MOVED, ORDERED, SUMMED) and name not in HANDS_ON
]
MOST = 2  # samples of an operator: a reduction of another kind, or of other columns, compiles for half a second


def in_turns(turn, others=OTHERS):
    """Every operator with a type that it takes; ``turn`` says which is the first one's."""
    for i, name in enumerate(TAKING):
        at = (i + turn) % len(others)
        dtype = next(dtype for dtype in others[at:] + others[:at] if can_take(lodkit.OPS[name], np.dtype(dtype)))
        yield pytest.param(name, dtype, id=f"{name}-{dtype}")


def can_take(op, dtype):
    """Whether an operator takes values of a type; what it changes in place has the byte order of the machine."""
    return dtype in next(iter(op.types.values())) and (dtype.isnative or not op.updates)


#: A type of each width.
ON_GPUS = [*in_turns(2, ["uint64", "int16", "bool", "uint32"])]


def samples_in(name, dtype):
    """Samples whose values become numbers of a type; those of floating numbers beside them, too."""
    op = lodkit.OPS[name]
    given = next(iter(op.types))
    for seed, (inputs, attrs) in enumerate(SAMPLES[name]):
        inputs = op._accept(inputs)
        names = parts_of(op, inputs, attrs)
        if given not in names:
            continue
        values = numbers_of(inputs[names.index(given)])
        if not isinstance(values, np.ndarray) or values.dtype.kind != "f":
            continue
        alike = [isinstance(numbers_of(x), np.ndarray) and numbers_of(x).dtype == values.dtype for x in inputs]
        pairs = zip(inputs, alike, strict=True)
        made = [with_numbers(x, draw(numbers_of(x).shape, dtype, seed)) if same else copy(x) for x, same in pairs]
        yield made, attrs


def taken_samples(name, dtype):
    """Those that the definition takes, with its results: a weighted sum takes no integers, a mean none either."""
    op, taken = lodkit.OPS[name], []
    for inputs, attrs in samples_in(name, dtype):
        with contextlib.suppress(lodkit.DTypeError, ValueError), np.errstate(all="ignore"):
            taken.append((inputs, attrs, defined(op, map(copy, inputs), attrs)))
    return taken if ALL_TYPES else taken[:: max(1, len(taken) // MOST)][:MOST]


def same_words(got, expected):
    for g, e in zip(flat(got), flat(expected), strict=True):
        assert (g.dtype, g.shape) == (e.dtype.newbyteorder("="), e.shape)
        assert np.ascontiguousarray(g).tobytes() == np.ascontiguousarray(e, g.dtype).tobytes()


def check(name, dtype, place):
    op, some = lodkit.OPS[name], False
    for inputs, attrs, expected in taken_samples(name, dtype):
        result = op.full(*[place.to(copy(x)) for x in inputs], **attrs)
        same_words(place.home(result), expected)
        some = True
    assert some, f"no sample of {name} was taken in {dtype}"


@pytest.mark.parametrize("place", ["cpu"], indirect=True)
@pytest.mark.parametrize(("name", "dtype"), [case for turn in range(12 if ALL_TYPES else 1) for case in in_turns(turn)])
def test_kernels_give_what_definitions_give_in_every_type(name, dtype, place):
    check(name, dtype, place)


@pytest.mark.parametrize("place", ["cuda"], indirect=True)
@pytest.mark.parametrize(("name", "dtype"), some_of(ON_GPUS, 3))
def test_kernels_of_gpus_do_too(name, dtype, place):
    check(name, dtype, place)


@pytest.mark.parametrize(("name", "dtype"), [*in_turns(3)])
def test_infer_knows_the_types(name, dtype):
    op, taken = lodkit.OPS[name], taken_samples(name, dtype)
    assert taken, f"no sample of {name} was taken in {dtype}"
    for inputs, attrs, expected in taken:
        promised = op.full.infer(*map(lodkit.VarDesc.of, inputs), **attrs)
        several = isinstance(promised, tuple)
        for desc, value in zip(promised if several else [promised], expected if several else [expected], strict=True):
            found = lodkit.VarDesc.of(value)
            assert desc.dtype == found.dtype and desc.covers(found)


#: States, and values that go with others: their type is that of something else.
NO_IDS = {("weighted_sum", "rest"), ("smart_decay_adam", "last_seen"), ("rowwise_counter", "prev_iter")}
SMALL = ["uint8", "uint64", "int16", "uint32", "int8", "uint16"]


def samples_with_ids(name, number):
    """Calls with ids or lengths of int64 or int32, and the same with one input of them in another integer type."""
    op = lodkit.OPS[name]
    values = {given for given, types in op.types.items() if types is not INTEGERS}
    for k, (inputs, attrs) in enumerate(SAMPLES[name][:MOST]):
        inputs = op._accept(inputs)
        for i, (given, x) in enumerate(zip(parts_of(op, inputs, attrs), inputs, strict=True)):
            numbers = None if x is None or given in values or (name, given) in NO_IDS else numbers_of(x)
            if isinstance(x, SelectedRows) or not isinstance(numbers, np.ndarray) or numbers.dtype.kind != "i":
                continue
            kinds = ["int8", "int16"] if numbers.min(initial=0) < 0 else SMALL
            dtype = kinds[(number + k + i) % len(kinds)]
            if np.abs(numbers).max(initial=0) < 100:
                yield inputs, [in_type(x, dtype) if j == i else y for j, y in enumerate(inputs)], attrs


WITH_IDS = [case for case in enumerate(lodkit.OPS) if any(samples_with_ids(*reversed(case)))]


@pytest.mark.parametrize(("number", "name"), WITH_IDS)
def test_ids_and_lengths_may_be_of_every_integer_type(number, name):
    op = lodkit.OPS[name]
    for inputs, small, attrs in samples_with_ids(name, number):
        expected = op.full(*map(copy, inputs), **attrs)
        for got, wanted in zip(flat(op.full(*map(copy, small), **attrs)), flat(expected), strict=True):
            np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize("place", ["cuda"], indirect=True)
@pytest.mark.parametrize("dtype", SMALL)
def test_ids_on_gpus_may_too(dtype, place):
    ids, table = np.array([2, 0, 2], dtype), np.arange(6.0).reshape(3, 2)
    calls = [
        (lodkit.lookup_table, (table, ids), {}),
        (lodkit.embedding_bag, (table, LoDTensor(ids, [[2, 1]])), {}),
        (lodkit.segment_reduce, (table, ids), {"by": "unsorted_ids"}),
        (lodkit.sequence_mask, (ids,), {}),
        (lodkit.sequence_unpad, (table.reshape(3, 2, 1), ids), {}),
        (lodkit.partition, (ids, table), {"num_outputs": 4}),
        (lodkit.unique, (ids,), {}),
    ]
    for op, inputs, attrs in calls:
        same_words(place.home(op(*map(place.to, inputs), **attrs)), defined(op, inputs, attrs))
