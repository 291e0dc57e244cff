"""``OPS``: every operator by name, to be looked up, searched and shown."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Any, TypeVar

from ..base.errors import UnknownOperatorError

if TYPE_CHECKING:
    from .operators import Op  # noqa: F401


T = TypeVar("T")


class Names(dict[str, T]):
    """A dictionary whose error for an unknown name suggests the nearest ones."""

    def __missing__(self, name: str) -> T:
        near = difflib.get_close_matches(str(name), self, n=3, cutoff=0.6)
        hint = f"; did you mean {', '.join(near)}?" if near else self._suggest_instead(name)
        raise UnknownOperatorError(f"no operator is called {name!r}{hint}")

    def _suggest_instead(self, name):
        return f"; there are {', '.join(sorted(self))}"


class Registry(Names["Op[..., Any]"]):
    """Operators by name, with a search; Jupyter shows a table with a search box."""

    def _suggest_instead(self, name):
        from .searching import search_operators

        if isinstance(name, str) and (found := search_operators(self, name, whole=True)):
            return f"; OPS.search({name!r}) finds {', '.join(found[:3])}"
        return f"; {len(self)} are in lodkit.OPS, OPS.search(words) finds some"

    def search(self, words: str) -> Registry:
        """Return the operators that have all of some words in their name, their search words or their first line.

        Search words are what other libraries and tasks call an operator. Where no operator has all words, all of the
        documentation is searched. ``lodkit.search`` finds classes, methods and functions, too.

        Parameters
        ----------
        words : str
            Parts of words, separated by blanks; upper and lower case are the same.

        Returns
        -------
        Registry
            The best first: those with all words in their names, or that are called so elsewhere.

        Examples
        --------
        >>> import lodkit
        >>> lodkit.OPS.search("ctc loss")
        2 operators
          ctc_loss       Return the negative log-likelihood of the labels of each sequence: the CTC loss.
          ctc_loss_grad  Return the gradient of ``ctc_loss`` by the logits: the softmax minus the share of the paths ...
        >>> [*lodkit.OPS.search("flash attention")]
        ['sequence_attention']
        """
        from .searching import search_operators

        return Registry({name: self[name] for name in search_operators(self, words)})

    def __getattr__(self, name: str) -> Any:
        hint = f"; call lodkit.{name}, or OPS[{name!r}]" if name in self else ""
        raise AttributeError(f"OPS has no attribute {name!r}{hint}", name=name)

    def __reduce__(self):
        return "OPS" if self is OPS else super().__reduce__()  # lodkit.OPS, with all definitions

    def __repr__(self):
        from .listing import text

        return text(self)

    def _repr_html_(self):
        from .listing import html

        return html(self)

    def _repr_pretty_(self, printer, cycle):
        printer.text(repr(self))  # IPython would spell out a dictionary


OPS = Registry()
"""Operators by name, with a search: ``OPS["sgd"]``, ``OPS.search("ctc loss")``, ``"sgd" in OPS``."""
OPS.__module__ = "lodkit"  # type: ignore[attr-defined]  # for pickle
