"""Measure the programs of offsets-and-lengths.md, and write its figures and tables (``pip install -e ".[plot]"``).

    OMP_WAIT_POLICY=passive python docs/plot_offsets_and_lengths.py [--again | --draw | --quick]

``--again`` keeps smaller times of earlier runs: repeat it on a shared machine. ``--draw`` draws earlier times without
measuring; ``--quick`` is a smoke test and writes nothing. Representations are interleaved; times are minima.
"""

from __future__ import annotations

import argparse
import csv
import math
import os
import pathlib
import re
import sys
import time

DOCS = pathlib.Path(__file__).parent
FIGURES, PAGE = DOCS / "figures", DOCS / "offsets-and-lengths.md"
TIMES = FIGURES / "offsets-and-lengths.csv"
COLUMNS = ["threads", "program", "levels", "sequences", "representation", "microseconds"]
WIDE = "last, rows of 64"
COLORS = {
    "offsets": "#000000",
    "views": "#56b4e9",
    "running": "#009e73",
    "scanned": "#0072b2",
    "resummed": "#d55e00",
    "each": "#cc79a7",
    "absolute": "#e69f00",
}
LABELS = {"each": "resummed by each sequence", "views": "offsets, not re-based"}
SLOW = 0.05  # seconds: slower calls are not measured at larger sizes
ROUNDS = 7  # at least


def measured(sizes, seconds):
    """Yield rows of the table of times."""
    sys.path.insert(0, str(DOCS.parent / "asv_benchmarks"))
    from benchmarks.lod_programs import PROGRAMS, draw

    from lodkit.jit import set_num_threads

    programs = {name: (program, None) for name, program in PROGRAMS.items()} | {WIDE: (PROGRAMS["last"], 64)}
    for threads in (1, 2):
        set_num_threads(threads)
        for levels in (1, 2):
            for name, (program, width) in programs.items():
                slow = set()
                for size in sizes:
                    if (threads == 2 and name not in ("last", "max", WIDE)) or (width and size > 100_000):
                        continue
                    calls = {r: c for r, c in program(draw(size, levels, width)).items() if r not in slow}
                    best = least(calls, seconds)
                    slow |= {r for r, t in best.items() if t > SLOW}
                    for representation, t in best.items():
                        yield threads, name, levels, size, representation, t * 1e6
                    print(threads, name, levels, size, {r: f"{t * 1e6:.4g}" for r, t in best.items()}, flush=True)


def least(calls, seconds):
    """Return the minimum time of each call, interleaved, for ``seconds`` per call."""
    for call in calls.values():
        call()  # compiles
    inner = {name: max(1, int(1e-3 / timed(call, 1))) for name, call in calls.items()}
    best, stop, rounds = dict.fromkeys(calls, math.inf), time.perf_counter() + seconds * len(calls), 0
    while rounds < ROUNDS or time.perf_counter() < stop:
        rounds += 1
        for name, call in calls.items():
            if rounds > 1 and best[name] < SLOW:
                call()  # reloads the caches after the previous call
            best[name] = min(best[name], timed(call, inner[name]))
    return best


def timed(call, times):
    start = time.perf_counter()
    for _ in range(times):
        call()
    return (time.perf_counter() - start) / times


def ratios(times, threads, program, levels):
    """Return {representation: [(sequences, time relative to offsets)]}."""
    rows = [row for row in times if row[:3] == (threads, program, levels)]
    base = {size: t for *_, size, representation, t in rows if representation == "offsets"}
    curves = {}
    for *_, size, representation, t in rows:
        curves.setdefault(representation, []).append((size, t / base[size]))
    return curves


def figure(times, threads, programs, columns, name):
    import matplotlib as mpl
    from matplotlib.figure import Figure

    mpl.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "lodkit", "font.size": 8, "axes.linewidth": 0.6})
    panels = [(program, levels) for program in programs for levels in (1, 2)]
    lines = -(-len(panels) // columns)
    drawn = Figure(figsize=(2.1 * columns, 1.7 * lines + 0.7), layout="constrained")
    known, places = {}, drawn.subplots(lines, columns).flat
    for axes in places[len(panels) :]:
        axes.set_axis_off()
    for axes, (program, levels) in zip(places, panels, strict=False):
        for representation, points in ratios(times, threads, program, levels).items():
            (known[representation],) = axes.loglog(*zip(*points, strict=True), c=COLORS[representation], lw=1.2)
        axes.set_title(f"{program}, {levels} level{'s' * (levels > 1)}", fontsize=8)
        axes.set_xticks([100, 10_000, 1_000_000], ["100", "10,000", "1,000,000"])
        low, high = min(axes.get_ylim()[0], 0.5), max(axes.get_ylim()[1], 4)
        marks = [t for t in ([0.1, 1, 10, 100, 1000, 10_000] if high > 10 else [0.1, 0.5, 1, 2, 4]) if low <= t <= high]
        axes.set_yticks(marks, [f"{t:,}" for t in marks])
        axes.set_ylim(low, high)
        axes.minorticks_off()
        axes.tick_params(left=False, bottom=False)
        axes.grid(axis="y", lw=0.3)
    drawn.supxlabel("sequences")
    drawn.supylabel("time relative to offsets")
    known = {r: known[r] for r in COLORS if r in known}
    labels = [LABELS.get(r, r) for r in known]
    drawn.legend(known.values(), labels, loc="outside upper center", ncols=4, frameon=False)
    drawn.savefig(FIGURES / name, metadata={"Date": None, "Creator": None})
    (FIGURES / name).write_text(shortened((FIGURES / name).read_text()))


def shortened(svg):
    """Remove invisible parts, half of the file."""
    svg = re.sub(r"<\?xml.*?\?>|<!DOCTYPE.*?>|<!--.*?-->|<metadata>.*?</metadata>", "", svg, flags=re.S)
    svg = re.sub(r' transform="rotate\(-0 .*?"', "", svg)
    svg = re.sub(r"font-family: [^;\"]*", "font-family: sans-serif", svg)
    svg = re.sub(r"(\d+\.\d)\d+", r"\1", svg)
    return re.sub(r"\s*\n\s*", "\n", svg).lstrip()


def table(times, threads, size):
    """Yield a table of times with offsets, and the others relative to it, at one size."""
    names = [r for r in COLORS if any(row[0] == threads and row[4] == r for row in times)]
    yield f"| {size:,} sequences | levels | {' | '.join(LABELS.get(r, r) for r in names)} |"
    yield f"|---|---|{'---|' * len(names)}"
    for program in dict.fromkeys(row[1] for row in times if row[0] == threads):
        for levels in (1, 2):
            found = {r: dict(points).get(size) for r, points in ratios(times, threads, program, levels).items()}
            base = next(row[5] for row in times if row[:5] == (threads, program, levels, size, "offsets"))
            cells = ["" if found.get(r) is None else f"{float(f'{found[r]:.2g}'):,.7g}" for r in names[1:]]
            yield f"| {program} | {levels} | {format_time(base)} | {' | '.join(cells)} |"


def format_time(microseconds):
    return f"{microseconds:.3g} µs" if microseconds < 1000 else f"{microseconds / 1000:.3g} ms"


def write(times):
    figure(times, 1, list(dict.fromkeys(row[1] for row in times if row[1] != WIDE)), 4, "offsets-and-lengths.svg")
    figure(times, 2, ["last", "max"], 4, "offsets-and-lengths-threads.svg")
    page = PAGE.read_text()
    for threads in (1, 2):
        text = "\n".join(table(times, threads, 100_000))
        start, end = f"<!-- threads {threads} -->\n", "<!-- end -->"
        page = re.sub(f"{start}.*?{end}", lambda _, new=f"{start}\n{text}\n\n{end}": new, page, flags=re.S)
    PAGE.write_text(page)


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--again", action="store_true")
    options.add_argument("--draw", action="store_true")
    options.add_argument("--quick", action="store_true")
    chosen = options.parse_args()
    if chosen.quick:
        list(measured([100], 0.001))
        return
    FIGURES.mkdir(exist_ok=True)
    times = read() if chosen.again or chosen.draw else {}
    if not chosen.draw:
        print("load before:", os.getloadavg())
        for *key, t in measured([100, 1000, 10_000, 100_000, 1_000_000], 0.15):
            times[tuple(key)] = min(t, times.get(tuple(key), math.inf))
        print("load after:", os.getloadavg())
        lines = [(*key, f"{t:.4g}") for key, t in times.items()]
        with TIMES.open("w", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows([COLUMNS, *lines])
    write([(*key, t) for key, t in times.items()])


def read():
    with TIMES.open() as file:
        return {(int(a), b, int(c), int(d), e): float(t) for a, b, c, d, e, t in list(csv.reader(file))[1:]}


if __name__ == "__main__":
    main()
