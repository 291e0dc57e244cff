"""Write the tables of benchmarks.md from benchmarks.json, the records of ``asv_benchmarks/compare.py --json``.

python docs/render_benchmarks.py
"""

from __future__ import annotations

import json
import pathlib

HERE = pathlib.Path(__file__).parent
PAGE = HERE / "benchmarks.md"
START, END = "<!-- figures: docs/render_benchmarks.py writes them -->\n", "<!-- end of figures -->\n"
HEADS = "| work | lodkit, {0} | best peer | ratio | lodkit, {1} | best peer | ratio |\n|---|---|---|---|---|---|---|\n"


def shown(milliseconds):
    if milliseconds < 0.1:
        return f"{milliseconds * 1e3:.3g} µs"
    return f"{milliseconds:.3g} ms" if milliseconds < 1000 else f"{milliseconds / 1000:.3g} s"


def cells(row):
    """Cells of one number of threads: time, best peer, ratio; empty where it was not measured."""
    if row is None:
        return ["", "", ""]
    (_, (mine, _)), *peers = row["times"].items()
    own = shown(mine) + (f" ({mine / row['memcpy']:.2f} memcpy)" if row["memcpy"] else "")
    if not peers:
        return [own, "", ""]
    label, (theirs, _) = min(peers, key=lambda peer: peer[1][0])
    return [own, f"{label} {shown(theirs)}", f"{theirs / mine:.2f}"]


def table_of(rows):
    """The table of one kind of CPU: a line for each work, in the order of the records."""
    found = {(row["name"], row["threads"]): row for row in rows}
    lines = []
    for name in dict.fromkeys(row["name"] for row in rows):
        parts = [name, *cells(found.get((name, 1))), *cells(found.get((name, 2)))]
        lines.append("".join(f"| {part} " if part else "| " for part in parts) + "|\n")
    return HEADS.format("1 thread", "2 threads") + "".join(lines)


def section(cpu, rows):
    dates, versions = sorted({row["date"] for row in rows}), rows[-1]["versions"]
    used = ", ".join(f"{name} {version}" for name, version in versions.items() if name != "lodkit")
    when = dates[0] if len(dates) == 1 else f"{dates[0]} to {dates[-1]}"
    return f"### {cpu}\n\nMeasured {when},\nwith {used}.\n\n{table_of(rows)}"


def render():
    """The page, with the tables of the records."""
    records = json.loads((HERE / "benchmarks.json").read_text())
    before, rest = PAGE.read_text().split(START)
    cpus = dict.fromkeys(row["cpu"] for row in records)
    sections = [section(cpu, [row for row in records if row["cpu"] == cpu]) for cpu in cpus]
    return before + START + "\n" + "\n".join(sections) + "\n" + END + rest.split(END)[1]


GENERATED = {PAGE: render}

if __name__ == "__main__":
    PAGE.write_text(render())
