"""Calls on a GPU like earlier ones: their launcher, without another look at the kind and the device of every input.

A look at all of a call takes longer than most kernels run: a pooling took 70 us of Python with it, 25 without.
"""

from __future__ import annotations

from ..arrays.devices import know_type, known_on_gpu
from ..lod import LoDTensor, SelectedRows


def key_of(inputs):
    """The types of inputs, of one alone its type."""
    return type(inputs[0]) if len(inputs) == 1 else tuple(map(type, inputs))


def launcher_on_gpu(op, key, inputs):
    """The launcher of a call whose arrays are all on a GPU, as those of a call of the same types were; else None."""
    launch = op._on_gpu.get(key)
    if launch is not None:
        for x in inputs:
            if type(x) is LoDTensor:
                values, lod = x._values, x._lod
                if not known_on_gpu(values) or not lod or lod[-1].item(-1) != values.shape[0]:
                    return None
            elif type(x) is SelectedRows:
                if not known_on_gpu(x._rows) or not known_on_gpu(x.value) or x._rows.shape[0] != x.value.shape[0]:
                    return None
            elif x is not None and not known_on_gpu(x):
                return None
    return launch


def keep_launcher(op, given, inputs, launch):
    """Keep the launcher of a call for ``launcher_on_gpu``, if nothing that was given had to be converted."""
    if all(x is g for x, g in zip(inputs, given, strict=True)):
        for x in inputs:
            arrays = (x._rows, x.value) if type(x) is SelectedRows else (x._values if type(x) is LoDTensor else x,)
            for array in arrays:
                know_type(array)
        op._on_gpu[key_of(inputs)] = launch
