"""What registration refuses: definitions, devices and kernels that could not be called."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, TypeAlias

from ..arrays import TAKES, TypeSet

DEVICES = ("cpu", "cuda")
#: What an operator declares of its inputs: the types of the first one, or those of inputs by name.
Types: TypeAlias = TypeSet | dict[str, TypeSet] | None
#: What names the inputs of an operator that takes any number, of several sorts: ``parts(inputs, attrs)``.
Parts: TypeAlias = Callable[[Any, Any], list[str]] | None


def check_definition(definition, ops):
    """Refuse what is no function with a name of its own, or has the name of another operator."""
    if not inspect.isfunction(definition):
        raise TypeError(f"an operator is a function, def name(x, /): ...; got {definition!r:.200}")
    name = definition.__name__
    if not name.isidentifier():
        raise ValueError(f"an operator is registered under the name of its function, which is {name!r}; use def")
    if definition.__module__ is None:  # it was made by exec, in a namespace without a name
        definition.__module__ = "__main__"
    if name in ops and ops[name].definition.__module__ != definition.__module__:
        raise ValueError(f"{ops[name].definition.__module__} has an operator {name!r} already; take another name")


def declare_types(name, inputs, types, parts=None):
    """Return the types that inputs take, by name, and write those of the values to the table that checks read.

    The names are those that ``parts`` gives to inputs, if it is there.
    """
    if types is None:
        TAKES.pop(name, None)
        return {}
    types = types if isinstance(types, dict) else {inputs[0]: types}
    for given, kinds in types.items():
        if (given not in inputs and parts is None) or not isinstance(kinds, TypeSet):
            raise TypeError(
                f"{name}: types= is MOVED, COMPUTED, FLOATING or INTEGERS of lodkit.arrays, or a dictionary of them by "
                f"input, {', '.join(inputs)}; got {types!r:.200}"
            )
    TAKES[name] = next(iter(types.values()))
    return types


def check_devices(op, devices):
    """Refuse a decorator without devices, or with others than there are."""
    if not devices or callable(devices[0]):
        raise TypeError(f'{op.name}.kernel needs a device: @{op.name}.kernel("cpu"), or "cuda", or both')
    for device in devices:
        if device not in DEVICES:
            raise ValueError(f'{op.name}.kernel: a device is "cpu" or "cuda", got {device!r}')


def check_kernel(op, function, skip):
    """Refuse a kernel that is no function of the inputs and attributes; ``skip`` parameters come before them."""
    if not inspect.isfunction(function):
        raise TypeError(
            f"a kernel of {op.name} must be a Python function, got {type(function).__name__}; write one that calls it"
        )
    taken = inspect.signature(function)
    if not skip and "on" not in op.inputs and next(iter(taken.parameters), None) == "on":
        raise TypeError(
            f"kernel {function.__name__}{taken} of {op.name}{op.signature} takes the device first, which a kernel of "
            f'one device is not given: leave it out, or register @{op.name}.kernel("cpu", "cuda")'
        )
    try:
        taken.bind(*[None] * (skip + len(op.inputs) + op.variadic), **dict.fromkeys(op._checks))
    except TypeError as error:
        raise TypeError(
            f"kernel {function.__name__}{taken} does not take {'the device, then ' * skip}the inputs and attributes of "
            f"{op.name}{op.signature}: {error}"
        ) from None


def check_contract(op, contract, ids, devices):
    """Refuse a kernel for few sequences on other devices than the CPU, and declared ids where no device converts them.

    Plans of the CPU alone ask for the contract of few sequences.
    """
    if ids and len(devices) == 1:
        raise ValueError(
            f'{op.name}.kernel: {ids[0]}: Ids is for launchers of several devices, @{op.name}.kernel("cpu", "cuda"), '
            f"got {devices[0]!r}; annotate the kind: LoDTensor, or Dense"
        )
    if ids and op.variadic and list(op.inputs)[-1] in ids:
        raise ValueError(
            f"{op.name}.kernel: {ids[-1]}: Ids is for one input, and {op.name} takes any number of {ids[-1]}; convert "
            f"each by on.integers"
        )
    if contract is not None and devices != ("cpu",):
        raise ValueError(
            f'{op.name}.kernel: FewSequences and FewRows are for @{op.name}.kernel("cpu"), got '
            f"{', '.join(map(repr, devices))}; annotate the kind: LoDTensor, or Dense"
        )
