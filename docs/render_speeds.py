"""Write the table of speedups into README.md, from the records of ``compare.py --json``.

python docs/render_speeds.py
"""

from __future__ import annotations

import json
import math
import pathlib
import re
import typing

from page_parts import with_rows

DOCS = pathlib.Path(__file__).parent
PAGE = DOCS.parent / "README.md"
BEGIN = "<!-- speedups: docs/render_speeds.py writes them -->\n\n"
#: The CPU of the rows that name none.
CPU = "znver5"


class Row(typing.NamedTuple):
    """A row of the table.

    Attributes
    ----------
    work : str
        What is done, and against whom.
    names, peers : str
        Regular expressions: of the records, and of the peers that count, of which the fastest is the peer.
    cpu : str
        Of the records.
    has_mean : bool
        Show also the geometric mean.
    """

    work: str
    names: str
    peers: str = ""
    cpu: str = CPU
    has_mean: bool = False


ROWS = (
    Row(
        "`embedding_bag`, 8 to 256 columns, uniform and Zipf ids, against PyTorch",
        r"^embedding_bag (sum|mean) \d+ wide, (uniform|zipf)(, NumPy's table)?$",
        has_mean=True,
    ),
    Row(
        "`embedding_bag`, sums of 10 to 4,096 bags of 1 or 20 ids, new in each call or repeated, against PyTorch "
        "(znver4). The tables have 10,000 or a million rows of 16 or 64 columns",
        r"^bags sum 1(0,000|,000,000) x (16|64), (10|256|4,096) of (1|20), ",
        cpu="znver4",
        has_mean=True,
    ),
    Row(
        "`embedding_bags` of 26 tables of 10,000 rows of 16 columns, against 26 calls of PyTorch (znver4). Each call "
        "has 10 to 4,096 bags and new ids",
        r"^embedding_bags",
        cpu="znver4",
    ),
    Row("`sequence_pool`, 2 million rows of 64 columns, against PyTorch and SciPy", r"^sequence_pool sum 2M x 64$"),
    Row("`SelectedRows.merge()`, against `torch.coalesce`", r"^SelectedRows merge "),
    Row("sparse `sgd`, against `torch.optim`", r"^sgd SelectedRows "),
    Row("sparse `adagrad`, against `torch.optim`", r"^adagrad SelectedRows "),
    Row("dense `adam`, `adamw`, `rmsprop`, against `torch.optim`", r"^(adam|adamw|rmsprop), dense gradient$"),
    Row("`lstm` and `gru`, 128 and 256 wide, against packed sequences in PyTorch", r"^(lstm|gru) ", "packed"),
    Row("`lstm` and `gru`, power-law lengths, against a padded batch in PyTorch", r"^(lstm|gru) .*power law", "padded"),
    Row("`linear_chain_crf` and `crf_decoding`, against pytorch-crf", r"^crf"),
    Row("`ctc_loss`, against PyTorch", r"^ctc_loss"),
    Row("`edit_distance`, against rapidfuzz", r"^edit_distance"),
    Row(
        "`sequence_attention`, against PyTorch's attention, sequence by sequence (znver4)",
        r"attention",
        "by sequence",
        cpu="znver4",
    ),
    Row("`sequence_attention`, against PyTorch's attention on a padded batch", r"attention", "padded"),
    Row(
        "reductions of segments by unsorted ids, a million rows of 64 columns, against PyTorch",
        r"by unsorted_ids, 64 wide$",
        "torch",
    ),
    Row("`sequence_pad` and `sequence_unpad`, against NumPy, PyTorch and FBGEMM", r"^sequence_(un)?pad, "),
    Row("`sequence_reverse` and `sequence_concat`, against NumPy and PyTorch", r"^sequence_(reverse|concat), "),
)


def speedups(records, row, threads):
    """Times of the fastest peer over lodkit's, in each record that a row is of, with so many threads."""
    for record in records:
        if (record.get("cpu"), record["threads"]) == (row.cpu, threads) and re.search(row.names, record["name"]):
            (_, (mine, _)), *others = record["times"].items()
            peers = [t for label, (t, _) in others if re.search(row.peers, label) and not label.startswith("lodkit")]
            if peers:
                yield min(peers) / mine


def write_range(numbers, has_mean):
    """Say the least and the largest number, in two digits, and the geometric mean where it is asked for."""
    low, high = (f"{bound:#.2g}".rstrip(".") for bound in (min(numbers), max(numbers)))
    text = low if low == high else f"{low} to {high}"
    return text + (f", mean {math.prod(numbers) ** (1 / len(numbers)):#.2g}" if has_mean else "")


def table():
    """Each row, with the speedups of one thread and, in parentheses, of two where they were measured."""
    records = json.loads((DOCS / "benchmarks.json").read_text())
    yield "| work | speedup |"
    yield "|---|---|"
    for row in ROWS:
        alone, pairs = ([*speedups(records, row, threads)] for threads in (1, 2))
        both = f" ({write_range(pairs, row.has_mean)})" if pairs else ""
        yield f"| {row.work} | {write_range(alone, row.has_mean)}{both} |"
    yield ""


def page():
    """README with its table written anew."""
    return with_rows(PAGE, BEGIN, table())


GENERATED = {PAGE: page}

if __name__ == "__main__":
    PAGE.write_text(page())
