"""Rules that hold for every operator. Nothing here names one."""

from __future__ import annotations

import itertools
import os

import numpy as np
import pytest
from calls import calling
from conftest import check_locked, copy, flat
from differences import parameters
from samples import ALL_TYPES, SAMPLES, defined, some_of

import lodkit
from lodkit import LoDTensor, SelectedRows, VarDesc
from lodkit.registry.kinds import numbers_of
from lodkit.registry.public_call import side_by_side


def has_halves(x):
    return getattr(getattr(x, "values", getattr(x, "value", x)), "dtype", None) == np.float16


def each_sample():
    """All samples; of few kernels those in float16 of one operator of three, as they take kernels of their own."""
    with_halves = {*some_of(SAMPLES, 3)}
    for name, cases in SAMPLES.items():
        for i, (inputs, attrs) in enumerate(cases):
            if name in with_halves or not any(map(has_halves, inputs)):
                yield pytest.param(name, inputs, attrs, id=f"{name}-{i}")


TOLERANCE = {2: 2e-3, 4: 2e-5, 8: 1e-11}


def same(got, expected):
    """Same kinds, structure, shapes, types; values to rounding."""
    assert type(got) is type(expected)
    for g, e in zip(flat(got), flat(expected), strict=True):
        assert g.shape == e.shape
        assert g.dtype == e.dtype
        tolerance = TOLERANCE[g.dtype.itemsize] if g.dtype.kind == "f" else 0
        np.testing.assert_allclose(g, e, rtol=tolerance, atol=tolerance)


def same_bits(got, expected):
    for g, e in zip(flat(got), flat(expected), strict=True):
        np.testing.assert_array_equal(g, e)


@pytest.mark.parametrize("name", lodkit.OPS)
def test_is_documented_inferred_and_sampled(name):
    op = lodkit.OPS[name]
    assert op.__doc__ and ">>>" in op.__doc__, f"show a call of {name} in its docstring: >>> {name}(...)"
    assert op.infer_function is not None, f"say what {name} gives: @op(like=...), or a rule, @{name}.infer_rule"
    assert SAMPLES[name], f"{name} has an empty list of samples in tests/samples/{op.family}.py"


@pytest.mark.parametrize(("name", "inputs", "attrs"), [*each_sample()])
def test_kernel_equals_definition(name, inputs, attrs):
    op = lodkit.OPS[name]
    with calling(name, inputs, attrs):
        result = op.full(*map(copy, inputs), **attrs)
        same(result, defined(op, map(copy, inputs), attrs))
        check_locked(result)
        descs = [VarDesc.of(x) for x in op._accept(inputs)]
        inferred = op.full.infer(*descs, **attrs)
        unknown = op.full.infer(*(d and d.unknown_batch() for d in descs), **attrs)
        for promise in (inferred, unknown):
            covers(promise, result)


def covers(promise, result):
    """Check that a result, or each of several, is what was inferred; a tuple may be one array of tensors."""
    several = isinstance(promise, tuple)
    for desc, value in zip(promise if several else (promise,), result if several else (result,), strict=True):
        assert desc.covers(VarDesc.of(value)), (desc, VarDesc.of(value))


def numbers_type(inputs):
    """The type of the first floating input."""
    dtypes = [getattr(getattr(x, "values", getattr(x, "value", x)), "dtype", None) for x in inputs]
    return next((d for d in dtypes if d is not None and d.kind == "f"), None)


def in_one_type():
    """Samples in single precision or of integers; of operators without them, and with LODKIT_TEST_TYPES=all, all.

    Large batches take kernels of their own in each type, and how threads share them does not depend on it.
    """
    for name, cases in SAMPLES.items():
        types = [numbers_type(inputs) for inputs, _ in cases]
        every = np.float32 not in types or ALL_TYPES
        for i, (case, kind) in enumerate(zip(cases, types, strict=True)):
            if every or kind in (np.float32, None):
                yield pytest.param(name, *case, id=f"{name}-{i}")


@pytest.mark.parametrize(("name", "inputs", "attrs"), [*in_one_type()])
def test_threads_give_the_same_bits(name, inputs, attrs, tiny_blocks):
    """As many as there are, and none, in chunks and blocks of 3 rows; twice."""
    op = lodkit.OPS[name]
    from lodkit.jit import settings

    with calling(name, inputs, attrs):
        results = [op.full(*map(copy, inputs), **attrs) for _ in range(2)]
        settings.parallel_from, settings.fetch_from = 1 << 60, 1 << 13
        alone = op.full(*map(copy, inputs), **attrs)
        for result in results:
            same_bits(result, alone)
        if not op.rowwise:
            same(alone, defined(op, map(copy, inputs), attrs))


#: Operators whose definitions take float16, of which there is no sample. None is added.
WITHOUT_HALVES = {
    *("advance_power", "fc_grad", "lengths_pad", "lengths_partition", "lod_array_length", "lod_rank_table", "radam"),
    *("quantized_embedding_bag_weights_grad", "read_from_array", "reduce_dims_weights_grad", "write_to_array"),
    "softmax_with_cross_entropy_grad",
}


def takes_halves(op, inputs, attrs):
    """Whether the definition takes the floating numbers of a sample in float16."""
    halves = [with_numbers(x, numbers_of(x).astype(np.float16)) if is_floating(x) else x for x in map(copy, inputs)]
    try:
        with np.errstate(all="ignore"):
            defined(op, halves, attrs)
    except (lodkit.LodkitError, ValueError):
        return False
    return True


@pytest.mark.skipif(not ALL_TYPES or "LODKIT_TEST_SAMPLES" in os.environ, reason="only some of the samples are there")
@pytest.mark.parametrize("name", [name for name, op in lodkit.OPS.items() if op.family != "bag_updates"])
def test_halves_are_sampled(name):
    """Where the definition takes them: a type without a sample has no tests."""
    op = lodkit.OPS[name]
    calls = [(op._accept(tuple(inputs)), attrs) for inputs, attrs in SAMPLES[name]]
    calls = [(inputs, attrs) for inputs, attrs in calls if any(map(is_floating, inputs))]
    sampled = any(has_halves(x) for inputs, _ in calls for x in inputs)
    missing = not sampled and any(takes_halves(op, *call) for call in calls)
    remedy = f"the definition of {name} takes float16: add a sample to tests/samples/{op.family}.py"
    assert not missing or name in WITHOUT_HALVES, remedy
    assert missing or name not in WITHOUT_HALVES, f"{name} is sampled now: take it out of WITHOUT_HALVES"


def layouts(x):
    """The same values in memory that kernels find awkward, and what that is."""
    if isinstance(x, LoDTensor):
        yield from ((x.with_values(v), what) for v, what in layouts(x.values))
    elif isinstance(x, SelectedRows):
        yield from ((SelectedRows(x.rows, v, x.height), what) for v, what in layouts(x.value))
    elif isinstance(x, np.ndarray) and x.size:
        yield np.asfortranarray(x.copy()), "in Fortran order"
        yield np.repeat(x, 2, axis=0)[::2] if x.ndim else x.copy(), "strided"
        yield np.flip(np.flip(x).copy()), "reversed"
        yield x.astype(x.dtype.newbyteorder()), "of the other byte order"
        frozen = x.copy()
        frozen.flags.writeable = False
        yield frozen, "read-only"


@pytest.mark.parametrize("name", lodkit.OPS)
def test_memory_layouts(name):
    """Strided, Fortran-ordered, reversed, swapped and read-only inputs give the same result, or are refused."""
    op = lodkit.OPS[name]
    halves = [case for case in SAMPLES[name] if any(has_halves(x) for x in case[0])]
    for inputs, attrs in SAMPLES[name][:1] + halves[:3]:
        with calling(name, inputs, attrs):
            check_layouts(op, inputs, attrs)


def check_layouts(op, inputs, attrs):
    expected = op(*map(copy, inputs), **attrs)
    for i, x in enumerate(inputs):
        for other, what in layouts(x):
            args = [*map(copy, inputs)]
            args[i] = other
            before = copy(other)
            try:
                result = op(*args, **attrs)
            except lodkit.LodkitError as error:
                assert "read-only" in str(error) or "contiguous" in str(error)
                same_bits(other, before)
            else:
                for g, e in zip(flat(result), flat(expected), strict=True):
                    rtol = 1e-3 if e.dtype == np.float16 else 1e-6  # exp rounds otherwise in strided memory
                    wrong = f"{[*op.inputs][min(i, len(op.inputs) - 1)]} was {what}"
                    np.testing.assert_allclose(np.asarray(g, e.dtype), e, rtol=rtol, atol=1e-12, err_msg=wrong)


def like_in_double():
    """The samples of operators with a gradient; of those that come in several types, the ones in float64.

    In double precision each takes kernels of its own, and a gradient does not depend on the type.
    """
    for name, cases in SAMPLES.items():
        if lodkit.OPS[name].gradient_rule:
            cases = [(i, *case) for i, case in enumerate(cases) if not any(map(has_halves, case[0]))]
            double = {aspects(inputs, attrs) for _, inputs, attrs in cases if numbers_type(inputs) == np.float64}
            for i, inputs, attrs in cases:
                if numbers_type(inputs) in (np.float64, None) or aspects(inputs, attrs) not in double:
                    yield pytest.param(name, inputs, attrs, id=f"{name}-{i}")


def aspects(inputs, attrs):
    """Attributes, and kind and rank of each input."""
    return repr(attrs), *((type(x), np.ndim(getattr(x, "values", getattr(x, "value", x)))) for x in inputs)


@pytest.mark.parametrize(("name", "inputs", "attrs"), [*like_in_double()])
def test_gradient_is_that_of_the_definition(name, inputs, attrs):
    """Central differences of the definition, in double precision, by each result: right, or refused."""
    op = lodkit.OPS[name]
    inputs = parameters(op._accept(tuple(map(as_double, inputs))))
    if any(not np.isfinite(numbers_of(x)).all() for x in inputs if is_floating(x)):
        pytest.skip("differences of infinities are NaN; the family's own tests have these")
    with lodkit.Tape() as tape:
        results = side_by_side(op(*inputs, **attrs))
    if numbers_of(results[0]).dtype != np.float64:
        pytest.skip("integers have no gradient, and what is rounded no differences")
    sources = [i for i, x in enumerate(inputs) if is_floating(x)]
    for which, result in enumerate(results):
        if not is_floating(result):
            continue
        weights = np.random.default_rng(0).normal(size=numbers_of(result).shape)
        with calling(name, inputs, attrs):
            try:
                gradients = tape.gradient(result, [inputs[i] for i in sources], weights, unconnected="none")
            except lodkit.LodkitError as error:
                assert which, "the first result has a gradient"
                assert "has no gradient by" in str(error)
                continue
            for i, gradient in zip(sources, gradients, strict=True):
                check_differences(op, inputs, i, attrs, weights, gradient, which)


def is_floating(x):
    return isinstance(x, np.ndarray | LoDTensor | SelectedRows) and numbers_of(x).dtype.kind == "f"


def with_numbers(x, numbers):
    if isinstance(x, SelectedRows):
        return SelectedRows(x.rows, numbers, x.height)
    return x.with_values(numbers) if isinstance(x, LoDTensor) else numbers


def as_double(x):
    return with_numbers(x, numbers_of(x).astype(np.float64)) if is_floating(x) else x


def check_differences(op, inputs, i, attrs, weights, gradient, which):
    def loss(change):
        moved = [*inputs]
        x = inputs[i]
        moved[i] = with_numbers(x, numbers_of(x) + change)
        if op.rowwise:
            moved = [m.values if isinstance(m, LoDTensor) else m for m in moved]
        result = numbers_of(side_by_side(op.shown(op.definition(*moved, **attrs), attrs))[which])
        # What is infinite, as a loss that no path gives, stays so, and has a gradient of 0.
        return (np.where(np.isinf(result), 0, result) * weights).sum()

    shape = numbers_of(inputs[i]).shape
    found = gradient.to_dense() if isinstance(gradient, SelectedRows) else gradient
    found = found.values if isinstance(found, LoDTensor) else found
    places, here = list(np.ndindex(shape)), loss(np.zeros(shape))
    for place in places if len(places) < 40 else [places[k] for k in range(0, len(places), len(places) // 40)]:
        step = np.zeros(shape)
        step[place] = 1e-6
        above = loss(step)
        expected = (above - loss(-step)) / 2e-6
        padding = attrs.get("padding_idx")
        if padding is not None and i == 0 and place[0] == padding:
            expected = 0.0
        one_sided = (above - here) / 1e-6
        if abs(one_sided - expected) < 1e-4:  # not at a kink (ties of max, relu at 0)
            assert abs(found[place] - expected) < 1e-5 * max(1, abs(expected)), (i, place)


def reshaped(array):
    """The same numbers in shapes that fit nothing: a row more, an axis more, a row less."""
    yield np.concatenate([array, array[:1]])
    yield array[..., None]
    yield array[:-1]


@pytest.mark.parametrize("name", [n for n in lodkit.OPS if n.endswith("_grad")])
def test_a_gradient_refuses_what_is_not_like_the_result(name):
    op, tried = lodkit.OPS[name], 0
    for inputs, attrs in SAMPLES[name]:
        for i, what in enumerate(op.inputs):
            if what in ("grad", "out") and isinstance(inputs[i], np.ndarray) and inputs[i].ndim and len(inputs[i]):
                for wrong in reshaped(inputs[i]):
                    tried += 1
                    with calling(name, inputs, attrs), pytest.raises(lodkit.ShapeMismatchError, match=r"grad|out"):
                        op(*inputs[:i], wrong, *inputs[i + 1 :], **attrs)
    assert tried


@pytest.mark.parametrize("name", [n for n in lodkit.OPS if n.endswith("_grad")])
def test_a_gradient_in_another_type_is_converted(name):
    """Long doubles, which no kernel takes."""
    op = lodkit.OPS[name]
    at = [*op.inputs].index("grad")
    cases = (
        (inputs, attrs) for inputs, attrs in SAMPLES[name] if is_floating(inputs[at]) and numbers_of(inputs[at]).size
    )
    for inputs, attrs in itertools.islice(cases, 2):
        grad = with_numbers(inputs[at], numbers_of(inputs[at]).astype(np.longdouble))
        with calling(name, inputs, attrs):
            got = op(*inputs[:at], grad, *inputs[at + 1 :], **attrs)
            for g, e in zip(flat(got), flat(op(*inputs, **attrs)), strict=True):
                np.testing.assert_allclose(g, e, rtol=1e-3)


def refuse_inputs_as_out(op, inputs, attrs, result):
    """Give memory of each input, as an array that the result fits, for ``out``."""
    for i, x in enumerate(inputs):
        given = numbers_of(x)
        if type(given) is np.ndarray and given.nbytes >= result.nbytes > 0:
            own = given.copy("C")
            out = own.reshape(-1).view(np.uint8)[: result.nbytes].view(result.dtype).reshape(result.shape)
            with pytest.raises(lodkit.OutputError, match="out overlaps"):
                op(*inputs[:i], with_numbers(x, own), *inputs[i + 1 :], out=out, **attrs)
            same_bits(own, given)


@pytest.mark.parametrize("name", [name for name, op in lodkit.OPS.items() if not op.updates])
def test_out_is_filled_and_returned(name):
    """Wherever a result is one array, or a LoDTensor: ``out`` itself comes back, with the same bits."""
    op = lodkit.OPS[name]
    for inputs, attrs in SAMPLES[name]:
        with calling(name, inputs, attrs):
            expected = op(*map(copy, inputs), **attrs)
            array = getattr(expected, "values", expected)
            if isinstance(array, np.ndarray):
                # The second call runs the plan that the first one keeps.
                for out in (np.empty(array.shape, array.dtype) for _ in range(2)):
                    got = op(*map(copy, inputs), out=out, **attrs)
                    assert type(got) is type(expected) and getattr(got, "values", got) is out
                    np.testing.assert_array_equal(out, array)
                refuse_inputs_as_out(op, inputs, attrs, array)
