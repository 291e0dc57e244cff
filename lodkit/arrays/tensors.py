"""PyTorch's CPU tensors as NumPy arrays, and back, without a copy. PyTorch is used where the caller loaded it."""

from __future__ import annotations

import sys

import numpy as np

from ..base.bfloat16 import BFLOAT16, is_bfloat16
from ..base.errors import DTypeError, LodkitError
from ..base.float8 import FLOAT8_REMEDY, float8_of
from .objects import remedy_of


def is_tensor(x):
    """Whether ``x`` is a tensor of PyTorch, on any device."""
    return isinstance(x, getattr(sys.modules.get("torch"), "Tensor", ()))


def is_cpu_tensor(x):
    """Whether ``x`` is a tensor of PyTorch that is not on a GPU."""
    return isinstance(x, getattr(sys.modules.get("torch"), "Tensor", ())) and not x.is_cuda  # type: ignore[union-attr]


def array_of(tensor, name, *, record=True):
    """A NumPy array over the memory of a dense CPU tensor.

    Of bfloat16, which NumPy lacks, a copy in float32; of a lazily negated or conjugated tensor a copy too.

    Parameters
    ----------
    tensor : torch.Tensor
    name : str
        What to call it in errors: ``grad``, or ``sgd: grad``.
    record : bool
        False to take a tensor that requires grad: to show, compare or convert its numbers.

    Raises
    ------
    TypeError
        The tensor requires grad while PyTorch records, or is no dense tensor on the CPU.
    DTypeError
        NumPy lacks its type.
    """
    array = plain_array_of(tensor)
    if array is None:
        array = _read_unusual(tensor, name, record)
    return array


def bfloat16_array_of(tensor):
    """An array of ``BFLOAT16`` over the memory of an ordinary tensor of bfloat16; None for other tensors."""
    torch = sys.modules["torch"]
    if tensor.dtype is not torch.bfloat16 or tensor.is_neg() or (tensor.requires_grad and torch.is_grad_enabled()):
        return None
    try:
        words = plain_array_of(tensor.detach().view(torch.int16))
    except RuntimeError:
        return None
    return None if words is None else words.view(BFLOAT16)


def plain_array_of(tensor):
    """A NumPy array over the memory of an ordinary tensor, in 0.5 us; None for one that ``array_of`` looks at."""
    try:
        have = tensor.untyped_storage().nbytes()
        # A whole tensor, in 0.25 us.
        if have == tensor.nbytes and tensor.is_contiguous() and not tensor.storage_offset():
            return tensor.numpy()
        return tensor.numpy() if _needed_bytes(tensor) <= have else None
    except (RuntimeError, TypeError):
        return None


def numbers_of(tensor, name="a tensor"):
    """The numbers of a dense tensor on any device: as ``array_of`` on the CPU, else copied to there."""
    tensor = tensor.detach()
    if tensor.is_cuda and tensor.layout is sys.modules["torch"].strided and not tensor.is_nested:
        tensor = check_storage(tensor, name).cpu()
    return array_of(tensor, name)


def address_of(tensor, name="a tensor"):
    """The address of the memory of a contiguous tensor, on any device."""
    return check_storage(tensor, name).data_ptr()


def shares(tensor, array):
    """Whether an array that was made of a tensor is over its memory, not a copy."""
    return array.__array_interface__["data"][0] == tensor.data_ptr()


def span_of(array):
    """First byte of the memory of a C-contiguous array or a tensor, and the one behind the last; of a tensor that is
    not contiguous those of all its storage.
    """
    if not is_tensor(array):
        start = array.__array_interface__["data"][0]
        return start, start + array.nbytes
    if array.is_contiguous():
        return array.data_ptr(), array.data_ptr() + array.nbytes
    storage = array.untyped_storage()
    return storage.data_ptr(), storage.data_ptr() + storage.nbytes()


def shares_storage(tensor, others):
    """Whether the memory of a tensor starts in that of another one."""
    at = tensor.data_ptr()
    for other in others:
        storage = other.untyped_storage()
        start = storage.data_ptr()
        if start <= at < start + storage.nbytes():
            return True
    return False


def traced_array_of(tensor):
    """The array of a tensor that torch.compile traces, which has no memory yet."""
    return tensor.numpy()


def _read_unusual(tensor, name, record):
    """The array of a tensor that ``Tensor.numpy`` refuses."""
    torch = sys.modules["torch"]
    if record and tensor.requires_grad and torch.is_grad_enabled():
        raise TypeError(
            f"{name} requires grad, which lodkit's operators do not record: differentiate by the function of the same "
            f"name in lodkit.interop.torch, update under torch.no_grad() or by lodkit.interop.torch.optim, or pass "
            f"{_short_name(name)}.detach()"
        )
    check_dense(tensor, name)
    try:
        check_storage(tensor, name)
        plain = tensor.detach().resolve_conj().resolve_neg()
        return plain.float().numpy() if plain.dtype is torch.bfloat16 else plain.numpy()
    except TypeError as error:
        more = f"; {FLOAT8_REMEDY}" if float8_of(tensor.dtype) else ""
        raise DTypeError(f"{name} has dtype {tensor.dtype}, which NumPy lacks; convert with .float(){more}") from error
    except RuntimeError as error:
        # Subclasses without memory raise, as tensors of vmap, grad and compile.
        raise TypeError(
            f"{name} is a {type(tensor).__name__} whose memory cannot be reached ({error}); torch.func and vmap "
            "are not supported; inside torch.compile call the functions of lodkit.interop.torch"
        ) from error


def check_dense(tensor, name):
    """Return ``tensor``; TypeError unless it is a dense one in the memory of the CPU."""
    strided = sys.modules["torch"].strided
    if tensor.layout is strided and tensor.is_cpu and not tensor.is_nested and not tensor.is_quantized:
        return tensor
    short = _short_name(name)
    if tensor.is_nested:
        raise TypeError(f"{name} is a nested tensor, not a dense one; convert it: LoDTensor.from_torch({short})")
    if tensor.layout is not strided:
        raise TypeError(
            f"{name} is a tensor of layout {tensor.layout}, not a dense one; convert it: "
            f"SelectedRows.from_torch({short}) if its rows are sparse, or {short}.to_dense()"
        )
    if tensor.is_meta:
        raise TypeError(f"{name} is a tensor on meta, which has no numbers; make it on the CPU or on CUDA")
    if tensor.device.type != "cpu":
        raise TypeError(f"{name} is a tensor on {tensor.device}; lodkit computes on the CPU and on CUDA: {short}.cpu()")
    raise DTypeError(f"{name} has dtype {tensor.dtype}, which NumPy lacks; convert with .dequantize()")


def _short_name(name):
    return name.rpartition(": ")[2]


def check_storage(tensor, name):
    """Return ``tensor``; raise if its storage was made smaller since: PyTorch itself would read beyond its end."""
    have = tensor.untyped_storage().nbytes()
    if have == tensor.nbytes and tensor.is_contiguous() and not tensor.storage_offset():
        return tensor
    needed = _needed_bytes(tensor)
    if needed > have:
        raise LodkitError(
            f"{name} of shape {tuple(tensor.shape)} needs {needed} bytes, its storage has {have} now: it was resized "
            f"after the tensor was made; resize it back, tensor.untyped_storage().resize_({needed}), and fill it"
        )
    return tensor


def _needed_bytes(tensor):
    """Bytes from the start of a tensor's storage to its last element."""
    start, size = tensor.storage_offset(), tensor.itemsize
    if tensor.is_contiguous():
        return start * size + tensor.nbytes if tensor.nbytes else 0
    last = sum((n - 1) * s for n, s in zip(tensor.shape, tensor.stride(), strict=True))
    return (start + last + 1) * size


def contiguous_sizes(tensors):
    """The numbers of elements of tensors that are contiguous and lie in their storages; raises for others."""
    sizes = []
    for tensor in tensors:
        size = tensor.numel()
        stop = (tensor.storage_offset() + size) * tensor.itemsize
        if not tensor.is_contiguous() or tensor.untyped_storage().nbytes() < stop:
            raise ValueError("a tensor is not contiguous, or its storage was made smaller")
        sizes.append(size)
    return sizes


def refuse_duals(name, numbers):
    """Raise for tensors that carry tangents of forward-mode differentiation, which would be lost."""
    forward = sys.modules["torch"].autograd.forward_ad
    if forward._current_level < 0:
        return
    for x in numbers:
        if is_tensor(x) and forward.unpack_dual(x).tangent is not None:
            raise TypeError(f"{name} has no forward-mode derivative; differentiate backward by lodkit.interop.torch")


def rounded_like(numbers):
    """The tensor or array of bfloat16 among inputs to whose type their float32 results are rounded.

    None if there is none, or if another one holds wider floating numbers.
    """
    torch, found = sys.modules.get("torch"), None
    for x in numbers:
        if isinstance(x, np.ndarray) and is_bfloat16(x.dtype):
            found = x if found is None else found
        elif torch and isinstance(x, torch.Tensor):
            if x.dtype is torch.bfloat16:
                found = x
            elif x.is_floating_point() and x.itemsize > 2:
                return None
        elif isinstance(x, np.ndarray) and x.dtype.kind == "f" and x.itemsize > 2:
            return None
    return found


def tensor_of(array, like=None):
    """A tensor over the memory of a NumPy array; in bfloat16, rounded, if ``like`` is a tensor of that type.

    Read-only memory is shared too. An array in an order of bytes or axes that PyTorch lacks is copied.

    Raises
    ------
    DTypeError
        PyTorch has no such type.
    """
    torch = sys.modules["torch"]
    array = array if type(array) is np.ndarray else np.asarray(array)
    if is_bfloat16(array.dtype):
        return tensor_of(array.view(np.int16)).view(torch.bfloat16)
    try:
        made = torch.from_numpy(array) if array.flags.writeable else torch.from_dlpack(array)
    except (TypeError, ValueError, BufferError):
        made = _copy_to_torch(torch, array)
    halved = like is not None and like.dtype is torch.bfloat16 and made.dtype is torch.float32
    return made.to(torch.bfloat16) if halved else made


def _copy_to_torch(torch, array):
    try:
        return torch.from_numpy(np.array(array, array.dtype.newbyteorder("="), order="C"))
    except (TypeError, ValueError) as error:
        raise DTypeError(f"PyTorch has no tensors of {array.dtype}; {remedy_of(array.dtype)}") from error


def changed(tensor):
    """Tell PyTorch that the numbers of a tensor were overwritten, as its own updates in place do."""
    graph = sys.modules["torch"].autograd.graph
    if hasattr(graph, "increment_version"):
        graph.increment_version(tensor)


def write_back(tensor, array):
    """Give a tensor the numbers of the array that was made of it, if that was a copy."""
    if shares(tensor, array):
        changed(tensor)
    else:
        tensor.detach().copy_(tensor_of(array))
