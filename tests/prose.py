"""Prose of the repository in sentences: of Markdown pages, of notebooks and of public docstrings."""

from __future__ import annotations

import ast
import json
import re
from typing import NamedTuple


class Sentence(NamedTuple):
    """A sentence and the line where it starts; code in it is ``C``, a formula ``$F$``, a link its text."""

    line: int
    text: str


class Docstring(NamedTuple):
    """A docstring with its line and whether it is of a function, whose first line is an imperative."""

    name: str
    line: int
    text: str
    is_function: bool


NAMES = re.compile(r"(?:[\w`$][\w`$.+*/-]*(?: [\w`$][\w`$.-]*)?, ){3,}[\w`$.-]+(?: (?:and|or) [\w`$.-]+)?")
ABBREVIATIONS = r"(?<!\be\.g\.)(?<!\bi\.e\.)(?<!\bcf\.)(?<!\bvs\.)(?<!\bet al\.)"
END = re.compile(r"(?:(?<=[.!?])|(?<=[.!?][)\"]))" + ABBREVIATIONS + r"\s+(?=[A-Z0-9`\[(*$\"_])")
FENCE = re.compile(r"\s*(```+|~~~+|:::+)")
ITEM = re.compile(r"\s*(?:[-*+]|\d+[.)])\s+|\s*>\s?")
UNDERLINE = re.compile(r"[-=~]{3,}")


def count_words(text):
    """The number of words; an enumeration of four names and more is one."""
    return len(re.findall(r"[\w`$][\w`$.'/%-]*", NAMES.sub("names, ", text)))


def keep_lines(word):
    """A replacement by a word that keeps the number of lines."""
    return lambda match: word + "\n" * match[0].count("\n")


def reduce_markup(text):
    """The words of text with inline markup, on the same lines."""
    text = re.sub(r"\{[\w:]+\}`[^`]*`", keep_lines("`C`"), text)
    text = re.sub(r"(`+)(?:.|\n)*?\1", keep_lines("`C`"), text)
    text = re.sub(r"\$\$?[^$]+\$\$?", keep_lines("$F$"), text)
    text = re.sub(r"!?\[([^\[\]]*)\]\([^)]*\)", r"\1", text)
    return re.sub(r"(?<!\d)\*\*|\*\*(?!\d)", "", re.sub(r"<[^>]+>", "", text))


def split_sentences(paragraph, line):
    """The sentences of a paragraph that starts on a line."""
    text, start, found = reduce_markup(paragraph), 0, []
    for stop in [*(match.start() for match in END.finditer(text)), len(text)]:
        part = text[start:stop]
        if re.search(r"[A-Za-z]{2}", part):
            skipped = text[: start + len(part) - len(part.lstrip())].count("\n")
            found.append(Sentence(line + skipped, re.sub(r"\s+", " ", part).strip()))
        start = stop
    return found


def cells_of(row):
    return [cell.strip() for cell in reduce_markup(row).replace(r"\|", "/").strip().strip("|").split("|")]


def sentences_of_markdown(text, first=1):
    """Sentences of paragraphs, list items and table cells; headings, code and directives are left out."""
    found, paragraph, fence = [], [], None

    def end_paragraph(number):
        found.extend(split_sentences("\n".join(paragraph), number - len(paragraph)))
        paragraph.clear()

    for number, line in enumerate([*text.splitlines(), ""], first):
        opened = FENCE.match(line)
        if fence is not None:
            if line.strip() == fence:
                fence = None
        elif opened:
            end_paragraph(number)
            fence = opened[1] if opened[1][0] != ":" else None
        elif line.lstrip().startswith("|"):
            end_paragraph(number)
            if not re.fullmatch(r"[\s|:-]+", line):
                found += [sentence for cell in cells_of(line) for sentence in split_sentences(cell, number)]
        elif not line.strip() or re.match(r"#|<|\(.*\)=$|\s*:[\w-]+:|---+$", line):
            end_paragraph(number)
        else:
            if item := ITEM.match(line):
                end_paragraph(number)
            paragraph.append(line[item.end() :] if item else line)
    return found


def sentences_of_notebook(text):
    """Sentences of the Markdown cells; the line is the number of the cell."""
    return [
        Sentence(number, sentence.text)
        for number, cell in enumerate(json.loads(text)["cells"], 1)
        if cell["cell_type"] == "markdown"
        for sentence in sentences_of_markdown("".join(cell["source"]))
    ]


def find_docstrings(text, names):
    """Docstrings of the functions and classes of a module with these names, and of the classes' public methods."""
    found = []

    def visit(node, prefix):
        for child in node.body:
            if not isinstance(child, ast.FunctionDef | ast.ClassDef) or child.name.startswith("_"):
                continue
            if not prefix and child.name not in names:
                continue
            body = child.body[0]
            if (
                isinstance(body, ast.Expr)
                and isinstance(body.value, ast.Constant)
                and isinstance(body.value.value, str)
            ):
                is_function = isinstance(child, ast.FunctionDef)
                is_function &= not any("property" in ast.unparse(decorator) for decorator in child.decorator_list)
                found.append(Docstring(prefix + child.name, body.lineno, body.value.value, is_function))
            if isinstance(child, ast.ClassDef):
                visit(child, f"{prefix}{child.name}.")

    if names.intersection(re.findall(r"^(?:def|class) (\w+)", text, re.M)):
        visit(ast.parse(text), "")
    return found


def sentences_of_docstring(doc):
    """Sentences of a docstring; examples, headings of sections, and names and types of parameters are left out."""
    lines, is_example = doc.text.replace("``", "`").splitlines(), False
    indents = [len(line) - len(line.lstrip()) for line in lines]
    kept = [lines[0]]
    for number, line in enumerate(lines[1:], 1):
        stripped, following = line.strip(), lines[number + 1 : number + 2]
        is_example = stripped.startswith(">>>") or (is_example and bool(stripped))
        is_heading = any(UNDERLINE.fullmatch(text.strip()) for text in [line, *following])
        has_description = bool(following and following[0].strip()) and indents[number + 1] > indents[number]
        is_left_out = is_example or is_heading or has_description or stripped.startswith(".. ")
        kept.append("" if is_left_out or re.match(r"[\w*, ]+ : ", stripped) else stripped)
    return sentences_of_markdown("\n".join(kept), doc.line)
