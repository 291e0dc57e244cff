"""What a call would do, as EXPLAIN of a database says it: no kernel runs, and nothing is written."""

from __future__ import annotations

import math
import os
from html import escape

import numpy as np

from ..arrays import is_array, is_bfloat16, is_half, name_of_dtype
from ..arrays.recorded import RecordedArray
from ..arrays.tensors import is_cpu_tensor
from ..base.markup import box, table
from ..lod import LoDTensor, SelectedRows
from .desc import VarDesc, VarType
from .kinds import numbers_of

#: Loops that an explanation shows: the nearest ones of a launcher that may launch many.
_MOST_LOOPS = 4


class Explanation:
    """The kernel of a call, why it was chosen, and what it does with the inputs; text in a shell, a table in Jupyter.

    Attributes
    ----------
    kernel : Kernel
    loops : list of Loop
        The compiled loops that run, where a template chooses them; else those that may, the nearest first.
    rows : list of (str, str)
        Label and text of each line.
    """

    def __init__(self, kernel, loops, rows):
        self.kernel, self.loops, self.rows = kernel, loops, rows

    def __repr__(self):
        width = max(len(name) for name, _ in self.rows)
        return "\n".join(f"{name:{width}}  {words}" for name, words in self.rows)

    def _repr_html_(self):
        return box(table("", ("", ""), [(escape(name), escape(words)) for name, words in self.rows]))


def explain_plan(op, given, inputs, kernel, attrs, few=None):
    """Make the Explanation of a call: ``given`` as a user passed it, ``inputs`` as the kernel gets them.

    ``few`` is the kernel for few sequences, if there is one.
    """
    from ..jit import settings
    from ..jit.threading_layer import get_num_threads

    loops, names = kernel.loops(*inputs, **attrs), op._names(inputs)
    rows = [
        ("call", f"{op.name}({', '.join(map(describe_input, names, inputs))})"),
        ("kernel", repr(kernel.with_inputs(()))),
    ]
    kinds = [f"{name} is {kind_text(kind)}" for name, kind in kernel.kinds.items()]
    rows.append(("chosen by", ", ".join([*kinds, f"arrays are on {'the CPU' if kernel.device == 'cpu' else 'a GPU'}"])))
    if few is not None:
        rows.append(describe_choice(op, inputs, kernel, attrs, few))
    for loop in loops[:_MOST_LOOPS]:
        rows.append(("loop" if kernel.chooses_loops else "may launch", f"{loop!r}"))
        rows += [(f"  {name}", f"{value}") for name, value in loop.facts.items()]
        rows.append(("  compiled", describe_compiled(loop)))
    if not loops:
        rows.append(("loop", "the launcher names none: functions of the arrays' library run, or structure is moved"))
    elif len(loops) > _MOST_LOOPS:
        rows.append(("may launch", f"{len(loops) - _MOST_LOOPS} more, in .loops of this explanation"))
    adapted = [text for name, g, x in zip(names, given, inputs, strict=True) for text in adaptions(name, g, x)]
    rows += [("adapted", text) for text in adapted or ["nothing: the kernel reads the inputs as they are"]]
    if kernel.device == "cpu":
        numbers = count_numbers(inputs)
        shared = numbers >= settings.parallel_from and kernel.contract is None
        bound = f"about {numbers:,} numbers, {'at least' if shared else 'below'} {settings.parallel_from:,}"
        bound = bound if kernel.contract is None else "the kernel for few sequences shares no work"
        rows.append(("threads", f"{get_num_threads() if shared else 1}: {bound}"))
    rows.append(("reads", f"at most {sum(map(bytes_of, inputs)):,} bytes of inputs"))
    rows.append(("writes", describe_results(op, given, inputs, attrs)))
    return Explanation(kernel, loops, rows)


def describe_results(op, given, inputs, attrs):
    """Return the bytes that a call writes: of inputs that it updates, else of results, by ``infer``."""
    named = dict(zip(op._names(inputs), inputs, strict=True))
    updated = {name: named[name] for name in op.inputs if name in op.updates and named.get(name) is not None}
    if updated:
        return f"at most {sum(map(bytes_of, updated.values())):,} bytes of {', '.join(updated)}, in place"
    # Tensors have types that the arrays in their place lack.
    described = [g if is_cpu_tensor(numbers_of(g)) else x for g, x in zip(given, inputs, strict=True)]
    try:
        results = list_results(op.infer(*[None if x is None else VarDesc.of(x) for x in described], **attrs))
    # A rule may be a user's.
    except Exception as error:
        return f"not known: the rule of infer raises {type(error).__name__} for these inputs"
    if any(d.type is VarType.SELECTED_ROWS for d in results) or any(min(d.dims, default=0) < 0 for d in results):
        return "results of a size that the values of the inputs tell"
    return f"{sum(math.prod(d.dims) * d.dtype.itemsize for d in results):,} bytes of results"


def list_results(found):
    """List the descriptions of results, of tuples in tuples too; an absent one has none."""
    if isinstance(found, tuple):
        return [d for each in found for d in list_results(each)]
    return [] if found is None else [found]


def describe_compiled(loop):
    """Whether a loop is compiled, and where its code is kept."""
    count, kept = len(loop.signatures), [entry for entry in loop.entries if entry]
    if not count:
        folder = cache_place()
        return f"at the first call{f', or read from {folder}' if folder else ': no compiled code is kept on disk'}"
    facts = "".join(f", {name} {value}" for name, value in loop.reports[-1].items())
    facts += f", kept in {', '.join(map(shorten_home, kept))}" if kept else ""
    return f"for {count} signature{'s' * (count != 1)} in this process{facts}"


def describe_choice(op, inputs, kernel, attrs, few):
    """Return why the kernel for few sequences was chosen, or why it was not."""
    if kernel.contract:
        words = [words for _, words in few.contract.write_tests(op, inputs)]
        return "  its size", f"few sequences: {', '.join(words)}; a call with a larger result it hands on"
    misfit = (
        few.contract.find_misfit(op, inputs, {**op.defaults, **attrs})
        or "no out= is given, and arrays are plain ones of NumPy"
    )
    return "  not chosen", f"the kernel for few sequences, {few.place}, for calls where {misfit}"


def cache_place():
    """The directory of compiled code; an empty text if there is none yet, or others can write to it."""
    from ..jit.cache import place

    return shorten_home(place() or "")


def shorten_home(path):
    """A path, with ~ in place of this user's home directory."""
    home = os.path.expanduser("~")
    return f"~{path.removeprefix(home)}" if path.startswith(os.path.join(home, "")) else path


def kind_text(kind):
    """A kind in a sentence."""
    return {"Dense": "an array", "LoDTensor": "a LoDTensor", "None": "not given"}.get(kind, kind)


def describe_input(name, x):
    """Return the text of an input with its type and shape."""
    if x is None:
        return f"{name}=None"
    numbers = numbers_of(x)
    shape = (
        f"{name_of_dtype(np.dtype(numbers.dtype))}{list(numbers.shape)}"
        if is_array(numbers)
        else type(numbers).__name__
    )
    if isinstance(x, LoDTensor):
        return f"{name}: LoDTensor of {len(x)} sequences, {shape}"
    return f"{name}: SelectedRows of {x.height:,} rows, {shape}" if isinstance(x, SelectedRows) else f"{name}: {shape}"


def adaptions(name, given, x):
    """What happens to an input before a kernel reads it."""
    numbers, before = numbers_of(x), numbers_of(given)
    if is_cpu_tensor(before):
        copied = "bfloat16" in str(before.dtype) and not is_bfloat16(numbers.dtype)
        copied = "copied to float32" if copied else "whose memory is shared where it can be"
        yield f"{name}: a tensor of PyTorch, {copied}"
    elif isinstance(before, RecordedArray):
        yield f"{name}: a parameter, read as the plain array"
    elif given is not x and x is not None:
        yield f"{name}: {type(given).__name__} is converted"
    if isinstance(numbers, np.ndarray):
        if not numbers.flags.c_contiguous:
            yield f"{name}: not C-contiguous; {'rows' if numbers.ndim > 1 else 'numbers'} that are read are copied"
        if not numbers.dtype.isnative:
            yield f"{name}: bytes in the other order are copied"
        if is_half(numbers.dtype):
            kind = name_of_dtype(numbers.dtype)
            yield f"{name}: {kind} is computed in float32 and rounded once, where it does not only move"
        if numbers.dtype.kind in "iu" and numbers.dtype != np.int64 and numbers.ndim == 1:
            yield f"{name}: {numbers.dtype} is converted to int64 where it holds ids or lengths"


def count_numbers(inputs):
    """Numbers that a kernel walks over, about: those of rows that ids name, or of a sparse gradient, else the most."""
    sizes = [(x, numbers_of(x)) for x in inputs if is_array(numbers_of(x))]
    for x, numbers in sizes:
        if isinstance(x, SelectedRows):
            return math.prod(numbers.shape)
    for _, numbers in sizes[1:]:
        first = sizes[0][1]
        if np.dtype(numbers.dtype).kind in "iu" and np.dtype(first.dtype).kind == "f":
            return math.prod(numbers.shape) * math.prod(first.shape[1:])
    return max((math.prod(numbers.shape) for _, numbers in sizes), default=0)


def bytes_of(x):
    """Bytes of an input."""
    numbers = numbers_of(x)
    return math.prod(numbers.shape) * np.dtype(numbers.dtype).itemsize if is_array(numbers) else 0
