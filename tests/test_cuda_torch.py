"""PyTorch's tensors as arrays of a GPU: the library's own class, its memory on the CPU, kernels in the emulator."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("greenlet")
pytest.importorskip("numba_cuda")
pytest.importorskip("array_api_compat")

import simt
import torch
from conftest import copy
from samples import SAMPLES, defined
from test_every_op import same

import lodkit
from lodkit import LoDTensor, SelectedRows
from lodkit.arrays.cuda import launcher, libraries, memory
from lodkit.arrays.cuda.views import View


class Tensor(torch.Tensor):
    """A tensor on the CPU that says it is on a GPU."""

    is_cuda = True

    @property
    def __cuda_array_interface__(self):
        return plain(self).detach().numpy().__array_interface__


def plain(tensor):
    return tensor.as_subclass(torch.Tensor)


class Library(libraries.Torch):
    """What only a GPU can do is done on the CPU."""

    def view(self, x):
        found = super().view(x)
        found.device, found.array = 0, found.array.as_subclass(Tensor)
        return found

    def empty(self, shape, dtype, device):
        return self.view(torch.empty(shape, dtype=self.to_torch[dtype]).fill_(-77))

    def send(self, array, device):
        return self.view(torch.from_numpy(np.array(array)))

    def stream(self, device):
        return 0


def run_in_the_emulator(kernel, blocks, block, args, exact):
    def pointer(x):
        elements = plain(x.array).detach().numpy().reshape(-1)
        return simt.Pointer(elements.view(np.uint16 if x.dtype == np.float16 else x.dtype))

    simt.run(kernel, blocks if exact else min(blocks, 3), block, [pointer(a) if type(a) is View else a for a in args])


def moved(x, to):
    """A value whose arrays went through ``to``."""
    if isinstance(x, tuple):
        return tuple(moved(y, to) for y in x)
    if isinstance(x, LoDTensor):
        return x.with_values(to(x.values))
    if isinstance(x, SelectedRows):
        return SelectedRows._wrap(to(x._rows), to(x.value), x.height, x.is_merged)
    return x if x is None else to(x)


def to_torch(x):
    return torch.from_numpy(np.array(x)).as_subclass(Tensor) if isinstance(x, np.ndarray) else x


def to_numpy(x):
    return plain(x).detach().numpy() if isinstance(x, torch.Tensor) else x


@pytest.mark.parametrize("name", lodkit.OPS)
def test_kernels_equal_the_definition(name, monkeypatch):
    monkeypatch.setitem(memory.LIBRARIES, Tensor.__module__.partition(".")[0], Library)
    libraries._library.cache_clear()
    monkeypatch.setattr(launcher, "runner", run_in_the_emulator)
    op = lodkit.OPS[name]
    for inputs, attrs in SAMPLES[name]:
        on_gpu = [moved(x, to_torch) for x in op._accept(tuple(map(copy, inputs)))]
        same(moved(op(*on_gpu, **attrs), to_numpy), defined(op, inputs, attrs))
    libraries._library.cache_clear()
