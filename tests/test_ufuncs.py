"""NumPy's ufuncs and Python's operators on LoDTensors: structure stays, and nothing is guessed."""

from __future__ import annotations

import itertools
import operator
import types

import numpy as np
import pytest

import lodkit
from lodkit import LoDMismatchError, LoDTensor
from lodkit.lod import arithmetic
from lodkit.lod.ufuncs import apply

LENGTHS = [[2, 1], [2, 0, 1]]


@pytest.fixture
def t():
    return LoDTensor(np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]), LENGTHS)


def same(result, like, values):
    assert type(result) is LoDTensor and result.same_lod(like)
    np.testing.assert_array_equal(result.values, values, strict=True)


@pytest.mark.parametrize("name", ["add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "lt", "le", "gt", "ge"])
def test_operators(t, name):
    f, v, row = getattr(operator, name), t.values, np.array([2.0, 3.0])
    same(f(t, 2), t, f(v, 2))
    same(f(2.0, t), t, f(2.0, v))
    same(f(t, np.float64(2)), t, f(v, 2.0))
    same(f(np.float64(2), t), t, f(2.0, v))
    same(f(t, row), t, f(v, row))
    same(f(row, t), t, f(row, v))
    same(f(t, [2.0, 3.0]), t, f(v, row))
    same(f(t, t), t, f(v, v))


def test_functions_of_one_and_of_several_results(t):
    same(np.exp(t), t, np.exp(t.values))
    same(-abs(t), t, -t.values)
    same(np.isnan(t), t, np.zeros((3, 2), bool))
    same(~(t > 2), t, ~(t.values > 2))
    same(np.add(t, 1, dtype=np.float32), t, (t.values + 1).astype(np.float32))
    for result, values in zip(divmod(t, 4), divmod(t.values, 4), strict=True):
        same(result, t, values)


def test_out(t):
    out = t.with_values(np.zeros((3, 2)))
    assert np.add(t, 1, out=out) is out
    same(out, t, t.values + 1)
    parts = t.with_values(np.zeros((3, 2))), t.with_values(np.zeros((3, 2)))
    found = np.modf(t / 2, out=parts)
    assert found[0] is parts[0] and found[1] is parts[1]
    same(parts[1], t, np.floor(t.values / 2))
    whole, values = t, t.values
    whole += 1
    assert whole is t and t.values is values and values[0, 0] == 2
    np.add(1, 2, out=out)
    assert (out.values == 3).all()
    np.negative(t, out=out, where=t > 3)
    np.testing.assert_array_equal(out.values, np.where(t.values > 3, -t.values, 3))
    with pytest.raises(TypeError, match=r"out must be a LoDTensor .*t\.with_values"):
        np.add(t, 1, out=np.zeros((3, 2)))
    with pytest.raises(TypeError, match="out must be a LoDTensor"):
        values += t
    with pytest.raises(LoDMismatchError, match="lod_level"):
        np.add(t, 1, out=LoDTensor(np.zeros((3, 2)), [[3]]))


def test_items_broadcast(t):
    """A number a row, in a LoDTensor, meets rows of vectors; an array never stands for rows."""
    weights = t.with_values(np.array([1.0, 10.0, 100.0]))
    same(t * weights, t, t.values * [[1], [10], [100]])
    same(weights * t, t, t.values * [[1], [10], [100]])
    column = t.with_values(np.ones((3, 1)))
    same(column * np.arange(4.0), t, np.ones((3, 1)) * np.arange(4.0))
    same(t + np.array([[1.0, 2.0]]), t, t.values + [1, 2])
    same(t + np.array(1.0), t, t.values + 1)


@pytest.mark.parametrize("shape", [(3, 2), (3, 1), (2, 2), (0, 2), (1, 3, 2)])
def test_an_array_is_a_row(t, shape):
    """(3, 2) could be a value a row, or a value a sequence: by its form it is refused, whatever its length."""
    for call in (lambda: t + np.ones(shape), lambda: np.ones(shape) * t):
        with pytest.raises(lodkit.ShapeMismatchError, match=r"t\.with_values\(array\).*per_sequence"):
            call()
    with pytest.raises(lodkit.ShapeMismatchError, match="do not broadcast"):
        t + np.ones(3)
    flat = LoDTensor(np.ones(3), [[1, 2]])
    with pytest.raises(lodkit.ShapeMismatchError, match=r"items have 0 dimensions"):
        flat + np.ones(3)


def test_other_structure_is_refused(t):
    other = LoDTensor(t.values, [[1, 2], [2, 0, 1]])
    with pytest.raises(LoDMismatchError, match=r"np.add: .*level 0; first difference at sequence 0: 2 vs 1"):
        t + other
    with pytest.raises(LoDMismatchError, match="lod_level 2 against 0"):
        t * LoDTensor(t.values)
    with pytest.raises(lodkit.LoDError, match="without values"):
        t + LoDTensor(None, LENGTHS)
    plain = LoDTensor(np.ones(3))
    assert (plain + plain).lod_level == 0
    with pytest.raises(LoDMismatchError, match="3 rows against 4"):
        plain + LoDTensor(np.ones(4))


def test_what_is_not_element_by_element(t):
    for call, remedy in (
        (lambda: np.sum(t), "sequence_pool"),
        (lambda: np.max(t), "sequence_pool"),
        (lambda: np.add.accumulate(t), "sequence_cumsum"),
        (lambda: np.add.outer(t, t), r"t\.values"),
        (lambda: np.add.at(t, 0, 1), r"t\.values"),
        (lambda: np.add.reduceat(t, [0]), "sequence_pool"),
        (lambda: t @ np.eye(2), "fc"),
        (lambda: np.concatenate([t, t]), r"lodkit\.concat\(\[t, u\]\)"),
        (lambda: np.mean(t), r"\.values"),
        (lambda: t + None, "NoneType"),
        (lambda: t + {}, "dict"),
        (lambda: t + lodkit.SelectedRows([0], [[1.0, 2.0]], 3), "unsupported|SelectedRows"),
    ):
        with pytest.raises(TypeError, match=remedy):
            call()
    assert (t == None) is False  # noqa: E711


def test_equal_is_that_of_lod_tensor(t):
    """A whole array may stand on either side of ==, as ever."""
    for result in (t == t.values, t.values == t, np.equal(t, t), np.not_equal(t, 0.5)):
        same(result, t, np.ones((3, 2), bool))
    with pytest.raises(LoDMismatchError, match="does not broadcast"):
        np.equal(t, np.zeros(3))


def test_on_a_gpu(place):
    x = LoDTensor(np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]), LENGTHS)
    moved = place.to(x)
    for call in (
        lambda t: t + 1,
        lambda t: np.float64(2) * t,
        lambda t: 1 - t / 4,
        lambda t: t * t,
        lambda t: t < 3,
        lambda t: -t,
        lambda t: np.exp(t),
    ):
        same(place.home(call(moved)), x, call(x).values)
    row = np.array([1.0, 10.0])
    same(place.home(moved * place.to(row)), x, x.values * row)
    if moved.device == "cuda":
        with pytest.raises(lodkit.DeviceError, match="on the CPU"):
            moved * row
        with pytest.raises(lodkit.DeviceError, match="out="):
            np.add(moved, 1, out=moved)


def test_a_gpu_library_that_lacks_a_function(place, monkeypatch):
    moved = place.to(LoDTensor(np.array([1.0, 2.0]), [[2]]))
    if moved.device == "cuda":
        import emulated

        namespace = types.SimpleNamespace(asarray=lambda x: x)
        monkeypatch.setattr(emulated.Library, "namespace", lambda self: namespace)
        with pytest.raises(lodkit.NoKernelError, match="cbrt is not in the array API"):
            np.cbrt(moved)


OPERANDS = (
    LoDTensor(np.array([1.5, -2.0, 0.0]), LENGTHS),
    LoDTensor(np.array([1, 2, 3]), LENGTHS),
    LoDTensor(np.array([[1, 2], [3, 4], [5, 6]], np.float16), LENGTHS),
    LoDTensor(np.ones((3, 1), np.float32), LENGTHS),
    LoDTensor(np.ones((3, 4)), LENGTHS),
    LoDTensor(np.ones(3), [[3]]),
    LoDTensor(np.ones(3)),
    LoDTensor(None, LENGTHS),
    *(2, 0.5, True, 2**70, np.float32(3), np.array([1.0, 2.0]), [1, 2], "word"),
)


def outcome(call):
    try:
        result = call()
    except Exception as error:
        return type(error), str(error)
    return None if result is NotImplemented else (result.lod(), result.dtype, result.values.tobytes())


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("ufunc", [np.add, np.divide, np.power, np.less, np.left_shift, np.equal], ids=str)
def test_what_needs_no_look_gives_what_apply_gives(ufunc):
    quick = 0
    for a, b in itertools.product(OPERANDS, OPERANDS):
        if isinstance(a, LoDTensor) or isinstance(b, LoDTensor):
            assert outcome(lambda: ufunc(a, b)) == outcome(lambda: apply(ufunc, "__call__", (a, b))), (a, b)
            quick += arithmetic._compute_small(ufunc, (a, b)) is not None
    assert quick >= 5 or ufunc is np.equal


def test_values_resized_since_are_refused(t):
    t.values.resize((2, 2), refcheck=False)
    for call in (lambda: t + 1, lambda: t + t, lambda: -t):
        with pytest.raises(lodkit.LoDError, match="make it anew"):
            call()


def test_in_place(t):
    for other in (2.0, t.with_values(np.full((3, 2), 2.0)), LoDTensor(np.full((3, 2), 2.0), LENGTHS)):
        values, whole = t.values, t
        expected = values + 2
        whole += other
        assert whole is t and t.values is values
        np.testing.assert_array_equal(values, expected)
    numbers = LoDTensor(np.array([1, 2, 3]), LENGTHS)
    before = numbers.values.copy()
    for refused in (lambda: np.add(numbers, 0.5, out=numbers), lambda: np.add(t, 1, out=numbers)):
        with pytest.raises((TypeError, ValueError)):
            refused()
        np.testing.assert_array_equal(numbers.values, before)


def refuse(kind, flag):
    raise ValueError("refused")


@pytest.mark.parametrize(
    ("ufunc", "numbers", "by", "handling"),
    [
        (np.multiply, [1.0, 2.0, 3.0], [2.0, 3.0, 1e308], {"over": "raise"}),
        (np.multiply, [1.0, 2.0, 3.0], [2.0, 3.0, 1e308], {"over": "call", "call": refuse}),
        (np.power, [2, 2, 2], [2, 2, -1], {}),
    ],
)
def test_what_raises_in_place_leaves_what_it_leaves_in_numpy(ufunc, numbers, by, handling):
    """It may raise behind writes, which are not made twice."""
    plain, t = np.array(numbers), LoDTensor(np.array(numbers), LENGTHS)
    with np.errstate(**handling):
        with pytest.raises((ValueError, FloatingPointError)) as expected:
            ufunc(plain, by, out=plain)
        with pytest.raises(expected.type):
            ufunc(t, LoDTensor(np.array(by), LENGTHS), out=t)
    np.testing.assert_array_equal(t.values, plain)


def test_objects_are_no_values(t):
    for function in (lambda x: [x], str):
        with pytest.raises(lodkit.DTypeError):
            np.frompyfunc(function, 1, 1)(t)
