"""Count what distributed.md says about many ranks, and write its figures and tables (``pip install -e ".[plot]"``).

    python docs/plot_distributed.py [--draw | --quick]

``--draw`` draws the counts of an earlier run; ``--quick`` counts for a few ranks, and writes nothing. The counts are
exact for their ids, which follow seeds; those of the docstrings follow the version of Python too.
"""

from __future__ import annotations

import argparse
import csv
import functools
import importlib.util
import itertools
import pathlib
import re

import numpy as np

from lodkit import LoDTensor
from lodkit.distributed import Hashed, Ranges, imbalance, simulate, zipf

DOCS = pathlib.Path(__file__).parent
FIGURES, PAGE = DOCS / "figures", DOCS / "distributed.md"
COUNTS = FIGURES / "distributed.csv"
COLUMNS = ["ids", "dealing", "ids_a_bag", "ranks", "what", "count"]
HEIGHT, WIDTH = 10**9, 64
IDS_OF_A_RANK = 5120
RANKS = [8, 16, 32, 64, 128, 256, 512, 1024]
STREAMS = {"uniform": 0, "Zipf 1.0": 1, "Zipf 1.2": 1.2}
HOT = [100, 10_000]
LENGTHS = [1, 2, 5, 10, 20, 50, 100, 200, 500]
COLORS = ["#000000", "#56b4e9", "#d55e00", "#009e73", "#e69f00", "#cc79a7"]


def dealings(height, ranks):
    yield "ranges", Ranges(height, ranks)
    yield "hash", Hashed(height, ranks)
    for hot in HOT:
        yield f"hash, {hot:,} hot", Hashed(height, ranks, np.arange(hot))


def counted(ranks):
    """Yield rows of the table of counts."""
    for (name, exponent), n in itertools.product(STREAMS.items(), ranks):
        ids = zipf(n * IDS_OF_A_RANK, HEIGHT, exponent, seed=n)
        for dealing, dealt in dealings(HEIGHT, n):
            yield from figures_of((name, dealing, 20, n), cut(ids, 20), dealt)
        for length in LENGTHS if n in (8, 64, 512) else []:
            yield from figures_of((name, "hash", length, n), cut(ids, length), Hashed(HEIGHT, n))
        print(name, n, flush=True)
    words = docstrings()
    height = int(words.values.max()) + 1
    for n in ranks[:5]:
        for dealing, dealt in itertools.islice(dealings(height, n), 3):
            yield from figures_of(("docstrings", dealing, round(len(words.values) / len(words)), n), words, dealt)


def cut(ids, length):
    """Bags of one length; the last may be shorter."""
    return LoDTensor.from_offsets(ids, np.append(np.arange(0, len(ids), length), len(ids)))


@functools.cache
def docstrings():
    """The words of each docstring of the standard library, numbered by how often they come."""
    from lodkit.demo.stdlib import standard_library

    texts = standard_library().examples
    words, inverse, counts = np.unique(np.concatenate(texts), return_inverse=True, return_counts=True)
    places = np.empty(len(words), np.int64)
    places[np.argsort(-counts, kind="stable")] = np.arange(len(words))
    return LoDTensor(places[inverse], [[len(text) for text in texts]])


def figures_of(key, bags, dealing):
    found, ids = simulate(bags, dealing, WIDTH), len(bags.values) / dealing.ranks
    yield *key, "rows read", found.rows_read.max() / ids
    yield *key, "rows read, largest / mean", imbalance(found.rows_read)
    yield *key, "ids updated", found.ids_updated.max() / ids
    for what in ("lookup", "partial", "update"):
        yield *key, f"bytes sent, {what}", found.sent(what).mean()
    yield *key, "bytes received, update", found.received("update").max()
    yield *key, "hot ids", found.hot.sum() / len(bags.values)


def figure(name, rows, xlabel, line=None):
    """Rows of panels: (label, {title: {label of a line: points}})."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    mpl.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "lodkit", "font.size": 8, "axes.linewidth": 0.6})
    columns = len(rows[0][1])
    drawn = Figure(figsize=(2.3 * columns, 1.9 * len(rows) + 0.6), layout="constrained")
    known = {}
    for (label, panels), places in zip(
        rows, drawn.subplots(len(rows), columns, sharey="row", squeeze=False), strict=True
    ):
        for (title, lines), axes in zip(panels.items(), places, strict=True):
            for (kind, points), color in zip(lines.items(), COLORS, strict=False):
                (known[kind],) = axes.loglog(*zip(*points, strict=True), c=color, lw=1.2, marker=".", ms=4)
            axes.set_title(title, fontsize=8)
            marked(axes.set_xticks, (8, 64, 1024) if xlabel == "ranks" else (1, 10, 100, 500))
            axes.grid(axis="y", lw=0.3)
            if line:
                axes.axhline(line, c="#888888", lw=0.6)
        low, high = places[0].get_ylim()
        marked(
            places[0].set_yticks, [t * 10.0**e for e in range(-2, 4) for t in (1, 2, 5) if low <= t * 10.0**e <= high]
        )
        places[0].set_ylabel(label)
        for axes in places:
            axes.minorticks_off()
            axes.tick_params(left=False, bottom=False)
    drawn.supxlabel(xlabel)
    drawn.legend(known.values(), known.keys(), loc="outside upper center", ncols=4, frameon=False)
    drawn.savefig(FIGURES / name, metadata={"Date": None, "Creator": None})
    (FIGURES / name).write_text(shortened((FIGURES / name).read_text()))


def marked(set_ticks, ticks):
    set_ticks(ticks, [f"{t:,g}" for t in ticks])


def shortened(svg):
    """Remove invisible parts, as for the figures of offsets-and-lengths.md."""
    spec = importlib.util.spec_from_file_location("plots", DOCS / "plot_offsets_and_lengths.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.shortened(svg)


def picked(counts, ids, dealing, what, scale=1, length=20):
    """(ranks, count) of one line."""
    return [(key[3], x / scale) for key, x in counts.items() if key[:3] == (ids, dealing, length) and key[4] == what]


def write(counts):
    kinds = ["ranges", "hash", *(f"hash, {hot:,} hot" for hot in HOT)]
    rows = []
    for what in ("rows read", "ids updated"):
        panels = {ids: {kind: picked(counts, ids, kind, what) for kind in kinds} for ids in STREAMS}
        rows.append((f"{what} per id", panels))
    figure("distributed-balance.svg", rows, "ranks")
    ways = [
        ("exact lookup", kinds[1], "lookup"),
        ("update, or partial pooling", kinds[1], "update"),
        (f"update, {HOT[0]} hot", kinds[2], "update"),
    ]
    panels = {
        ids: {label: picked(counts, ids, kind, f"bytes sent, {way}", 1e6) for label, kind, way in ways}
        for ids in STREAMS
    }
    figure("distributed-traffic.svg", [("MB sent by a rank", panels)], "ranks")
    panels = {ids: {f"{n} ranks": ratios(counts, ids, n) for n in (8, 64, 512)} for ids in STREAMS}
    figure("distributed-partial.svg", [("bytes, partial / exact", panels)], "ids a bag", line=1)
    page = PAGE.read_text()
    for mark, lines in tables(counts).items():
        start, end, text = f"<!-- {mark} -->\n", "<!-- end -->", "\n".join(lines)
        page = re.sub(f"{start}.*?{end}", lambda _, new=f"{start}\n{text}\n\n{end}": new, page, flags=re.S)
    PAGE.write_text(page)


def ratios(counts, ids, ranks):
    """(ids a bag, bytes of partial pooling over those of the exact lookup)."""
    points = []
    for length in LENGTHS:
        exact, partial = (counts[ids, "hash", length, ranks, f"bytes sent, {way}"] for way in ("lookup", "partial"))
        points.append((length, partial / exact))
    return points


COLUMNS_OF_TABLES = [
    ("rows read", "rows read", 1, "{:.2f}"),
    ("largest / mean", "rows read, largest / mean", 1, "{:.2f}"),
    ("ids updated", "ids updated", 1, "{:.2f}"),
    ("exact lookup", "bytes sent, lookup", 1e6, "{:.2f} MB"),
    ("partial pooling", "bytes sent, partial", 1e6, "{:.2f} MB"),
    ("update", "bytes sent, update", 1e6, "{:.2f} MB"),
    ("update, received", "bytes received, update", 1e6, "{:.2f} MB"),
    ("hot ids", "hot ids", 0.01, "{:.0f} %"),
]


def table(counts, first, chosen):
    """Yield the lines of a table: one for each of some keys."""
    yield f"| {first} | dealing | {' | '.join(title for title, *_ in COLUMNS_OF_TABLES)} |"
    yield f"|---|---|{'---|' * len(COLUMNS_OF_TABLES)}"
    for label, key in chosen:
        cells = (form.format(counts[*key, what] / unit) for _, what, unit, form in COLUMNS_OF_TABLES)
        yield f"| {label} | {key[1]} | {' | '.join(cells)} |"


def tables(counts):
    """The tables of the page, by the mark in front of them."""
    keys = list(dict.fromkeys(key[:4] for key in counts))
    at_64 = [(key[0], key) for key in keys if key[0] in STREAMS and key[2:] == (20, 64)]
    words = [(key[3], key) for key in keys if key[0] == "docstrings" and key[3] in (8, 64)]
    marks = {"balance": table(counts, "ids", at_64), "docstrings": table(counts, "ranks", words)}
    return marks | {"partial": partial_table(counts)}


def partial_table(counts):
    """Yield a table of the shortest bags for which partial pooling sends less."""
    yield f"| ranks | {' | '.join(STREAMS)} |"
    yield f"|---|{'---|' * len(STREAMS)}"
    for n in (8, 64, 512):
        pays = ([length for length, ratio in ratios(counts, ids, n) if ratio < 1] for ids in STREAMS)
        yield f"| {n} | {' | '.join(str(x[0]) if x else f'above {LENGTHS[-1]}' for x in pays)} |"


def read():
    with COUNTS.open() as file:
        rows = list(csv.reader(file))[1:]
    return {(a, b, int(c), int(d), e): float(x) for a, b, c, d, e, x in rows}


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--draw", action="store_true")
    options.add_argument("--quick", action="store_true")
    chosen = options.parse_args()
    if chosen.quick:
        print(len(list(counted([8]))), "counts")
        return
    if not chosen.draw:
        lines = [(*key, f"{x:.6g}") for *key, x in counted(RANKS)]
        with COUNTS.open("w", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows([COLUMNS, *lines])
    write(read())


if __name__ == "__main__":
    main()
