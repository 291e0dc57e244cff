"""Sentences as docs/CONTRIBUTING.md wants them: read once. Its table has the rules, and the better form of each."""

from __future__ import annotations

import collections
import pathlib
import re
from typing import NamedTuple

import pytest
from prose import find_docstrings, sentences_of_docstring, sentences_of_markdown, sentences_of_notebook, split_sentences

import lodkit

ROOT = pathlib.Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
MAX_WORDS = 25

#: Pages for those who change the code, and pages that scripts write.
FOR_CONTRIBUTORS = """CONTRIBUTING adding-an-operator adding-an-optimizer architecture asv changelog glossary
operators writing-kernels""".split()
ROOMS = ("ops", "lod", "optim", "models", "tape", "interop", "registry")


class Rule(NamedTuple):
    """A construction that is read twice: its name in the table of CONTRIBUTING.md, and a pattern that finds it."""

    name: str
    pattern: str

    def refuses(self, text):
        return re.search(self.pattern, text) is not None


NOUN = r"(?! (a|an|any|few|many|more|no|one|some|two|three)\b)"
RULES = (
    Rule("a sentence that begins with *What*, *Which*, *Who*", r"^(What|Whatever|Which|Who|Whoever|Whose)\b[^?]*$"),
    Rule("a sentence that begins with *That*, *Those*, *Such*, *Ones*", r"^(That|Those|Such|Ones|One of those)\b"),
    Rule("a sentence that begins with *It*, *They*, *This is*", r"^(It|They|(This|These) (is|are|was|were|has|have))\b"),
    Rule("a sentence that begins with *Of*", r"^Of\b(?! course)"),
    Rule("*behind* that is not spatial", r"\b[Bb]ehind\b"),
    Rule("*beside* for a comparison", r"\b[Bb]esides?\b"),
    Rule("*those of*, *that of*", r"\b(those|that) of\b|\bthose (that|which|with|without|who)\b"),
    Rule("*the same, of*", r"\bthe same, (of|as)\b|\bsuch as (one|those|that)\b"),
    Rule("*of what*, *is what*, *all that*", r"\b(of|by|with|for|from|in|to|than|at|on|is|are|as|only) what\b|\ball that\b"),
    Rule("*is there* for *exists*", r"\b(is|are|was|were|if) there\b(?= *([,.;:)]|$))|\b(is|are) there(?= (already|alone))"),
    Rule("*the former*, *the latter*", r"\bthe (former|latter)\b"),
    Rule("*for ever*, *nobody*, *at hand*", r"\bfor ever\b|\bnobody\b|\bat hand\b|\bof old\b|\baught\b"),
    Rule("*but for*, *none but*", r"\b(but for|none but|all but|nothing but)\b"),
    Rule("*told*, *mend*", r"\btold\b|\bmend(s|ed)?\b|\bmends\b"),
    Rule("*a call* for *per call*", r"\b(ns|us|µs|ms|bytes|numbers|rows|copies) a (call|step|row|thread|sequence|bag|id)\b"),
)
LONG = f"more than {MAX_WORDS} words in a sentence"
IMPERATIVE = "a first line that is no imperative"
FULL_STOP = "a first line without a full stop"

VERBS = set()

#: Sentences before these rules, by file and rule, and how many: rewrite them where you pass, and lower the number.
ALLOWED = {}


class Finding(NamedTuple):
    place: str
    rule: str
    sentence: str


def pages_for_users():
    """README, the pages of docs that no script writes, and the notebooks."""
    pages = [page for page in sorted(DOCS.glob("*.md")) if page.stem not in FOR_CONTRIBUTORS]
    return [ROOT / "README.md", *pages, *sorted(DOCS.glob("notebooks/*.ipynb"))]


def public_names():
    """Names of operators, classes and functions that users see."""
    return {*lodkit.__all__, *lodkit.OPS, *lodkit.interop.torch.__all__, *lodkit.optim.__all__}


def check_sentence(file, sentence):
    """What the rules refuse in a sentence."""
    place = f"{file.relative_to(ROOT)}:{sentence.line}"
    broken = [rule.name for rule in RULES if rule.refuses(sentence.text)]
    broken += [LONG] * (sentence.count_words() > MAX_WORDS)
    return [Finding(place, rule, sentence.text) for rule in broken]
