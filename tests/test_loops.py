"""Bodies of ``kernels/common/loops.py``: one function, the same numbers on both devices."""

from __future__ import annotations

import numpy as np
import pytest

from lodkit.jit import settings
from lodkit.kernels.common.loops import loop_elements, loop_rows, number_cells, number_elements, number_rows

OFFSETS = np.array([0, 0, 3, 3, 4, 9])
SEGMENTS = np.repeat(np.arange(5), np.diff(OFFSETS))


@number_elements
def _next(i, x, step):
    return x[i] + step


@number_cells
def _wider(i, j, x, width):
    return x[i] if j < width else -1


@number_rows
def _inner(i, s, offsets, x):
    return x[s] * (i - offsets[s])


@loop_elements(writes=2)
def _split(i, x, quotients, rests):
    quotients[i], rests[i] = x[i] // 3, x[i] % 3


@loop_rows(writes=1)
def _reverse(i, s, offsets, x, out):
    out[offsets[s] + offsets[s + 1] - 1 - i] = x[i]


@number_elements
def _is_larger(i, x, number):
    return 1 if x[i] > number else 0


@pytest.fixture(params=["cpu", "cuda"])
def device(request):
    """The module of a device; how arrays come to it, and back."""
    if request.param == "cpu":
        from lodkit.kernels.cpu.primitives import device

        return device, np.asarray, np.asarray
    for module in ("greenlet", "numba_cuda", "array_api_compat"):
        pytest.importorskip(module)
    import emulated
    import gpus

    from lodkit.arrays.cuda import view
    from lodkit.kernels.cuda.primitives import device

    gpus.install(request.getfixturevalue("monkeypatch"), "emulated", 1)
    return device, lambda x: view(emulated.to_gpu(np.asarray(x))), lambda x: x.read()


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
@pytest.mark.parametrize("n", [0, 1, 7])
def test_a_number_of_every_position(device, dtype, n):
    on, to, home = device
    x = np.arange(7, dtype=dtype)
    assert np.array_equal(home(_next(on)(to(x), n, to(x), 5)), x[:n] + 5)
    expected = np.where(np.arange(4) < 2, x[:n, None], -1)
    assert np.array_equal(home(_wider(on)(to(x), 4 * n, 4, to(x), 2)), expected.reshape(-1))
    out = to(np.zeros((n, 4), np.float32))
    assert _wider(on)(out, 4 * n, 4, to(x), 2, out=out) is out and np.array_equal(home(out), expected)


def test_rows_with_their_segments(device):
    on, to, home = device
    x = np.arange(5) + 10
    inner = np.arange(9) - OFFSETS[SEGMENTS]
    assert np.array_equal(home(_inner(on)(to(x), 9, OFFSETS, to(x))), x[SEGMENTS] * inner)
    rows, out = np.arange(9) + 20, to(np.zeros(9, np.int64))
    _reverse(on)(9, OFFSETS, to(rows), out)
    expected = np.concatenate([rows[a:b][::-1] for a, b in zip(OFFSETS[:-1], OFFSETS[1:], strict=True)])
    assert np.array_equal(home(out), expected)


def test_a_body_writes_into_several(device):
    on, to, home = device
    x, outs = np.arange(10), [to(np.zeros(10, np.int64)) for _ in range(2)]
    _split(on)(10, to(x), *outs)
    assert all(np.array_equal(home(out), made) for out, made in zip(outs, np.divmod(x, 3), strict=True))


def test_halves_are_read_as_floats(device):
    on, to, home = device
    x = to(np.array([0.5, 1.5, np.nan, 2.5], np.float16))
    assert np.array_equal(home(_is_larger(on)(x, 4, on.upcast(x), 1)), [0, 1, 0, 1])


def test_threads_give_the_same_numbers(monkeypatch):
    from lodkit.kernels.cpu.primitives import device as on

    x, few = np.arange(5), _inner(on)(None, 9, OFFSETS, np.arange(5))
    monkeypatch.setattr(settings, "parallel_from", 0)
    assert np.array_equal(_inner(on)(None, 9, OFFSETS, x), few)
    assert not len(_wider(on)(None, 0, 0, x, 2))
