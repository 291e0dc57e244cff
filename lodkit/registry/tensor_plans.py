"""Plans of calls with PyTorch's CPU tensors: kernels read arrays over their memory, and results become tensors.

A plan takes ordinary memory. Whatever else a tensor may be, lazily negated, with a tangent, of bfloat16 where an
operator takes none, goes the slow way of ``call_on_arrays``, which copies or explains.
"""

from __future__ import annotations

import sys

import numpy as np

from ..arrays.tensors import bfloat16_array_of, changed, is_cpu_tensor, plain_array_of
from ..base.tracebacks import compile_function
from ..lod import LoDTensor, SelectedRows
from .calls import MAX_PLANS, fill_absent, run_unmatched, types_of
from .contract import write_call
from .open_tapes import listeners, note_update
from .specializing import write_specialized_call
from .tensors import arrays_of, call_on_arrays, call_on_bits, numbers_in, restore, tensor_over


def call_with_tensors(op, inputs, attrs, values=(), tried=None):
    """Call an operator with tensors by a plan other than ``tried``; the slow way makes one, where none is kept.

    ``values`` are all attributes, as a plan takes them; without them a call goes the slow way.
    """
    inputs = fill_absent(op, inputs)
    key = "tensors", *types_of(op, inputs), *[type(numbers_in(x)) for x in inputs], *map(_is_half, inputs)
    plan = op._plans.get(key)
    if plan is not None and plan is not tried and len(values) == len(op._checks):
        put_first(op, inputs, plan)
        return plan(*inputs, *values)
    result = call_on_bits(op, inputs, attrs)
    copies = result is NotImplemented
    if copies:
        result = call_on_arrays(op, inputs, attrs)
    if plan is None and not (copies and any(map(_is_half, inputs))):
        keep_tensor_plan(op, inputs, key)
    return result


def _is_half(x):
    """Whether an input is a tensor of bfloat16, or holds one."""
    return getattr(numbers_in(x), "dtype", None) is sys.modules["torch"].bfloat16


def keep_tensor_plan(op, inputs, key):
    """Keep the plan of calls like one, if its tensors are of types that arrays have and nothing else is converted."""
    plain = arrays_of(op, inputs)
    accepted = op._accept(plain)
    if any(a is not p for a, p in zip(accepted, plain, strict=True)):
        return
    if len(op._plans) > MAX_PLANS:
        op._plans.clear()
    plan = op._plans[key] = make_tensor_plan(op, inputs, op._launcher(accepted))
    plan.of_tensors = True
    put_first(op, inputs, plan)


def put_first(op, inputs, plan):
    """Let the next call with inputs of the same Python types begin with this plan.

    The call on arrays puts its own there, and so does one with arrays inside a LoDTensor. A plan of other tensors
    stays, before one of bfloat16.
    """
    types = types_of(op, inputs)
    if not (any(map(_is_half, inputs)) and hasattr(op._plans.get(types), "of_tensors")):
        op._plans[types] = plan


def make_tensor_plan(op, inputs, launch):
    """Make the function that runs a kernel on arrays over the memory of tensors, and returns tensors."""
    reads, tests, swaps, plain, given, arrays = [], ["forward_ad._current_level < 0"], [], [], {}, {}
    names = {"op": op, "launch": launch, "run_unmatched": run_unmatched}
    names |= {"array_of": plain_array_of, "bits_of": bfloat16_array_of}
    fresh, after = "type(result) is ndarray and result.base is None", []
    for i, x in enumerate(inputs):
        source, array, tensor = f"x{i}", f"x{i}", is_cpu_tensor(numbers_in(x))
        if isinstance(x, LoDTensor | SelectedRows):
            source = array = f"v{i}"
            names[f"K{i}"] = type(numbers_in(x))
            reads.append(f"    v{i} = x{i}.{'_values' if isinstance(x, LoDTensor) else '_value'}")
            tests.append(f"type(v{i}) is K{i}")
        if tensor:
            array = f"p{i}"
            reader = "bits_of" if _is_half(x) else "array_of"
            tests.append(f"(p{i} := {reader}({source})) is not None")
            given[array] = source
        if tensor or type(numbers_in(x)) is np.ndarray:
            arrays[i] = array, f"x{i}._lod" if isinstance(x, LoDTensor) else None
        plain.append(array if source == f"x{i}" else f"y{i}" if tensor else f"x{i}")
        given[plain[i]] = f"x{i}"
        if isinstance(x, LoDTensor):
            tests.append(f"{array}.ndim and (not x{i}._lod or x{i}._lod[-1].item(-1) == {array}.shape[0])")
            swaps += [f"    y{i} = x{i}._like(p{i})", f"    y{i}._base = x{i}._base"] * tensor
        elif isinstance(x, SelectedRows):
            tests.append(f"{array}.ndim and x{i}._rows.shape[0] == {array}.shape[0]")
            swaps += [f"    y{i} = x{i}._with_value(p{i})"] * tensor
        if not tensor and x is not None:
            fresh += f" and result is not x{i}"
        if tensor and i in op._updated:
            after.append(f"    changed({source})")
            after += [f"    if result is p{i}:", f"        return x{i}"] * (source == f"x{i}")
    every, values = "".join(f"x{i}, " for i in range(len(inputs))), "".join(f"a{i}, " for i in range(len(op._checks)))
    keywords = "".join(f"{name}=a{i}, " for i, name in enumerate(op._checks))
    call, more = write_call(op, inputs, plain, arrays, keywords)
    specialized, of_kernel = write_specialized_call(op, inputs, plain, arrays, call)
    lines = [
        f"def plan({every}{values}):",
        *reads,
        f"    if not ({' and '.join(tests)}):",
        f"        return run_unmatched(op, ({every}), ({values}), plan)",
        *swaps,
        *(specialized or [f"    result = {call}"]),
        *[f"    if listeners.data: note_update(op, ({', '.join(plain)}, ))"] * bool(op.updates),
        *sorted(after, key=lambda line: "changed" not in line),
        f"    if {fresh}:",
        "        return tensor_over(result)",
        f"    return restore(result, {{{', '.join(f'id({key}): {value}' for key, value in given.items())}}})",
    ]
    names |= more | of_kernel | {"restore": restore, "tensor_over": tensor_over, "changed": changed}
    names |= {"ndarray": np.ndarray, "listeners": listeners, "note_update": note_update}
    names["forward_ad"] = sys.modules["torch"].autograd.forward_ad
    return compile_function(
        "plan", f"{op.name}: {', '.join(type(x).__name__ for x in inputs)} of tensors", lines, names
    )
