"""Arrays of JAX in and out: the same bits, and no number narrowed in silence."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import lodkit
from lodkit import LoDTensor, SelectedRows

jax = pytest.importorskip("jax")
jnp = jax.numpy
from lodkit.interop.jax import Ragged, from_jax, to_jax  # noqa: E402

TYPES = ["float32", "float16", "int32", "int16", "int8", "uint8", "uint32", "bool", "bfloat16"]


def rows(dtype, count=6):
    import ml_dtypes

    dtype = ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype
    return np.arange(count * 2).reshape(count, 2).astype(dtype)


@pytest.mark.parametrize("copy", [True, False])
@pytest.mark.parametrize("dtype", TYPES)
def test_there_and_back(dtype, copy):
    t = LoDTensor(rows(dtype), [[2, 0, 1], [3, 1, 2]])
    made = to_jax(t, copy=copy)
    assert isinstance(made, Ragged)
    assert all(isinstance(part, jax.Array) for part in (made.values, *made.offsets))
    assert made.values.dtype == dtype
    assert [part.tolist() for part in made.offsets] == t.lod()
    back = from_jax(made)
    assert back.dtype == t.dtype and back.same_lod(t)
    np.testing.assert_array_equal(back.values, t.values)
    again = from_jax((made.values, made.offsets[0])) if t.lod_level == 1 else from_jax(tuple(made))
    assert again.same_lod(t)


def test_values_come_in_without_a_copy_and_read_only():
    x = jnp.arange(6.0).reshape(3, 2)
    t = from_jax((x, jnp.array([0, 2, 3])))
    assert t.values.ctypes.data == x.unsafe_buffer_pointer()
    assert not t.values.flags.writeable
    assert lodkit.sequence_pool(t).tolist() == [[2, 4], [4, 5]]
    assert from_jax(x).shape == (3, 2)


def test_values_go_out_as_a_copy_unless_asked():
    values = lodkit.empty((1000,), np.float32)
    values[:] = 1
    t = LoDTensor(values, [[400, 600]])
    copied, shared = to_jax(t), to_jax(t, copy=False)
    assert shared.values.unsafe_buffer_pointer() == values.ctypes.data
    values[0] = 7
    assert float(copied.values[0]) == 1
    assert float(shared.values[0]) == 7
    values.flags.writeable = False
    assert to_jax(LoDTensor(values, [[1000]]), copy=False).values.shape == (1000,)


def test_numbers_are_not_narrowed_in_silence():
    """JAX makes 0 of 2**40."""
    assert int(jax.dlpack.from_dlpack(np.array([2**40]))[0]) != 2**40
    for values, narrow in (([2**40], "int32"), ([0.1], "float32"), (np.array([2**40], np.uint64), "uint32")):
        with pytest.raises(lodkit.DTypeError, match=rf"keep 32 bits in silence.*astype\('{narrow}'\)"):
            to_jax(LoDTensor(values, [[1]]))
    with pytest.raises(lodkit.DTypeError, match="which JAX lacks"):
        to_jax(np.array(["2020-01-01"], "datetime64[D]"))
    with pytest.raises(lodkit.DTypeError, match="reach 3000000000, and JAX counts with 32 bits"):
        to_jax(SelectedRows([3 * 10**9], np.ones((1, 1), np.float32), 4 * 10**9))


def test_64_bits_stay_where_they_are_enabled():
    code = (
        "import jax; jax.config.update('jax_enable_x64', True); import numpy as np; from lodkit import LoDTensor\n"
        "from lodkit.interop.jax import from_jax, to_jax\n"
        "t = LoDTensor(np.array([2**40, 1]), [[1, 1]]); made = to_jax(t)\n"
        "assert made.offsets[0].dtype == 'int64' and from_jax(made).equals(t)"
    )
    subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=True)


@pytest.mark.parametrize("copy", [True, False])
def test_sparse_gradients(copy):
    s = SelectedRows([3, 1, 3], np.arange(6, dtype=np.float32).reshape(3, 2), 5)
    made = to_jax(s, copy=copy)
    np.testing.assert_array_equal(made.todense(), s.to_dense())
    back = from_jax(made)
    assert back.rows.tolist() == [3, 1, 3] and back.height == 5
    np.testing.assert_array_equal(back.to_dense(), s.to_dense())
    # Entries that JAX pads with lie one past the end.
    merged = made.sum_duplicates(nse=4)
    assert merged.indices.max() == 5
    np.testing.assert_array_equal(from_jax(merged).to_dense(), s.to_dense())
    with pytest.raises(lodkit.LoDError, match="n_sparse=2"):
        from_jax(jax.experimental.sparse.BCOO.fromdense(jnp.eye(3)))


def test_what_it_refuses():
    with pytest.raises(TypeError, match=r"values has no numbers while JAX traces.*jax\.pure_callback"):
        jax.jit(lambda v: from_jax((v, jnp.array([0, 3]))))(jnp.ones(3))
    with pytest.raises(TypeError, match="takes arrays of JAX, got ndarray as x"):
        from_jax(np.ones(3))
    with pytest.raises(lodkit.LoDError, match="offsets"):
        from_jax((jnp.ones(3), jnp.array([0, 2])))
    with pytest.raises(lodkit.LoDError, match="values"):
        to_jax(LoDTensor(None, [[2]]))

    class Elsewhere:
        platform = "gpu"

    with pytest.MonkeyPatch.context() as patch:
        x = jnp.ones(3)
        patch.setattr(type(x), "devices", lambda self: {Elsewhere()})
        with pytest.raises(lodkit.DeviceError, match=r"x is on gpu; pass jax\.device_put"):
            from_jax(x)
    x = np.ones((3, 1), np.float32)
    with lodkit.Tape(), pytest.raises(TypeError, match="to_jax of arrays on a tape is not recorded"):
        to_jax(LoDTensor(lodkit.relu(x), [[3]]))


def test_tensors_of_pytorch():
    torch = pytest.importorskip("torch")
    for dtype in (torch.float32, torch.bfloat16):
        values = torch.arange(4, dtype=dtype)
        made = to_jax(LoDTensor(values, [[1, 3]]))
        assert str(made.values.dtype) == str(dtype).removeprefix("torch.")
        assert made.values.tolist() == [0, 1, 2, 3]
    with pytest.raises(TypeError, match="requires grad"):
        to_jax(LoDTensor(torch.ones(2, requires_grad=True), [[2]]))


def test_operators_are_called_in_compiled_code_by_a_callback():
    """The page shows it."""
    table = jnp.arange(8.0).reshape(4, 2)
    ids = LoDTensor(np.array([0, 1, 3]), [[2, 1]])

    def pool(table):
        return lodkit.embedding_bag(np.asarray(table), ids)

    @jax.jit
    def model(table):
        shape = jax.ShapeDtypeStruct((2, 2), table.dtype)
        return jax.pure_callback(pool, shape, table) * 2

    np.testing.assert_array_equal(model(table), [[4, 8], [12, 14]])


def test_ragged_is_a_pytree():
    t = LoDTensor(np.arange(5, dtype=np.float32), [[2, 0, 3]])

    @jax.jit
    def sums(ragged):
        ids = jnp.searchsorted(ragged.offsets[0], jnp.arange(len(ragged.values)), side="right") - 1
        return jax.ops.segment_sum(ragged.values, ids, 3), Ragged(ragged.values * 2, ragged.offsets)

    pooled, doubled = sums(to_jax(t))
    np.testing.assert_array_equal(pooled, lodkit.sequence_pool(t))
    assert from_jax(doubled).equals(t * np.float32(2))
