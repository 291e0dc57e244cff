"""Sentences as docs/CONTRIBUTING.md wants them: read once. Its table has the rules, and the better form of each."""

from __future__ import annotations

import functools
import pathlib
import re
from typing import NamedTuple

import pytest
from prose import (
    count_words,
    find_docstrings,
    sentences_of_docstring,
    sentences_of_markdown,
    sentences_of_notebook,
    split_sentences,
)

import lodkit

ROOT = pathlib.Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
PACKAGE = ROOT / "lodkit"
MAX_WORDS = 25

#: Pages for those who change the code, a list of changes, and pages that a script makes when the site is built.
FOR_CONTRIBUTORS = """CONTRIBUTING adding-an-operator adding-an-optimizer architecture asv changelog glossary
operators writing-kernels"""
ROOMS = ("ops", "lod", "optim", "models", "tape", "interop", "registry")


class Rule(NamedTuple):
    """A construction that is read twice: its name in the table of CONTRIBUTING.md, and a pattern that finds it."""

    name: str
    pattern: str


RULES = (
    Rule("begins with *What*, *Which*, *Who*", r"^(What|Whatever|Which|Who|Whoever|Whose)\b[^?]*$"),
    Rule("begins with *That*, *Those*, *Such*", r"^(That|Those|Such|Ones)\b"),
    Rule("begins with *It*, *They*, *This is*", r"^(It|They|(This|These) (is|are|was|were|has|have))\b"),
    Rule("begins with *Of*", r"^Of\b(?! course)"),
    Rule("*behind* for *after*", r"\b[Bb]ehind\b"),
    Rule("*beside* for *and*, *than*", r"\b[Bb]esides?\b"),
    Rule("*those of*, *that of*", r"\b(those|that) of\b|\bthose (that|which|with|without|who)\b"),
    Rule("*the same, of*", r"\bthe same, (of|as)\b|\bsuch as (one|those|that)\b"),
    Rule("*of what*, *is what*", r"\b(of|by|with|for|from|in|to|than|at|on|is|are|as|only) what\b"),
    Rule("*all that*", r"\ball that\b"),
    Rule("*is there* for *exists*", r"\b(is|are|was|were) there\b(?= *([,.;:)]|$))"),
    Rule("*the former*, *the latter*", r"\bthe (former|latter)\b"),
    Rule("*at hand*, *for ever*, *nobody*", r"\bat hand\b|\bfor ever\b|\bnobody\b"),
    Rule("*but for*, *none but*, *all but*", r"\b(but for|none but|all but|nothing but)\b"),
    Rule("*told*, *mend*", r"\btold\b|\bmend(s|ed)?\b"),
    Rule("*a call* for *per call*", r"\b(ns|us|µs|ms|bytes|numbers|rows) a (call|step|row|thread|sequence|bag|id)\b"),
)
LONG = f"more than {MAX_WORDS} words"
TRAILING = "a clause after code"
IMPERATIVE = "a first line without a verb"
CLAUSE = re.compile(r"\S.*  # (which|that|whose|what|of|where|whereby|and|but|by|with|those)\b")

#: Verbs that first lines of docstrings begin with. Another verb is added here.
VERBS = """Add Append Average Build Call Check Clip Compile Compute Concatenate Convert Convolve Copy Count Cut Define
Delete Describe Draw Fill Find Format Give Hash Hold Join Keep Lay Let List Load Look Make Merge Move Multiply Normalize
Pack Pad Parse Pool Put Raise Read Record Reduce Register Remove Repeat Replace Reset Reshape Return Reverse Run Save
Scale Search Select Serialise Set Shrink Sort Split Step Subtract Sum Take Transform Update Walk Write Yield"""


class Finding(NamedTuple):
    place: str
    rule: str
    text: str


def pages_for_users():
    """README, the pages of docs that are read by users, and the notebooks."""
    pages = [page for page in sorted(DOCS.glob("*.md")) if page.stem not in FOR_CONTRIBUTORS.split()]
    return [ROOT / "README.md", *pages, *sorted(DOCS.glob("notebooks/*.ipynb"))]


def public_names():
    """Names of operators, classes and functions that users see."""
    torch = (
        "BagGradient",
        "EmbeddingBag",
        "SequencePool",
        "collate",
        "differentiable",
        "embedding_bags",
        "keyed",
        "ragged",
    )
    return {*lodkit.__all__, *lodkit.OPS, *lodkit.optim.__all__, *torch}


@functools.cache
def better_forms():
    """What the table of CONTRIBUTING.md says of each construction: an example, and its better form."""
    rows = re.findall(r"^\| ([^|]+) \| ([^|]+) \| ([^|]+) \|$", (DOCS / "CONTRIBUTING.md").read_text(), re.M)
    return {name: (instead, better) for name, instead, better in rows}


def check_sentences(file, sentences):
    """What the rules refuse in the sentences of a file."""
    name = file.relative_to(ROOT)
    for line, text in sentences:
        place = f"{name}, cell {line}" if file.suffix == ".ipynb" else f"{name}:{line}"
        broken = [rule.name for rule in RULES if re.search(rule.pattern, text)]
        broken += [LONG] * (count_words(text) > MAX_WORDS)
        yield from (Finding(place, rule, text) for rule in broken)


def check_code(file, text):
    """Clauses that stand after a line of code."""
    for number, line in enumerate(text.splitlines(), 1):
        if CLAUSE.search(line):
            yield Finding(f"{file.relative_to(ROOT)}:{number}", TRAILING, line.strip())


def check_first_line(file, doc):
    """A first line that begins with no verb."""
    first = doc.text.strip().split("\n")[0]
    if doc.is_function and first.split()[0].rstrip(",") not in VERBS.split():
        yield Finding(f"{file.relative_to(ROOT)}:{doc.line}", IMPERATIVE, f"{doc.name}: {first}")


@functools.cache
def find_in_pages():
    found = []
    for page in pages_for_users():
        text = page.read_text()
        found += check_sentences(
            page, (sentences_of_notebook if page.suffix == ".ipynb" else sentences_of_markdown)(text)
        )
        found += check_code(page, text) if page.suffix == ".md" else []
    return found


@functools.cache
def find_in_docstrings():
    found, names = [], public_names()
    for file in [file for room in ROOMS for file in sorted((PACKAGE / room).rglob("*.py"))]:
        for doc in find_docstrings(file.read_text(), names):
            found += check_sentences(file, sentences_of_docstring(doc))
            found += check_first_line(file, doc)
    return found


def write_report(found):
    """Each finding with its rule and the better form."""
    lines = []
    for place, rule, text in found:
        instead, better = better_forms()[rule]
        lines.append(f"{place}: {text}\n    {rule}: instead of {instead!r} write {better!r}")
    return "\n".join(lines)


def test_pages_for_users_are_read_once():
    found = find_in_pages()
    assert not found, "\n" + write_report(found)


def test_public_docstrings_are_read_once():
    found = find_in_docstrings()
    assert not found, "\n" + write_report(found)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_a_rule_refuses_its_example(rule):
    """The table shows the rule's construction, and a better form that the rule takes."""
    instead, better = better_forms()[rule.name]
    assert re.search(rule.pattern, instead) and not re.search(rule.pattern, better)
    (found,) = [x for x in check_sentences(DOCS / "x.md", split_sentences(instead, 7)) if x.rule == rule.name]
    assert write_report([found]) == f"docs/x.md:7: {instead}\n    {rule.name}: instead of {instead!r} write {better!r}"


def test_sentences_are_counted():
    instead, better = better_forms()[LONG]
    assert count_words(instead) > MAX_WORDS >= count_words(better)
    assert count_words("Names `a`, `b`, `c`, `d` and `e` take one word") == 4
    text = (
        "# A title\n\nOne `x. Y`\nsentence. Two.\n\n| one | two. Three |\n|---|---|\n\n- four (five).\n```\nno\n```\n"
    )
    expected = [(3, "One `C` sentence."), (4, "Two."), (6, "one"), (6, "two."), (6, "Three"), (9, "four (five).")]
    assert sentences_of_markdown(text) == expected


def test_clauses_after_code_are_found():
    instead, better = better_forms()[TRAILING]
    assert [rule for _, rule, _ in check_code(DOCS / "x.md", instead)] == [TRAILING]
    assert not [*check_code(DOCS / "x.md", f"{better}\nx = 1  # of float32\nsum(x)  # one number per row")][1:]


def test_first_lines_without_a_verb_are_found():
    for number, line in enumerate(better_forms()[IMPERATIVE]):
        (doc,) = find_docstrings(f'def relu(x):\n    """{line}"""\n\ndef other():\n    """Not public."""', {"relu"})
        assert len([*check_first_line(PACKAGE / "x.py", doc)]) == 1 - number
