"""NumPy between operators on a tape: every listed function has the right gradient, and everything else raises."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from differences import CONSTANT, MATRIX, OTHER, agrees, rng

import lodkit
from lodkit.arrays.recorded import FUNCTIONS, UFUNCS
from lodkit.tape import array_functions, array_gradients, array_methods  # noqa: F401


@pytest.mark.parametrize("ufunc", UFUNCS, ids=lambda ufunc: ufunc.__name__)
def test_every_listed_ufunc(ufunc):
    if ufunc is np.matmul:
        for a, b in (((2, 3), (3, 4)), ((3,), (3, 4)), ((2, 3), (3,)), ((3,), (3,)), ((5, 1, 2, 3), (4, 3, 2))):
            agrees(ufunc, rng.normal(size=a), rng.normal(size=b))
        agrees(ufunc, rng.normal(size=(4, 2, 3)), rng.normal(size=3))
        agrees(ufunc, rng.normal(size=3), rng.normal(size=(4, 3, 2)))
        return
    low = 1.2 if ufunc is np.arccosh else 0.2
    x, y = rng.uniform(low, low + 0.7, (3, 4)), rng.uniform(low, low + 0.7, (3, 1))
    if ufunc.nin == 1:
        agrees(ufunc, x)
        agrees(ufunc, np.array(low + 0.1))
        return
    agrees(ufunc, x, y)
    agrees(ufunc, y[:, 0], x[0:1, :3].copy())
    agrees(lambda x: ufunc(x, 0.5), x)
    agrees(lambda x: ufunc(0.5, x), x)


INDICES = np.array([[0, 1, 1, 2]])
ONE_ARRAY = {
    np.reshape: [lambda x: np.reshape(x, (4, 3)), lambda x: np.reshape(x, (2, -1), order="F")],
    np.ravel: [np.ravel, lambda x: np.ravel(x, "F")],
    np.squeeze: [lambda x: np.squeeze(x[None], 0)],
    np.expand_dims: [lambda x: np.expand_dims(x, (0, 2))],
    np.transpose: [np.transpose, lambda x: np.transpose(x[None], (1, 2, 0))],
    np.swapaxes: [lambda x: np.swapaxes(x, 0, 1)],
    np.moveaxis: [lambda x: np.moveaxis(x, 0, -1)],
    np.rollaxis: [lambda x: np.rollaxis(x, 1)],
    np.matrix_transpose: [np.matrix_transpose],
    np.flip: [np.flip, lambda x: np.flip(x, 1)],
    np.fliplr: [np.fliplr],
    np.flipud: [np.flipud],
    np.rot90: [np.rot90],
    np.roll: [lambda x: np.roll(x, 2), lambda x: np.roll(x, 1, axis=1)],
    np.broadcast_to: [lambda x: np.broadcast_to(x, (2, 3, 4))],
    np.copy: [np.copy],
    np.resize: [lambda x: np.resize(x, (5, 5))],
    np.repeat: [lambda x: np.repeat(x, 2), lambda x: np.repeat(x, [1, 0, 3], axis=0)],
    np.tile: [lambda x: np.tile(x, (2, 1))],
    np.take: [lambda x: np.take(x, [0, 0, 5]), lambda x: np.take(x, [0, 0, 2], axis=1)],
    np.take_along_axis: [lambda x: np.take_along_axis(x, INDICES, 0)],
    np.diagonal: [np.diagonal],
    np.diag: [np.diag, lambda x: np.diag(x[0])],
    np.tril: [np.tril],
    np.triu: [lambda x: np.triu(x, 1)],
    np.delete: [lambda x: np.delete(x, 1, axis=0)],
    np.atleast_1d: [np.atleast_1d],
    np.atleast_2d: [lambda x: np.atleast_2d(x[0])],
    np.atleast_3d: [np.atleast_3d],
    np.split: [lambda x: np.split(x, 2, axis=1)[1]],
    np.array_split: [lambda x: np.multiply(*np.array_split(x, 3, axis=1)[1:])],
    np.hsplit: [lambda x: np.hsplit(x, 2)[0]],
    np.vsplit: [lambda x: np.vsplit(x, 3)[2]],
    np.dsplit: [lambda x: np.dsplit(x[None], 2)[0]],
    np.sum: [np.sum, lambda x: np.sum(x, 0), lambda x: np.sum(x, axis=-1, keepdims=True), lambda x: np.sum(x, (0, 1))],
    np.mean: [np.mean, lambda x: np.mean(x, 1), lambda x: np.mean(x, (1, 0), keepdims=True)],
    np.var: [np.var, lambda x: np.var(x, 1, ddof=1)],
    np.std: [np.std, lambda x: np.std(x, axis=0, keepdims=True)],
    np.prod: [np.prod, lambda x: np.prod(x, 1), lambda x: np.prod(np.where(np.eye(3, 4) > 0, 0, x), 1)],
    np.max: [np.max, lambda x: np.max(x, 1), lambda x: np.max(x[None], (0, 2), keepdims=True)],
    np.min: [np.min, lambda x: np.min(x, axis=0)],
    np.amax: [lambda x: np.amax(x, 1)],
    np.amin: [lambda x: np.amin(x, 1)],
    "np.add.reduce": [np.add.reduce, lambda x: np.add.reduce(x, axis=None)],
    "np.multiply.reduce": [np.multiply.reduce],
    "np.maximum.reduce": [np.maximum.reduce],
    "np.minimum.reduce": [lambda x: np.minimum.reduce(x, axis=1)],
    np.cumsum: [np.cumsum, lambda x: np.cumsum(x, 1)],
    np.clip: [lambda x: np.clip(x, -0.5, 0.5), lambda x: np.clip(x, None, 0.3), lambda x: x.clip(min=0.1)],
    np.round: [lambda x: np.round(x * 3)],
    np.around: [lambda x: np.around(x, 1)],
    np.sort: [np.sort, lambda x: np.sort(x, None), lambda x: np.sort(x, axis=0)],
    np.linalg.norm: [np.linalg.norm, lambda x: np.linalg.norm(x, axis=1)],
    np.trace: [np.trace],
}
TWO_ARRAYS = {
    np.concatenate: [lambda x, y: np.concatenate([x, y]), lambda x, y: np.concatenate([x, CONSTANT, y * 2], axis=1)],
    np.stack: [lambda x, y: np.stack([x, y], axis=1)],
    np.vstack: [lambda x, y: np.vstack([x, y])],
    np.hstack: [lambda x, y: np.hstack((x, y))],
    np.dstack: [lambda x, y: np.dstack([x, y])],
    np.column_stack: [lambda x, y: np.column_stack([x, y])],
    np.block: [lambda x, y: np.block([[x, y], [y, CONSTANT]])],
    np.where: [lambda x, y: np.where(CONSTANT > 0, x, y), lambda x, y: np.where(CONSTANT > 0, x, 1.5) + y],
    np.dot: [lambda x, y: np.dot(x, y.T), lambda x, y: np.dot(2.0, x) + y],
    np.inner: [np.inner, lambda x, y: np.inner(x, y[0])],
    np.vdot: [np.vdot],
    np.outer: [lambda x, y: np.outer(x[0], y)],
    np.einsum: [
        lambda x, y: np.einsum("ij,kj->ik", x, y),
        lambda x, y: np.einsum("ij,ij", x, y),
        lambda x, y: np.einsum("ij,kl->k", x, y),
        lambda x, y: np.einsum("i j -> j i", x) @ y,
        lambda x, y: np.einsum("ij,ij->ij", x[:, :1], y),
        lambda x, y: np.einsum("ij,ij->i", x[:, :1], y[:1]),
        lambda x, y: np.einsum("ij,ij->", x, y[:1]),
        lambda x, y: np.einsum("ij,jk->ik", x[:, :1], y),
    ],
}


def test_every_listed_function_has_a_case():
    plain = {f for f, wrapper in FUNCTIONS.items() if wrapper.func is array_functions._run_plain}
    assert set(FUNCTIONS) - plain == set(ONE_ARRAY) | set(TWO_ARRAYS)
    assert np.argmax in plain


def _cases(table):
    return [
        pytest.param(call, id=f"{getattr(function, '__name__', function)}-{i}")
        for function, calls in table.items()
        for i, call in enumerate(calls)
    ]


@pytest.mark.parametrize("call", _cases(ONE_ARRAY))
def test_functions_of_one_array(call):
    agrees(call, MATRIX)


@pytest.mark.parametrize("call", _cases(TWO_ARRAYS))
def test_functions_of_two_arrays(call):
    agrees(call, MATRIX, OTHER)


@pytest.mark.parametrize(
    "call",
    [
        lambda x: x.sum() * x.mean(1, keepdims=True) + x.max() - x.min(axis=0) * x.prod(),
        lambda x: x.reshape(4, 3) @ x.reshape((3, 4)) + x.ravel()[:4].reshape(-1, 1),
        lambda x: x.T @ x + x.transpose(1, 0) @ x.transpose((0, 1)) + x.mT @ x,
        lambda x: x.flatten() * x.copy().ravel("C") + copy.copy(x).ravel() * copy.deepcopy(x).ravel(),
        lambda x: x.std(1) + x.var(1) + x.cumsum(1)[:, -1] + x.trace() + x.diagonal(),
        lambda x: x.astype(np.float64) * x.real + x.round(1) + x.clip(-1, 1),
        lambda x: x[1] * x[0, 1] + x[-1, ::2].sum() + x[..., 1:3].sum() + x[None, 0],
        lambda x: x[[0, 0, 2]] * x[np.array([1, 1, 0])] + x[x > 0].sum() + x[np.ix_([0, 1, 0], [3, 3, 1, 0])],
        lambda x: sum(row * k for k, row in enumerate(x)),
        lambda x: x[:, (0, 0)] + x[(0, 0, 1),][:, :2],
        lambda x: -x + +x * abs(x) ** 1.5 - x**2 + 2.0**x / (x * x + 1) - 1 / (3 + x) + x % 0.7,
        lambda x: x.repeat(2, 0).take([0, 3], 1).swapaxes(0, 1).squeeze().dot(np.arange(6.0)),
        lambda x: np.float64(2) * x + x * np.arange(4) + [1.0, 2.0, 3.0, 4.0] * x,
        lambda x: np.sin(x) * np.maximum(x, x.T.T) + np.logaddexp(x, 0),
    ],
)
def test_methods_indices_and_operators(call):
    agrees(call, MATRIX)


def test_ties_and_repeats():
    x = np.array([[1.0, 3.0, 3.0], [np.nan, np.nan, 2.0]])
    with lodkit.Tape() as tape:
        y = tape.watch(x).max(axis=1)
    np.testing.assert_array_equal(tape.gradient(y, [x])[0], [[0, 1, 0], [1, 0, 0]])
    a, b = np.array([1.0, 2.0]), np.array([1.0, 3.0])
    with lodkit.Tape() as tape:
        y = np.maximum(tape.watch(a), tape.watch(b))
    assert [g.tolist() for g in tape.gradient(y, [a, b])] == [[1, 0], [0, 1]]


def test_float32_stays_and_integers_have_no_gradient():
    x, n = lodkit.parameter(np.ones((2, 3), np.float32)), np.arange(3, dtype=np.int8)
    with lodkit.Tape() as tape:
        y = lodkit.tanh(x) * n + np.float32(1)
        z = y.astype(np.float64).sum()
    assert y.dtype == np.float32 and z.dtype == np.float64
    assert tape.gradient(z, [x])[0].dtype == np.float32
    with pytest.raises(lodkit.DTypeError, match=r"sources\[1\], int8 of shape \(3,\), has no gradient"):
        tape.gradient(z, [x, n])


@pytest.mark.parametrize("order", "CFAKak")
def test_orders_of_elements_go_by_memory(order):
    x = np.arange(6.0).reshape(2, 3)
    for made in (
        lambda a: a.ravel(order),
        lambda a: a.flatten(order),
        lambda a: np.ravel(a, order=order),
        lambda a: a.reshape(6, order="A" if order in "Kk" else order),
    ):
        for view in (lambda a: a, lambda a: a.T):
            with lodkit.Tape() as tape:
                total = (made(view(tape.watch(x))) * np.arange(6.0)).sum()
            expected = np.zeros(6)
            expected[made(view(x)).astype(int)] = np.arange(6.0)
            assert tape.gradient(total, [x])[0].ravel().tolist() == expected.tolist()


def test_an_order_by_memory_of_no_block():
    x = np.arange(12.0).reshape(3, 4)
    with lodkit.Tape() as tape, pytest.raises(TypeError, match=r'np.ravel with order="K" of an array that is not cont'):
        tape.watch(x)[:, ::2].ravel("K")
    with lodkit.Tape() as tape:
        total = (tape.watch(x)[:, ::2].ravel("A") * np.arange(6.0)).sum()
    assert tape.gradient(total, [x])[0][:, ::2].ravel().tolist() == [0, 1, 2, 3, 4, 5]


def test_methods_of_a_lod_tensor_that_nothing_recorded():
    x = lodkit.parameter(np.ones((3, 1)))
    t = lodkit.LoDTensor(x, [[2, 1]])
    for same in (lambda: t.astype(np.float32), t.copy):
        with lodkit.Tape() as tape:
            total = (lodkit.sequence_pool(t) ** 2).sum() + (lodkit.sequence_pool(same()) ** 2).sum()
        assert tape.gradient(total, [x])[0].ravel().tolist() == [8, 8, 4]
    even = lodkit.LoDTensor(x, [[1, 1, 1]])
    with lodkit.Tape() as tape:
        total = (even.to_uniform() ** 2).sum()
    assert tape.gradient(total, [x])[0].ravel().tolist() == [2, 2, 2]
    rows = lodkit.SelectedRows([0, 1], np.ones((2, 1)), 3)
    for refused in (t.to_padded, lambda: rows.clip_by_norm(1.0)):
        with lodkit.Tape(), pytest.raises(TypeError, match="of arrays on a tape is not recorded"):
            refused()
