"""Write docs/operators.md and the pages below it from the registry: ``python docs/generate_operators.py``.

The site does so when it is built. A module of lodkit/ops names the page of its operators: ``DOCS_PAGE = "compute"``.
"""

from __future__ import annotations

import inspect
import pathlib
import sys
import typing

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))  # this checkout, not an installed copy

import lodkit
from lodkit.registry.searching import find_words

DOCS = pathlib.Path(__file__).parent


class Group(typing.NamedTuple):
    """Operators that people look for together; ``see`` has pages of docs, and operators of other groups."""

    page: str
    title: str
    purpose: str
    see: tuple[str, ...] = ()


GROUPS = (
    Group(
        "pool",
        "Pool",
        "Reduce every sequence, segment or array to one value: sum, mean, max, logsumexp, or the k largest.",
        ("embedding_bag", "reductions", "windows"),
    ),
    Group(
        "look-up",
        "Look up",
        "Rows of a table by ids: one per id, or one pooled row per bag of ids, also from packed tables.",
        ("sparse-gradients",),
    ),
    Group(
        "update",
        "Update",
        "Optimizer steps, in place, for dense gradients and for SelectedRows, which change only the listed rows.",
        ("optimizers", "sparse-gradients"),
    ),
    Group(
        "update-bags",
        "Update bags",
        "The gradient of `embedding_bag` and the optimizer's step in one pass: the rows' gradients are never written.",
        ("torch",),
    ),
    Group(
        "selected-rows",
        "Rows of tall tables",
        "SelectedRows: merge, add, split, filter, make dense. Rows of arrays by number: write, add, weigh.",
        ("selected-rows",),
    ),
    Group(
        "pad",
        "Pad and unpad",
        "Pad to a rectangle and back: batches, packed segments, time-major batches, masks, marks at the edges.",
        ("padding",),
    ),
    Group(
        "rearrange",
        "Rearrange sequences",
        "Expand, reverse, concatenate, slice, select, sort, erase, scatter; change levels, split and merge batches.",
        ("sequence-structure", "padding"),
    ),
    Group(
        "compute",
        "Compute inside sequences",
        "Softmax, running sums, centring, arithmetic with one value per sequence.",
        ("arithmetic",),
    ),
    Group(
        "attend",
        "Convolve and attend",
        "Windows over neighbouring rows, images as sequences, attention and match matrices within sequences.",
        ("windows", "attention"),
    ),
    Group(
        "recur",
        "Recur",
        "LSTM, GRU and simple recurrences without padding, single steps, and the tables and arrays that loops use.",
        ("recurrence", "recurrent-layers"),
    ),
    Group(
        "decode",
        "Decode and score",
        "Conditional random fields, CTC, beam search, edit distance, chunks.",
        ("crf", "ctc", "beam-search"),
    ),
    Group(
        "layers",
        "Layers and losses",
        "Row by row, for arrays and LoDTensors: fully connected layers, activations, norms, losses, arithmetic.",
        ("attention", "gradients"),
    ),
    Group(
        "convert",
        "Convert",
        "Between lengths, offsets, segment ids and ranges; between ragged, dense, one-hot and sparse matrices.",
        ("representations", "reductions"),
    ),
    Group(
        "features",
        "Ids and features",
        "Lists of ids: unique, find, merge. Feature maps: merge, stack, pack, select. Shards of rows by key.",
        ("features",),
    ),
)


def page_of(op):
    """The page that the module of an operator names, or None."""
    return getattr(sys.modules[op.definition.__module__], "DOCS_PAGE", None)


def names_on(page):
    """Names of the operators of a page: family by family, in alphabetical order."""
    on_page = [name for name, op in lodkit.OPS.items() if page_of(op) == page]
    return sorted(on_page, key=lambda name: (lodkit.OPS[name].family, name))


def check_pages():
    """Refuse families without a page, and pages without a family."""
    pages = [group.page for group in GROUPS]
    if lost := sorted({op.family for op in lodkit.OPS.values() if page_of(op) not in pages}):
        files = ", ".join(f"lodkit/ops/{family}.py" for family in lost)
        raise LookupError(f"name the page of the operators below the imports of {files}: DOCS_PAGE = one of {pages}")
    if empty := [page for page in pages if not names_on(page)]:
        raise LookupError(f"no module of lodkit/ops has DOCS_PAGE = {empty[0]!r}: take its Group out of {__file__}")


def summary(op):
    """The first paragraph of an operator's docstring, as Markdown."""
    return inspect.getdoc(op).partition("\n\n")[0].replace("\n", " ").replace("``", "`")


def signature(op):
    """The signature of an operator, one parameter a line where it is long."""
    text = f"{op.name}{op.signature}"
    if len(text) <= 100:
        return text
    result = f" -> {op.signature.return_annotation}"
    inner = str(op.signature.replace(return_annotation=inspect.Signature.empty))[1:-1]
    parts, depth = [""], 0
    for char in inner:
        depth += (char in "([{") - (char in ")]}")
        parts[-1] += char
        if char == "," and not depth:
            parts.append("")
    return f"{op.name}(\n" + "".join(f"    {part.strip(' ,')},\n" for part in parts) + f"){result}"


def described(op):
    """What a page says of an operator."""
    return [f"```text\n{signature(op)}\n```", "", summary(op)]


def searched(op):
    """What a page has for searches: what other libraries and tasks call an operator."""
    words = find_words(op)
    return ["", f"Elsewhere: {words}."] if words else []


def page(group, body=described):
    """Return the page of a group; ``body(op)`` gives the lines below an operator's heading."""
    names = names_on(group.page)
    gradients = [name for name in names if name.endswith("_grad")]
    forward = [name for name in names if name not in gradients]
    lines = [f"# {group.title}", "", "<!-- generated by docs/generate_operators.py -->", "", group.purpose]
    if group.see:
        *links, last = [seen(name) for name in group.see]
        lines += ["", f"See also {' and '.join(filter(None, [', '.join(links), last]))}."]
    for name in forward:
        lines += ["", f"## {name}", "", *body(lodkit.OPS[name]), *searched(lodkit.OPS[name])]
    if gradients:
        lines += ["", "## Gradients", "", "Operators too, which a [tape](../gradients.md) calls."]
    for name in gradients:
        lines += ["", f"### {name}", "", *body(lodkit.OPS[name])]
    return "\n".join([*lines, ""])


def place(name):
    """Where an operator is, for pages beside its own."""
    return f"{page_of(lodkit.OPS[name])}.md#{name}"


def seen(name):
    """A link to an operator or a page, for an operators' page."""
    return f"[`{name}`]({place(name)})" if name in lodkit.OPS else f"[{title(name)}](../{name}.md)"


def title(name):
    """The title of a page."""
    return (DOCS / f"{name}.md").read_text().partition("\n")[0].removeprefix("# ")


def index():
    """Return docs/operators.md: every operator in a line."""
    count = sum(not name.endswith("_grad") for name in lodkit.OPS)
    lines = ["# Operators", "", "<!-- generated by docs/generate_operators.py -->", ""]
    lines += [
        f"All {count} operators, by what they are for, and the {len(lodkit.OPS) - count} operators that are their",
        "gradients. Each has kernels for the CPU and for GPUs, and for every kind of input that its signature names.",
        "Parameters and examples are on the site, and `help(lodkit.sequence_pool)` shows them.",
        '`lodkit.search("max pooling")` finds operators by what they do, and by what other libraries call them.',
    ]
    for group in GROUPS:
        link = f"operators/{group.page}.md"
        lines += ["", f"## {group.title}", "", f"{group.purpose} Signatures: [{group.title}]({link}).", ""]
        names = [name for name in names_on(group.page) if not name.endswith("_grad")]
        names += [name for name in group.see if name in lodkit.OPS]
        lines += [f"- [`{name}`](operators/{place(name)}): {summary(lodkit.OPS[name])}" for name in names]
    return "\n".join([*lines, ""])


GENERATED = {DOCS / "operators.md": index}
GENERATED |= {DOCS / "operators" / f"{group.page}.md": lambda group=group: page(group) for group in GROUPS}


def write_pages():
    """Write the pages."""
    check_pages()
    (DOCS / "operators").mkdir(exist_ok=True)
    for file, text in GENERATED.items():
        file.write_text(text())


if __name__ == "__main__":
    write_pages()
