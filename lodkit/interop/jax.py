"""LoDTensors and SelectedRows from and to JAX: rows and offsets as arrays, sparse gradients as BCOO matrices."""

from __future__ import annotations

import sys
from typing import Any, NamedTuple

import numpy as np

from ..arrays import array_of, is_tensor
from ..arrays.recorded import refuse
from ..arrays.tensors import bfloat16_array_of
from ..base.bfloat16 import is_bfloat16
from ..base.errors import DeviceError, DTypeError, LoDError
from ..lod import LoDTensor, SelectedRows
from ..lod.indexing import require_cpu

_LARGEST = 2**31 - 1  # of the offsets that JAX counts with


class Ragged(NamedTuple):
    """The arrays of a LoDTensor in JAX: a pytree, which ``jax.jit`` takes and gives."""

    values: Any
    offsets: tuple[Any, ...]


def to_jax(x: Any, *, copy: bool = True) -> Any:
    """Return the arrays of JAX that hold a LoDTensor, SelectedRows or an array.

    Parameters
    ----------
    x : LoDTensor, SelectedRows, or array on the CPU
        Of bfloat16, too.
    copy : bool
        False shares values by DLPack where JAX can: writeable, and 64 bytes aligned, as ``lodkit.empty`` makes them.
        JAX takes its arrays for constants: do not write to shared ones.

    Returns
    -------
    Ragged, jax.experimental.sparse.BCOO or jax.Array
        Of a LoDTensor ``(values, offsets)``, offsets outermost first, each counting sequences of the next level; of
        SelectedRows a matrix with one sparse dimension, duplicate rows kept.

    Raises
    ------
    DTypeError
        The numbers have 64 bits, of which JAX keeps 32 unless ``jax_enable_x64`` is set; offsets or row numbers need
        more than 32; or JAX lacks the type.

    Examples
    --------
    >>> import numpy as np
    >>> from lodkit import LoDTensor
    >>> from lodkit.interop.jax import from_jax, to_jax  # doctest: +SKIP
    >>> t = LoDTensor(np.array([1, 2, 3], np.float32), [[2, 0, 1]])
    >>> ragged = to_jax(t)  # doctest: +SKIP
    >>> ragged.values, ragged.offsets  # doctest: +SKIP
    (Array([1., 2., 3.], dtype=float32), (Array([0, 2, 2, 3], dtype=int32),))
    >>> from_jax(ragged).equals(t)  # doctest: +SKIP
    True
    """
    import jax.numpy as jnp

    if isinstance(x, LoDTensor):
        offsets = (_count(x.offsets(level), "offsets") for level in range(x.lod_level))
        return Ragged(_export(x._need_values(), "values", copy), tuple(map(jnp.asarray, offsets)))
    if isinstance(x, SelectedRows):
        from jax.experimental import sparse

        rows = jnp.asarray(_count(x.to("cpu").rows, "rows"))
        return sparse.BCOO((_export(x.value, "value", copy), rows[:, None]), shape=x.shape)
    return _export(x, "x", copy)


def from_jax(x: Any) -> Any:
    """Return the LoDTensor, SelectedRows or array of arrays of JAX on the CPU; values are shared, read-only.

    Parameters
    ----------
    x : Ragged, pair of values and offsets, jax.experimental.sparse.BCOO, or jax.Array
        Offsets as of ``to_jax``; a matrix with one sparse dimension. Entries of a matrix that lie outside it are
        padding in JAX, and left out.

    Returns
    -------
    LoDTensor, SelectedRows or numpy.ndarray
        bfloat16 stays bfloat16.

    Raises
    ------
    TypeError
        JAX traces the function: nothing is computed yet. ``jax.pure_callback`` calls lodkit there.
    DeviceError
        An array is on another device.
    """
    if isinstance(x, tuple) and len(x) == 2:
        values, offsets = x
        offsets = offsets if isinstance(offsets, tuple | list) else (offsets,)
        levels = (_import(part, f"offsets[{level}]") for level, part in enumerate(offsets))
        return LoDTensor.from_offsets(_import(values, "values"), *levels)
    if type(x).__name__ == "BCOO":
        if x.n_sparse != 1 or x.n_batch:
            raise LoDError(
                f"from_jax takes a BCOO of one sparse dimension, got n_sparse={x.n_sparse}, n_batch={x.n_batch}; pass "
                "jax.experimental.sparse.bcoo_update_layout(x, n_dense=x.ndim - 1, n_batch=0)"
            )
        rows, value, height = _import(x.indices, "indices")[:, 0], _import(x.data, "data"), x.shape[0]
        inside = rows < height
        return (
            SelectedRows(rows[inside], value[inside], height) if not inside.all() else SelectedRows(rows, value, height)
        )
    return _import(x, "x")


def _import(x, name):
    """An array of JAX as a view of NumPy's."""
    jax = sys.modules.get("jax")
    if jax is None or not isinstance(x, jax.Array):
        raise TypeError(f"from_jax takes arrays of JAX, got {type(x).__name__} as {name}; NumPy's need no conversion")
    if isinstance(x, jax.core.Tracer):
        raise TypeError(
            f"{name} has no numbers while JAX traces a function; call lodkit in jax.pure_callback, or outside jax.jit"
        )
    platform = next(iter(x.devices())).platform
    if platform != "cpu":
        raise DeviceError(f"{name} is on {platform}; pass jax.device_put({name}, jax.devices('cpu')[0])")
    return np.asarray(x)


def _export(values, name, copy):
    """Values as an array of JAX, which keeps their type."""
    import jax
    import jax.numpy as jnp

    values = refuse(values, "to_jax")
    if is_tensor(values):
        bits = bfloat16_array_of(values)
        values = array_of(values, name) if bits is None else bits
    require_cpu(values, "to_jax")
    if is_bfloat16(values.dtype):
        values = values.view(jnp.bfloat16)
    elif values.dtype.kind not in "biufc" or values.dtype.itemsize > 8 * (1 + (values.dtype.kind == "c")):
        raise DTypeError(f"{name} has the type {values.dtype}, which JAX lacks; pass x.astype('float32')")
    elif values.dtype.itemsize // (1 + (values.dtype.kind == "c")) == 8 and not jax.config.jax_enable_x64:
        narrow = {"f": "float32", "i": "int32", "u": "uint32", "c": "complex64"}[values.dtype.kind]
        raise DTypeError(
            f"{name} has the type {values.dtype}, of which JAX would keep 32 bits in silence; pass "
            f"x.astype({narrow!r}), or set jax.config.update('jax_enable_x64', True)"
        )
    if not copy and values.flags.writeable and not is_bfloat16(values.dtype):
        return jax.dlpack.from_dlpack(values)
    return jnp.array(values, copy=copy)


def _count(numbers, name):
    """Offsets or row numbers in the type that JAX counts with."""
    import jax

    if jax.config.jax_enable_x64:
        return numbers
    if len(numbers) and numbers.max() > _LARGEST:
        raise DTypeError(
            f"{name} reach {int(numbers.max())}, and JAX counts with 32 bits; set "
            "jax.config.update('jax_enable_x64', True)"
        )
    return numbers.astype(np.int32)
