"""The parts of docstrings that optimizers share: what is not documented by one of them is completed here."""

from __future__ import annotations

import inspect

#: Name of an attribute -> its type and meaning, where an optimizer says nothing else.
ATTRIBUTES = {
    "lr": ("float or one-element array", "Learning rate."),
    "iteration": ("int or one-element array", "Number of steps before this one."),
    "beta1": ("float", "Share of an average that a step keeps."),
    "beta2": ("float", "Share of an average that a step keeps."),
    "decay": ("float", "Share of an average that a step keeps."),
    "momentum": ("float", "Share of the velocity that a step keeps."),
    "epsilon": ("float", "Added to the divisor."),
}
HEADING = "Parameters\n----------\n"
#: Left out: the examples of an optimizer come last in any case.
EXAMPLES = "Examples\n--------\n"

#: What each optimizer raises, for its states as well.
RAISES = """\
Raises
------
ShapeMismatchError, DTypeError, OutputError
    As in sgd, for the states as for the parameter."""


def complete(doc, states, own, shared):
    """Add the parameters that a docstring lacks, and the errors if there are none.

    Parameters
    ----------
    doc : str
    states, own, shared : sequences of str
        Names of the states, of the optimizer's own attributes, and of those that all optimizers share.

    Returns
    -------
    str
        The docstring, without its indentation.
    """
    head, heading, rest = inspect.cleandoc(doc).replace(EXAMPLES, "").partition(HEADING)
    if heading:
        section, _, tail = rest.partition("\n\n")
    else:
        head, mark, tail = head.partition(">>>")
        section, tail = "", mark + tail
    there = {n for line in section.splitlines() if line[:1].strip() for n in line.partition(" : ")[0].split(", ")}
    before = _entries([(n, ("array like param", "Zeros at first.")) for n in states if n not in there])
    after = [(n, ATTRIBUTES[n]) for n in own if n not in there and n in ATTRIBUTES]
    after += [(n, (None, "As in sgd.")) for n in shared if n not in there]
    lines = [*before, *([section] if section else []), *_entries(after)]
    text = f"{head}{HEADING}" + "\n".join(lines) + (f"\n\n{tail}" if tail else "")
    if "\nRaises\n" in text:
        return text
    text, mark, example = text.partition(">>>")
    return f"{text.rstrip()}\n\n{RAISES}" + (f"\n\n{mark}{example}" if mark else "")


def _entries(described):
    """Lines of a section: names that follow one another with one description share it."""
    grouped = []
    for name, description in described:
        if grouped and grouped[-1][1] == description:
            grouped[-1][0].append(name)
        else:
            grouped.append(([name], description))
    lines = []
    for names, (kind, meaning) in grouped:
        kind = kind and kind.replace("array like", "arrays like") if len(names) > 1 else kind
        lines += [", ".join(names) + (f" : {kind}" if kind else ""), f"    {meaning}"]
    return lines
