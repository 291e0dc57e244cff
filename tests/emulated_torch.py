"""A GPU for PyTorch's tensors: inside ``on_gpu()`` all say that they are there, and kernels run in the emulator."""

from __future__ import annotations

import contextlib

import numpy as np
import pytest
import simt
import torch

from lodkit.arrays import BFLOAT16
from lodkit.arrays.cuda import launcher, libraries, memory
from lodkit.arrays.cuda.views import View


def numbers(tensor):
    """The memory of a tensor, wherever it says that this is, and whatever signs it says that the numbers have."""
    with torch._C.DisableTorchFunctionSubclass():
        tensor = torch._neg_view(tensor) if tensor.is_neg() else tensor
        tensor = tensor.view(torch.int16) if tensor.dtype is torch.bfloat16 else tensor
        return torch._C.TensorBase.numpy(tensor)


class Home(torch.Tensor):
    """A tensor that was copied to the CPU."""

    is_cuda, is_cpu = False, True

    def numpy(self):
        return numbers(self)


class Library(libraries.Torch):
    """What only a GPU can do is done on the CPU."""

    def view(self, x):
        found = super().view(x)
        found.device = 0
        return found

    def empty(self, shape, dtype, device):
        return self.view(torch.empty(shape, dtype=self.to_torch[dtype]).fill_(-77))

    def send(self, array, device):
        return self.view(torch.from_numpy(np.array(array)))

    def host_numbers(self, count, device):
        memory = self.view(torch.full((count,), -1))
        return memory, numbers(memory.array)

    def wait(self, device):
        pass

    def stream(self, device):
        return 0

    def captures(self):
        return False


def run_in_the_emulator(kernel, blocks, block, args, exact):
    def pointer(x):
        elements = numbers(x.array.detach()).reshape(-1)
        words = {np.dtype(np.float16): np.uint16, BFLOAT16: np.int16}.get(x.dtype, x.dtype)
        return simt.Pointer(elements.view(words))

    simt.run(kernel, blocks if exact else min(blocks, 3), block, [pointer(a) if type(a) is View else a for a in args])


def refused(self, *args, **kwargs):
    raise TypeError("can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu()")


@contextlib.contextmanager
def on_gpu():
    """A context in which tensors are on a GPU; NumPy's arrays are not."""
    forget_libraries()
    with pytest.MonkeyPatch.context() as m:
        m.setitem(memory.LIBRARIES, "torch", Library)
        m.setattr(launcher, "runner", run_in_the_emulator)
        m.setattr(torch.Tensor, "is_cuda", True)
        m.setattr(torch.Tensor, "is_cpu", False)
        m.setattr(torch.Tensor, "numpy", refused)
        m.setattr(torch.Tensor, "cpu", lambda self: self.detach().clone().as_subclass(Home))
        interface = property(lambda self: numbers(self.detach()).__array_interface__)
        m.setattr(torch.Tensor, "__cuda_array_interface__", interface)
        yield
    forget_libraries()


def forget_libraries():
    """Have array libraries made anew, of the classes that are known now."""
    libraries._library.cache_clear()
    libraries._make_library.cache_clear()
