"""Moving arrays between the CPU and a GPU, by any CUDA library."""

from __future__ import annotations

import importlib
import sys

import numpy as np

from ..base.errors import DeviceError
from .generic import device_of
from .recorded import is_on_tape, refuse_unrecorded
from .tensors import is_tensor, numbers_of

_TO_CUDA = {
    "cupy": lambda module, array: module.asarray(array),
    "torch": lambda module, array: module.from_numpy(np.array(array, order="C")).cuda(),
    "numba.cuda": lambda module, array: module.to_device(array),
}


def to_device(array, device):
    """Move an array to ``"cpu"`` (NumPy) or ``"cuda"`` (of an imported library if there is one)."""
    if device not in ("cpu", "cuda"):
        raise ValueError(f'device must be "cpu" or "cuda", got {device!r}; .astype(...) changes the type')
    if device_of(array) == device:
        return array
    if is_tensor(array) and device == "cuda":
        return _move_to_cuda(array)
    if is_on_tape(array):
        refuse_unrecorded("moving to another device")
    if device == "cuda":
        return _to_cuda(array)
    result = _to_cpu(array)
    if "lodkit.arrays.cuda.views" in sys.modules:
        # The copy synchronised.
        sys.modules["lodkit.arrays.cuda.views"].raise_pending()
    return result


def _move_to_cuda(tensor):
    try:
        return tensor.cuda()
    except (RuntimeError, AssertionError) as error:
        raise DeviceError(f"no CUDA device can be reached by PyTorch: {error}") from error


def _to_cpu(array):
    for method in ("get", "copy_to_host"):
        if hasattr(array, method):
            return getattr(array, method)()
    if hasattr(array, "detach"):
        return numbers_of(array)
    from .cuda import view

    return view(array).read()


def _to_cuda(array):
    failures = []
    # Numba comes last: lodkit itself may have imported it.
    for name in sorted(_TO_CUDA, key=lambda name: (name == "numba.cuda", name not in sys.modules)):
        try:
            return _TO_CUDA[name](importlib.import_module(name), array)
        except Exception as error:
            # Without a library, driver or GPU, each raises its own kind.
            reason = " ".join(str(error).replace(":", " ").split()) or type(error).__name__
            failures.append(f"{name}: {reason}")
    raise DeviceError(
        f"no CUDA device can be reached ({'; '.join(failures)}); a GPU, its driver and an array library are needed: "
        'CuPy, PyTorch, or pip install "lodkit[cuda]"'
    )
