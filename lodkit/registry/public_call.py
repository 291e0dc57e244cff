"""How a call of an operator differs from what tapes and bridges call: what it takes beside arrays, what it returns."""

from __future__ import annotations

import typing
from collections.abc import Callable
from typing import Any

from ..base.tracebacks import shorten, surface
from . import representation
from .kinds import hints_of
from .members import Members


class PlainCall(Members):
    """Operator that users call as tapes do."""

    @property
    def full(self) -> Any:
        """The operator as tapes and bridges call it: it returns the results that a call hides, here none."""
        return self

    def taken(self, inputs: tuple[Any, ...], attrs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return the inputs and attributes that the operator gets for those of a call."""
        return inputs, attrs

    def shown(self, results: Any, attrs: dict[str, Any]) -> Any:
        """Return what a call with these attributes returns of all results."""
        return results


class AdaptedCall(Members):
    """Operator that users call in another way than tapes: ``takes`` and ``returns`` of ``op`` say how.

    The definition, kernels, the gradient rule and tapes have all results, and so has a call of ``full``.
    """

    takes: Callable[..., Any] | None
    returns: tuple[Any, ...] | Callable[..., Any] | None
    result_hint: Any

    def __init__(self, definition, *, takes=None, returns=None, **kinds):
        super().__init__(definition, **kinds)
        self.takes, self.returns, self._full = takes, returns, Full(self)
        self.result_hint = hints_of(definition)["return"]
        self._made = returns
        if isinstance(returns, tuple):
            nested = _nest(returns)
            self._made = lambda results, attrs: nested(results)
            self.result_hint = _nested_hint(typing.get_args(self.result_hint), returns)
        elif returns:
            self.result_hint = hints_of(returns)["return"]
        shown = self.signature.replace(return_annotation=self.result_hint)
        self.signature = self.__signature__ = representation.unquoted(shown)

    def __call__(self, *inputs, **attrs):
        try:
            if self.takes is not None:
                inputs, attrs = self.takes(inputs, attrs)
            if self.returns is None:
                return self._call(self, *inputs, **attrs)
            return self._made(self._call(self, *inputs, **attrs), attrs)
        except Exception as error:
            shorten(error)
            raise

    @surface
    def infer(self, *descs, **attrs):
        """Return the VarDesc (or a tuple of them) of the result, from those of the inputs."""
        found = self._full.infer(*descs, **attrs)
        return self._made(found, attrs) if isinstance(self.returns, tuple) else found

    def select(self, *inputs):
        """Return the kernel for these inputs: its device, kinds, and the file and line of its launcher and loops."""
        return super().select(*self.taken(inputs, {})[0])

    @property
    def full(self) -> Any:
        """The operator as tapes and bridges call it: its calls, and ``infer``, return all results, side by side."""
        return self._full

    def taken(self, inputs: tuple[Any, ...], attrs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return the inputs and attributes that the operator gets for those of a call."""
        return self.takes(inputs, attrs) if self.takes else (inputs, attrs)

    def shown(self, results: Any, attrs: dict[str, Any]) -> Any:
        """Return what a call with these attributes returns of all results."""
        return self._made(results, attrs) if self.returns else results


class Full:
    """An operator as it was defined."""

    def __init__(self, op):
        self.op: Any = op

    def __call__(self, *inputs, **attrs):
        return self.op._call(self.op, *inputs, **attrs)

    def infer(self, *descs, **attrs):
        return super(AdaptedCall, self.op).infer(*descs, **attrs)  # type: ignore[misc]

    def __repr__(self):
        return f"{self.op.name}.full: {self.op.definition.__annotations__['return']}"


def side_by_side(results):
    """All that a call has returned, nested or not, as one list."""
    return [part for r in results for part in side_by_side(r)] if isinstance(results, tuple) else [results]


def _nest(places):
    """Make a function that takes the results at some places, nested as these are."""
    parts: list[Any] = [place if type(place) is int else _nest(place) for place in places]
    return lambda results: tuple([results[part] if type(part) is int else part(results) for part in parts])


def _nested_hint(hints, places):
    parts = (hints[place] if type(place) is int else _nested_hint(hints, place) for place in places)
    return tuple[tuple(parts)]  # type: ignore[misc]
