"""What calls test inline: attributes by their types, and the contract of a kernel before a plan calls it.

Annotations of a kernel for few sequences, which plans and copies in one compiled call, say it: ``x: FewSequences``,
``mask: Flags``, ``level: Literal[0, -1]``. Calls that do not keep it run the kernel of all calls of these kinds. That
one may declare its ids, ``ids: Ids``: those of a call that are not as it takes them are converted, or refused.
"""

from __future__ import annotations

import functools
import inspect
import types
import typing

import numpy as np

from ..arrays import COMPUTED
from ..arrays.checks import MAX_INT64
from ..base.tracebacks import compile_function
from ..lod import LoDTensor, check_bag
from .kinds import Dense, keep_structure

#: A LoDTensor of one level that holds few numbers; the first input holds some. The kernel gets (values, offsets).
FewSequences = typing.Annotated[LoDTensor, "few"]
#: A plain array of few numbers; the first input holds some.
FewRows = typing.Annotated[Dense, "few"]
#: Ids, which the kernel gets as NumPy's C-contiguous int64, or a View on a GPU, their range unchecked. Those of a
#: LoDTensor are one a row, and the kernel gets (ids, LoDTensor).
Ids = typing.Annotated[Dense, "ids"]


def misfits_of(name, check):
    """Conditions without which an attribute passes its test: numbers, flags and words need no call of that."""
    test, words = check.test, tuple(x for x in check.choices or () if type(x) is str)
    if test(0.5):
        yield f"type({name}) is not float"
    if test(3) and test(MAX_INT64):
        yield f"(type({name}) is not int or not {-MAX_INT64} <= {name} <= {MAX_INT64})"
    if words:
        yield f"(type({name}) is not str or {name} not in {words})"
    if test(True) and test(False):
        yield f"{name} is not True and {name} is not False"


class Contract:
    """What a kernel for few sequences takes.

    Attributes
    ----------
    inputs : list of (str, annotation)
        If the operator takes any number of inputs, the kernel serves calls with as many as it names.
    attrs : dict
        Attribute -> the values that the kernel serves.
    """

    def __init__(self, inputs, attrs):
        self.inputs, self.attrs = inputs, attrs

    def write_tests(self, op, inputs):
        """Return the tests of a call with inputs of the types of these, each with the words for it.

        Tests are expressions over the inputs ``x0``, their values ``v0`` and levels ``lod0``, and attributes ``a0``.
        """
        if op.variadic and len(inputs) != len(self.inputs):
            return [("False", f"there are {len(self.inputs)} inputs")]
        tests, first = [], None
        for i, ((name, hint), x) in enumerate(zip(self.inputs, inputs, strict=False)):
            if hint in (FewSequences, FewRows):
                tests += _write_size_tests(i, name, x, hint, first)
                first = first or (f"{'v' if isinstance(x, LoDTensor) else 'x'}{i}", name)
            elif x is not None and hint is type(None):
                tests.append(("False", f"{name} is not given"))
            elif x is not None and hasattr(hint, "__metadata__"):
                tests.append(_write_vector_test(i, name, x, hint.__metadata__[0]))
        for name, served in self.attrs.items():
            equal = f"in {served!r}" if len(served) > 1 else f"== {served[0]!r}"
            words = f"{name} is {' or '.join(map(repr, served))}"
            tests.append((f"a{[*op._checks].index(name)} {equal}", words))
        return tests

    def find_misfit(self, op, inputs, attrs):
        """Return the words for the first test that a call fails; None if it keeps the contract."""
        space = names_in_tests(op)
        for i, x in enumerate(inputs):
            space |= {f"x{i}": x, f"v{i}": getattr(x, "_values", None), f"lod{i}": getattr(x, "_lod", None)}
        space |= {f"a{j}": attrs.get(name) for j, name in enumerate(op._checks)}
        return next((words for test, words in self.write_tests(op, inputs) if not eval(test, space)), None)

    def write_arguments(self, inputs):
        """Return these inputs as the kernel takes them, as source over the names in tests."""
        return [f"(v{i}, lod{i}[0])" if pair else f"x{i}" for i, (pair, _) in enumerate(self._pairs(inputs))]

    def unpack(self, inputs):
        """Return these inputs as the kernel takes them."""
        return [(x._values, x._lod[0]) if pair else x for pair, x in self._pairs(inputs)]

    def _pairs(self, inputs):
        """Pair each input with whether the kernel takes it as values and offsets."""
        return [(hint == FewSequences, x) for (_, hint), x in zip(self.inputs, inputs, strict=False)]


def read_contract(function):
    """Read the contract of a kernel for few sequences from its annotations; None of one for all calls of its kinds."""
    hints, inputs, attrs = typing.get_type_hints(function, include_extras=True), [], {}
    for p in inspect.signature(function).parameters.values():
        hint = hints.get(p.name)
        if typing.get_origin(hint) in (typing.Union, types.UnionType):
            hint = next((part for part in typing.get_args(hint) if hasattr(part, "__metadata__")), hint)
        if p.kind is not p.KEYWORD_ONLY:
            inputs.append((p.name, hint))
        elif typing.get_origin(hint) is typing.Literal:
            attrs[p.name] = typing.get_args(hint)
    return Contract(inputs, attrs) if any(hint in (FewSequences, FewRows) for _, hint in inputs) else None


def find_ids(function):
    """Names of the inputs that a launcher declares as ``Ids``."""
    hints, parameters = typing.get_type_hints(function, include_extras=True), inspect.signature(function).parameters
    return [p.name for p in parameters.values() if p.kind is not p.KEYWORD_ONLY and hints.get(p.name) == Ids]


def take_any_ids(function, op):
    """Return a launcher of several devices that takes any ids: what it declares as ``Ids`` is converted, or refused.

    Of a rowwise input it gets the values of a LoDTensor, and refuses the LoDTensor itself; None stays None.

    It is compiled from text, with the parameters of ``function``, so that a call costs 0.4 us less.
    """
    ids, parameters = find_ids(function), inspect.signature(function).parameters
    if not ids:
        return function
    on, *_ = inputs = [p.name for p in parameters.values() if p.kind is not p.KEYWORD_ONLY]
    attrs = [name for name in parameters if name not in inputs]
    places = [inputs.index(name) - 1 for name in ids]
    lines = [f"def launch({', '.join([*inputs, '/', *['*'] * bool(attrs), *attrs])}):"]
    for name, at in zip(ids, places, strict=True):
        given, kinds = [*op.inputs.items()][at]
        rows, sequences = f"{on}.integers({name}, {name!r})", f"__convert_ids({name}, {on}, {name!r}, {op.name!r})"
        unless_none = f"    if {name} is not None:\n    " if type(None) in kinds else ""
        lines.append(f"{unless_none}    {name} = {rows if given in op.rowwise else sequences}")
    lines.append(f"    return __function({', '.join([*inputs, *(f'{name}={name}' for name in attrs)])})")
    names = {"__function": function, "__convert_ids": convert_ids}
    launch = compile_function("launch", f"{op.name}: ids", lines, names)
    launch.__defaults__, launch.__kwdefaults__ = function.__defaults__, function.__kwdefaults__
    launch.ids = places
    return functools.update_wrapper(launch, function)


def convert_ids(x, on, name, op):
    """Return ids as launchers get them; raise where they are no integers, or in a LoDTensor not one a row."""
    if not isinstance(x, LoDTensor):
        return on.integers(x, name)
    values = x._values
    if not x._lod or values.ndim != 1:
        x = check_bag(x, op)
        values = x._values
    return on.integers(values, name), x


def write_call(op, inputs, plain, arrays, keywords):
    """Return the call of a launcher in a plan as source, and its names.

    Where tests find ids plain, the call leaves out the wrapper that converts them; where LoDTensors of rows share one
    structure, it takes their values and gives the result that structure, which takes 1.2 us less than ``run_rows``.
    ``plain`` says what the plan calls its inputs, ``arrays`` what NumPy's arrays of them, by position, and the levels
    of those that have some.
    """
    call = f"launch({', '.join(plain)}, {keywords})"
    names: dict[str, typing.Any] = {}
    kernel, given, same = op._find("cpu", op._kinds_of(inputs)), [*plain], []
    rows = [i for i, x in enumerate(inputs) if isinstance(x, LoDTensor)] if op.rowwise else []
    ids, tests, form = getattr(kernel.launch, "ids", ()), [], "{}"
    if rows and arrays.keys() >= {*rows}:
        first, *others = rows
        for i in rows:
            given[i] = arrays[i][0]
        same = [f"{arrays[i][1]} is {arrays[first][1]}" for i in others]
        form = f"keep_structure({{}}, {plain[first]}, {arrays[first][1]})"
        names |= {"launch_rows": kernel.launch, "keep_structure": keep_structure}
        of_rows = form.format(f"launch_rows({', '.join(given)}, {keywords})")
        call = f"({of_rows} if {' and '.join(same)} else {call})" if same else of_rows
    elif rows:
        return call, {}
    if not ids or not arrays.keys() >= {*ids}:
        return call, names
    for i in ids:
        array, lod = arrays[i]
        if lod and [*op.inputs][i] not in op.rowwise:
            given[i] = f"({array}, {plain[i]})"
            tests.append(lod)
        tests += write_ids_tests(op, i, array, lod)
    # A launcher binds its device, which takes 0.08 us of a call.
    launch = kernel.device_module.launcher(kernel.function)
    names |= {"launch_plain": launch.func, "device": launch.args[0], **names_in_tests(op)}
    of_plain = form.format(f"launch_plain(device, {', '.join(given)}, {keywords})")
    return f"{of_plain} if {' and '.join(same + tests)} else {call}", names


def write_ids_tests(op, i, array, lod):
    """Return the tests of ids that launchers take as they are."""
    of_bags = [f"{array}.ndim == 1"] if lod and [*op.inputs][i] not in op.rowwise else []
    return [*of_bags, _write_memory_test(array, "int64")]


def names_in_tests(op):
    """Return what tests of an operator's calls name, beside inputs and attributes."""
    from ..jit import settings

    dtypes = {f"{name}_dtype": np.dtype(name) for name in ("bool", "int64", "uint8")}
    return {"settings": settings, "value_types": next(iter(op.types.values()), COMPUTED).known, **dtypes}


def _write_size_tests(i, name, x, hint, first):
    """Yield the tests of an input of few numbers; of the first one some, and rows of the others like its rows."""
    from ..jit import settings
    from ..lod.copy_runs import FEW_MULTIPLE

    part = "v" if isinstance(x, LoDTensor) else "x"
    array, most = f"{part}{i}", FEW_MULTIPLE * settings.parallel_from
    if (part == "v") != (hint == FewSequences):
        yield "False", f"{name} is {'a LoDTensor' if hint == FewSequences else 'an array'}"
        return
    if part == "v":
        yield f"len(lod{i}) == 1", f"{name} has one level"
    elif type(x) is not np.ndarray:
        yield "False", f"{name} is an array"
    few = f"{array}.size < {FEW_MULTIPLE} * settings.parallel_from"
    if first is None:
        yield f"0 < {few}", f"{name} has 1 to {most - 1:,} numbers"
        yield f"{array}.dtype in value_types", f"{name} has values of a type that the operator takes"
    else:
        yield few, f"{name} has less than {most:,} numbers"
        like, _ = first
        same = f"{array}.dtype is {like}.dtype and {array}.shape[1:] == {like}.shape[1:]"
        yield same, f"rows of {name} are like those of {first[1]}"


def _write_vector_test(i, name, x, kind):
    """Return the test of an array as compiled code reads it: Numba's type says element and dimensions."""
    words = f"{name} is a C-contiguous vector of {kind.dtype}"
    if type(x) is not np.ndarray:
        return "False", words
    return f"x{i}.ndim == {kind.ndim} and {_write_memory_test(f'x{i}', kind.dtype)}", words


def _write_memory_test(array, dtype):
    return f"{array}.dtype is {dtype}_dtype and {array}.flags.c_contiguous"
