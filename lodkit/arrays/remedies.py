"""What converts an array of another library: one table, by the names of types, so that no library is imported."""

from __future__ import annotations

from collections.abc import Callable


def remedy_for(x, name):
    """Return the conversion of ``x``, which is called ``name``, to what lodkit takes: ``pass np.asarray(x)``."""
    for kind in type(x).__mro__:
        found = CONVERSIONS.get(f"{kind.__module__.partition('.')[0]}.{kind.__name__}")
        if found:
            return "pass " + (found if isinstance(found, str) else found(x)).replace("{}", name)
    if any(f"{kind.__module__}".startswith("scipy.sparse") for kind in type(x).__mro__):
        return f"pass SelectedRows.from_scipy({name}), LoDTensor.from_scipy({name}) or {name}.toarray()"
    if hasattr(x, "__arrow_c_stream__") or hasattr(x, "__arrow_c_array__"):
        return f"pass LoDTensor.from_arrow({name})"
    if hasattr(x, "__dlpack__"):
        return f"pass np.from_dlpack({name})"
    if hasattr(x, "__array__") or hasattr(x, "__array_interface__"):
        return f"pass np.asarray({name})"
    if hasattr(x, "__next__"):
        return f"pass list({name})"
    return "pass a NumPy array, a tensor of PyTorch, a CUDA array or a list of numbers"


def _by_rank(x):
    return "np.asarray({})" if x.ndim == 1 else "LoDTensor.from_awkward({})"


def _of_arrow(x):
    lists = "list" in str(x.type)
    return "LoDTensor.from_arrow({})" if lists else "{}.to_numpy()" if _chunked(x) else "np.asarray({})"


def _chunked(x):
    return hasattr(x, "num_chunks")


def _of_pandas(x):
    if "list" in str(x.dtype):  # of Arrow
        return "LoDTensor.from_arrow({})"
    return "LoDTensor.from_nested({}.tolist())" if x.dtype == object else "{}.to_numpy()"


def _of_polars(x):
    return "LoDTensor.from_arrow({})" if str(x.dtype).startswith("List") else "{}.to_numpy()"


#: Library and type -> the conversion, or a function that chooses one.
CONVERSIONS: dict[str, str | Callable] = {
    "jax.Array": "np.asarray({})",
    "jaxlib.ArrayImpl": "np.asarray({})",
    "tensorflow.EagerTensor": "{}.numpy()",
    "tensorflow.RaggedTensor": "LoDTensor.from_torch({})",
    "torchrec.JaggedTensor": "LoDTensor.from_torch({})",
    "awkward.Array": _by_rank,
    "pandas.Series": _of_pandas,
    "pandas.Index": "{}.to_numpy()",
    "pandas.DataFrame": "{}.to_numpy()",
    "polars.Series": _of_polars,
    "polars.DataFrame": "{}.to_numpy()",
    "pyarrow.Array": _of_arrow,
    "pyarrow.ChunkedArray": _of_arrow,
    "xarray.DataArray": "{}.to_numpy()",
    "dask.Array": "{}.compute()",
    "lodkit.LoDTensor": "{}.values",
    "lodkit.SelectedRows": "{}.to_dense()",
    "lodkit.Features": "{}.values",
    "builtins.str": "the ids of its words: LoDTensor(ids, [lengths])",
    "builtins.dict": "its values one by one",
    "builtins.set": "sorted({})",
}
