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
HEIGHT, ROW_BYTES = 10**9, 256  # 64 numbers of float32
IDS_OF_A_RANK = 20_480
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
            yield from told((name, dealing, 20, n), cut(ids, 20), dealt)
        for length in LENGTHS if n in (8, 64, 512) else []:
            yield from told((name, "hash", length, n), cut(ids, length), Hashed(HEIGHT, n))
        print(name, n, flush=True)
    words = docstrings()
    height = int(words.values.max()) + 1
    for n in ranks[:5]:
        for dealing, dealt in itertools.islice(dealings(height, n), 3):
            yield from told(("docstrings", dealing, round(len(words.values) / len(words)), n), words, dealt)


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


def told(key, bags, dealing):
    found = simulate(bags, dealing, ROW_BYTES)
    yield *key, "rows read, largest / mean", imbalance(found.rows_read)
    yield *key, "ids updated, largest / mean", imbalance(found.ids_updated)
    for what in ("lookup", "partial", "update"):
        yield *key, f"bytes sent, {what}", found.sent(what).mean()
    yield *key, "hot ids", found.hot.mean()


def figure(counts, panels, name, axis, log=True, note=None):
    """One panel for each title: its lines are pairs of a label and points."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    mpl.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "lodkit", "font.size": 8, "axes.linewidth": 0.6})
    drawn = Figure(figsize=(2.3 * len(panels), 2.6), layout="constrained")
    known = {}
    for axes, (title, lines) in zip(drawn.subplots(1, len(panels), sharey=True), panels.items(), strict=True):
        for (label, points), color in zip(lines.items(), COLORS, strict=False):
            (known[label],) = axes.loglog(*zip(*points, strict=True), c=color, lw=1.2, marker=".", ms=4)
        axes.set_title(title, fontsize=8)
        xs = sorted({x for points in lines.values() for x, _ in points})
        shown = [x for x in xs if x in (1, 8, 10, 64, 100, 500, 1024)]
        axes.set_xticks(shown, [f"{x:,}" for x in shown])
        if note:
            axes.axhline(note, c="#888888", lw=0.6)
        axes.minorticks_off()
        axes.grid(axis="y", lw=0.3)
    drawn.supxlabel(axis[0])
    drawn.supylabel(axis[1])
    for axes in drawn.axes:
        low, high = axes.get_ylim()
        marks = [t for t in (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000) if low <= t <= high]
        axes.set_yticks(marks, [f"{t:g}" for t in marks])
        axes.minorticks_off()
    drawn.legend(known.values(), known.keys(), loc="outside upper center", ncols=6, frameon=False)
    drawn.savefig(FIGURES / name, metadata={"Date": None, "Creator": None})
    (FIGURES / name).write_text(shortened((FIGURES / name).read_text()))


def shortened(svg):
    """Remove invisible parts, as for the figures of offsets-and-lengths.md."""
    spec = importlib.util.spec_from_file_location("plots", DOCS / "plot_offsets_and_lengths.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.shortened(svg)


def picked(counts, ids, dealing, what, length=20):
    """(ranks, count) of one line."""
    return [(key[3], x) for key, x in counts.items() if key[:3] == (ids, dealing, length) and key[4] == what]


def write(counts):
    kinds = ["ranges", "hash", *(f"hash, {hot:,} hot" for hot in HOT)]
    for name, what in [("lookup", "rows read, largest / mean"), ("update", "ids updated, largest / mean")]:
        panels = {ids: {kind: picked(counts, ids, kind, what) for kind in kinds} for ids in STREAMS}
        figure(counts, panels, f"distributed-balance-{name}.svg", ("ranks", what))
    ways = {"lookup": "exact lookup", "partial": "partial pooling", "update": "update"}
    panels = {
        ids: {
            label: [(n, x / 1e6) for n, x in picked(counts, ids, "hash", f"bytes sent, {way}")]
            for way, label in ways.items()
        }
        for ids in STREAMS
    }
    figure(counts, panels, "distributed-traffic.svg", ("ranks", "MB sent by a rank"))
    panels = {ids: {f"{n} ranks": ratios(counts, ids, n) for n in (8, 64, 512)} for ids in STREAMS}
    figure(counts, panels, "distributed-partial.svg", ("ids a bag", "bytes, partial / exact"), note=1)
    page = PAGE.read_text()
    for mark, lines in {"balance": balance_table(counts), "docstrings": docstrings_table(counts)}.items():
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


def balance_table(counts):
    """Yield a table of the largest load over the mean, at 64 ranks."""
    yield "| ids | dealing | rows read | ids updated | hot ids |"
    yield "|---|---|---|---|---|"
    for (ids, dealing, length, n, what), x in counts.items():
        if (n, what, length) == (64, "rows read, largest / mean", 20) and ids in STREAMS:
            updated = counts[ids, dealing, length, n, "ids updated, largest / mean"]
            hot = counts[ids, dealing, length, n, "hot ids"] / IDS_OF_A_RANK
            yield f"| {ids} | {dealing} | {x:.2f} | {updated:.2f} | {hot:.0%} |"


def docstrings_table(counts):
    """Yield a table of the recorded stream."""
    yield "| ranks | dealing | rows read | ids updated | exact lookup | partial pooling | update |"
    yield "|---|---|---|---|---|---|---|"
    for (ids, dealing, length, n, what), x in counts.items():
        if ids == "docstrings" and what == "rows read, largest / mean":
            updated = counts[ids, dealing, length, n, "ids updated, largest / mean"]
            sent = [
                counts[ids, dealing, length, n, f"bytes sent, {way}"] / 1e6 for way in ("lookup", "partial", "update")
            ]
            yield f"| {n} | {dealing} | {x:.2f} | {updated:.2f} | {' | '.join(f'{y:.2f} MB' for y in sent)} |"


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
