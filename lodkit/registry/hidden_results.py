"""What a call returns of an operator's results: all of them, or those that are not for its gradient alone."""

from __future__ import annotations

import typing

from ..tracebacks import shorten, surface
from . import representation


class AllResults:
    """Operator whose calls return all results."""

    @property
    def full(self):
        """The operator as tapes and bridges call it, with the results that calls hide: here it hides none."""
        return self

    def shown(self, results):
        """Return what a call returns of all results."""
        return results


class SomeResults:
    """Operator whose calls return some of its results, nested as ``returns`` says.

    ``returns=(0, (1, 2))`` makes ``first, (second, third)`` of all results. The definition, kernels, the gradient rule
    and tapes have all of them; so has a call of ``full``.
    """

    def __init__(self, definition, *, returns, **kinds):
        super().__init__(definition, **kinds)
        self.returns = returns
        self.result_hint = _hint(typing.get_args(typing.get_type_hints(definition)["return"]), returns)
        shown = self.signature.replace(return_annotation=self.result_hint)
        self.signature = self.__signature__ = representation.unquoted(shown)
        self._full = Full(self)

    def __call__(self, *inputs, **attrs):
        try:
            return _nested(super().__call__(*inputs, **attrs), self.returns)
        except Exception as error:
            shorten(error)
            raise

    @surface
    def infer(self, *descs, **attrs):
        """Return the VarDescs of what a call returns, from those of the inputs."""
        return _nested(self._full.infer(*descs, **attrs), self.returns)

    @property
    def full(self):
        """The operator as tapes and bridges call it: its calls, and ``infer``, return all results, side by side."""
        return self._full

    def shown(self, results):
        """Return what a call returns of all results."""
        return _nested(results, self.returns)


class Full:
    """An operator that hides nothing."""

    def __init__(self, op):
        self.op = op

    def __call__(self, *inputs, **attrs):
        return super(SomeResults, self.op).__call__(*inputs, **attrs)

    def infer(self, *descs, **attrs):
        return super(SomeResults, self.op).infer(*descs, **attrs)

    def __repr__(self):
        return f"{self.op.name}.full: {self.op.definition.__annotations__['return']}"


def side_by_side(results):
    """All that a call has returned, nested or not, as one list."""
    return [part for r in results for part in side_by_side(r)] if isinstance(results, tuple) else [results]


def _nested(results, places):
    return tuple([results[place] if type(place) is int else _nested(results, place) for place in places])


def _hint(hints, places):
    return tuple[tuple(hints[place] if type(place) is int else _hint(hints, place) for place in places)]
