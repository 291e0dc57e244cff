"""``out=``: filled by the kernel, or by a copy of the result.

A LoDTensor becomes the result: its values are filled, and it takes the structure of the result.
"""

from __future__ import annotations

import functools

import numpy as np

from ..arrays import is_array, output, parts, refuse_overlap
from ..lod import LoDTensor
from .inputs import labels_of
from .kinds import run_rows, unwrapped
from .open_tapes import listeners, note_written
from .tensors import call_on_arrays, holds_tensors


def call_with_out(op, inputs, attrs, out):
    """Call an operator with ``out=``; shape, type and overlap are checked before anything is written."""
    if op.updates:
        raise TypeError(f"{op.name} takes no out=: it works in place")
    if holds_tensors((*inputs, out)):
        return call_on_arrays(op, inputs, attrs, out)
    given, out = out, unwrapped(out)
    inputs = op._accept(tuple(map(unwrapped, inputs)))
    launch = op._launcher(inputs)
    op._check_attrs(attrs)
    op._check_needed(attrs)
    for part in parts(out):
        refuse_overlap("out", part, inputs, labels_of(op, inputs))
    target = out._values if isinstance(out, LoDTensor) else out
    if target is None:
        raise TypeError("out is a LoDTensor without values; give it some with set_values(...)")
    if fills_out(launch):
        result = launch(*inputs, out=target, **attrs)
    else:
        result = copy_result(op, launch(*inputs, **attrs), target)
    if listeners.data:
        note_written(target)
    if isinstance(out, LoDTensor) and isinstance(result, LoDTensor):
        given._set_levels(result._lod)
    return given if result is out else result


def fills_out(launch):
    """Whether a launcher fills ``out`` itself; the result of others is copied."""
    kernel = launch.args[1] if isinstance(launch, functools.partial) and launch.func is run_rows else launch
    return "out" in (kernel.__kwdefaults__ or ())


def copy_result(op, result, out):
    """Copy a result into ``out``, which it must fit; returns what a call gives."""
    array = result._values if isinstance(result, LoDTensor) else result
    if not is_array(array):
        raise TypeError(f"{op.name} takes no out=: its result is no array but {type(result).__name__}")
    if isinstance(array, np.ndarray):
        output(array.shape, array.dtype, out)[...] = array
    else:
        from ..arrays.cuda import copy_to

        copy_to(array, out)
    return result.with_values(out) if isinstance(result, LoDTensor) else out
