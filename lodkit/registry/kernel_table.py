"""Kernels of an operator by device and kinds: registration, loading by name, lookup."""

from __future__ import annotations

import contextlib
import importlib.util
import inspect
import itertools
from collections.abc import Callable
from typing import Any, Literal, TypeVar

from ..arrays import one_device
from ..base.errors import DeviceError, NoKernelError
from ..base.loading import load, lock
from ..lod import LoDTensor
from . import representation
from .contract import find_ids, read_contract, take_any_ids
from .declaring import DEVICES, check_contract, check_devices, check_kernel
from .kernel import Kernel
from .kinds import Dense, hints_of, kind_keys, kinds_of, name_of
from .members import Members

Function = TypeVar("Function", bound=Callable[..., Any])


class KernelTable(Members):
    """Kernel table of an ``Op``."""

    def kernel(
        self, *devices: Literal["cpu", "cuda"], choose_loops: Any = None, specialize: Any = None
    ) -> Callable[[Function], Function]:
        """Register the decorated function as the kernel for a device and its annotated kinds.

        Inputs of one kind need no annotation; the definition gives the defaults. Where inputs are any number,
        ``*xs: Dense | LoDTensor`` serves those of both kinds, and of one that no other kernel names alone. A kernel of
        the CPU whose first input is annotated ``FewSequences`` or ``FewRows`` comes before the others for calls with
        few numbers. It may ask for vectors that compiled code reads, ``mask: Flags``, and for values of an attribute,
        ``level: Literal[0, -1]``. Where it returns ``NotImplemented``, the kernel of all calls of these kinds runs.

        Parameters
        ----------
        *devices : {"cpu", "cuda"}
            With several, one function serves each of them, and gets the module of the device first:
            ``lodkit.kernels.cpu.primitives.device`` or ``lodkit.kernels.cuda.primitives.device``. A kernel for one
            device comes before it.
        choose_loops : callable, optional
            ``choose_loops(on, *inputs, **attrs)``: the loops that a call launches, as ``explain`` shows them.
        specialize : callable, optional
            ``specialize(on, *inputs, **attrs)``: a function for calls of the CPU whose arrays have the types and item
            shapes of these, or None. It takes what ``registry/specializing.py`` says.

        Raises
        ------
        TypeError, ValueError
            There is no such device, or the function does not take the inputs and attributes of the operator.
        """
        check_devices(self, devices)

        def register(function):
            check_kernel(self, function, len(devices) > 1)
            contract = read_contract(function)
            check_contract(self, contract, find_ids(function), devices)
            keywords = function.__kwdefaults__ or {}
            function.__kwdefaults__ = {**keywords, **self.defaults}
            function.__defaults__ = self.definition.__defaults__
            if choose_loops:
                function.choose_loops = choose_loops
            if specialize:
                function.specialize = specialize
            if len(devices) == 1:
                self._add_kernel(devices[0], function, function, contract)
            else:
                self._shared.append((devices, function))
                for device in self._loaded.intersection(devices):
                    self._bind(device)
            return function

        return register

    def _bind(self, device):
        """Bind functions that serve several devices to one; harmless if two threads do it at once."""
        for devices, function in self._shared:
            if device in devices:
                offered = load(f"lodkit.kernels.{device}.primitives.device")
                self._add_kernel(device, function, offered.launcher(take_any_ids(function, self)), skip=1)

    def _add_kernel(self, device, function, launch, contract=None, skip=0):
        hints = hints_of(function)
        names = list(inspect.signature(function).parameters)[skip:]
        taken = [(i, kinds_of(hints.get(names[i], Dense))) for i in self._varying]
        last = len(self.inputs) - 1
        many = self.variadic and last in self._varying
        every = kind_keys(taken[-1][1], True)[0] if many else None
        for key in itertools.product(*(kind_keys(kinds, many and i == last) for i, kinds in taken)):
            # A kernel that names fewer kinds comes before one that takes them among others.
            if many and key[-1] != every and (device, key) in self.kernels:
                continue
            if contract:
                self._few[key] = Kernel(self, device, key, function, launch, contract=contract)
                continue
            if not skip:
                self._own.add((device, key))
            if not skip or (device, key) not in self._own:
                self.kernels[device, key] = Kernel(self, device, key, function, launch)
        self._plans.clear()

    def _kinds_of(self, inputs):
        names = ["None"] * len(self._varying)
        for k, i in enumerate(self._varying):
            if i < len(inputs):
                rows = isinstance(inputs[i], LoDTensor) and [*self.inputs][i] in self.rowwise  # is unwrapped
                names[k] = Dense.__name__ if rows else name_of(inputs[i])
        if self.variadic and len(self.inputs) - 1 in self._varying:
            many = inputs[len(self.inputs) - 1 :]
            if not many:
                raise TypeError(f"{self.name} takes {self.signature}, got no {[*self.inputs][-1]}")
            kinds = {Dense.__name__ if self.rowwise and isinstance(x, LoDTensor) else name_of(x) for x in many}
            names[-1] = "|".join(sorted(kinds))
        return tuple(names)

    def _find(self, device, kinds):
        if (device, kinds) not in self.kernels:
            self._load(device)
        if (device, kinds) not in self.kernels:
            self._miss(
                device, ", ".join(f"{list(self.inputs)[i]}={k}" for i, k in zip(self._varying, kinds, strict=False))
            )
        return self.kernels[device, kinds]

    def _choose(self, inputs, attrs):
        """Return the kernel of a call without ``out``, and that for few sequences of these kinds, or None."""
        device, kinds = one_device(self.name, inputs), self._kinds_of(inputs)
        kernel, few = self._find(device, kinds), self._few.get(kinds) if device == "cpu" else None
        fits = few is not None and few.contract.find_misfit(self, inputs, {**self.defaults, **attrs}) is None
        return few if fits else kernel, few

    def _load(self, device):
        """Import the kernels of the family for a device, once, if there are any."""
        if device in self._loaded:
            return
        with lock:  # to look for a module imports its package
            for module in self._modules(device):
                load(module)
            self._bind(device)
            self._loaded.add(device)  # last, so that other threads find the kernels

    def _modules(self, device):
        """The modules that have the kernels of the family for a device."""
        package = self.definition.__module__.rpartition(".ops.")[0]
        names = (f"{package}.kernels.{room}.{self.family}" for room in ("common", device))
        return [name for name in names if package and _exists(name)]

    def devices(self) -> list[str]:
        """Return the devices that have kernels, ``"cpu"`` and ``"cuda"``; no kernel is loaded to tell."""
        with lock:
            known = {device for device, _ in self.kernels}.union(*(devices for devices, _ in self._shared))
            return [device for device in DEVICES if device in known or self._modules(device)]

    def _miss(self, device, asked):
        self._load_all()
        have = ", ".join(f"{d} {representation.describe(self, k)}" for d, k in self.kernels) or "none"
        raise NoKernelError(f"{self.name} has no {device} kernel for {asked or 'these inputs'}; kernels: {have}")

    def _load_all(self):
        self._load("cpu")
        with contextlib.suppress(DeviceError):  # the CUDA compiler is not installed
            self._load("cuda")
        self.kernels = dict(sorted(self.kernels.items()))


def _exists(module):
    """True if a module and its packages exist."""
    parts = module.split(".")
    return all(importlib.util.find_spec(".".join(parts[:n])) for n in range(1, len(parts) + 1))
