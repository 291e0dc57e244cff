"""Write the tables of benchmarks.md from benchmarks.json and benchmarks_gpu.json, records of ``compare.py --json``.

python docs/render_benchmarks.py
"""

from __future__ import annotations

import json
import pathlib

HERE = pathlib.Path(__file__).parent
PAGE = HERE / "benchmarks.md"
COSTS, END_OF_COSTS = "<!-- costs: docs/render_benchmarks.py writes them -->\n", "<!-- end of costs -->\n"
START, END = "<!-- figures: docs/render_benchmarks.py writes them -->\n", "<!-- end of figures -->\n"
GPU_START, GPU_END = "<!-- gpu: docs/render_benchmarks.py writes them -->\n", "<!-- end of gpu -->\n"
GPU_HEAD = "| work | lodkit | of a copy | best peer | ratio | otherwise | ratio |\n|---|---|---|---|---|---|---|\n"
HEADS = "| work | lodkit, {0} | best peer | ratio | lodkit, {1} | best peer | ratio |\n|---|---|---|---|---|---|---|\n"

#: What is done, the record's name, and whose time it is.
TYPICAL = (
    ("a process of Python that imports NumPy and lodkit", "import", "numpy, lodkit"),
    ("one that imports NumPy alone", "import", "numpy"),
    ("look up 50 ids in a call, rows of 16", "lookup_table 10 sequences of 5, width 16", "lodkit"),
    ("pool them in 10 bags", "embedding_bag 10 sequences of 5, width 16", "lodkit"),
    ("a step of SGD in 10 rows", "sgd 10 rows", "lodkit"),
    ("pool 82,000 ids in 4,096 bags, means", "embedding_bag mean 64 wide, uniform", "lodkit"),
    ("their gradient and a step of Adagrad", "embedding_bag_adagrad, uniform", "lodkit gradient, update"),
    ("the same in one pass (`embedding_bag_adagrad`)", "embedding_bag_adagrad, uniform", "lodkit"),
    ("a step of Adam by SelectedRows of 82,000 rows, `lazy=True`", "adam, uniform rows, 64 wide", "lodkit"),
    ("a step of Adam by a dense gradient, all million rows", "adam, dense gradient", "lodkit"),
    ("sum 100,000 sequences, 2 million rows in all", "sequence_pool sum 2M x 64", "lodkit"),
)


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
    own += f" ({row['limit'] / mine:.2f} of the limit)" if row.get("limit") else ""
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


def costs(rows):
    """The table of what typical calls cost, at one thread."""
    of = {row["name"]: row["times"] for row in rows if row["threads"] == 1}
    lines = [f"| {what} | {shown(of[name][label][0])} |\n" for what, name, label in TYPICAL]
    return f"| one thread, {rows[0]['cpu']} | time |\n|---|---|\n" + "".join(lines)


def section(cpu, rows):
    dates, versions = sorted({row["date"] for row in rows}), rows[-1]["versions"]
    used = ", ".join(f"{name} {version}" for name, version in versions.items() if name != "lodkit")
    when = dates[0] if len(dates) == 1 else f"{dates[0]} to {dates[-1]}"
    return f"### {cpu}\n\nMeasured {when},\nwith {used}.\n\n{table_of(rows)}"


def gpu_cells(row):
    """Cells of one row: lodkit's time and share of a copy's speed, the best peer's, lodkit's with another setting."""
    times = row["times"]
    (_, mine), *others = [(label, ms) for label, ms in times.items() if label.startswith("lodkit")]
    peer, best = min([x for x in times.items() if not x[0].startswith("lodkit")], key=lambda x: x[1], default=("", 0))
    found = [row["name"], shown(mine), f"{row['copy'] / mine:.2f}"]
    found += [f"{peer} {shown(best)}", f"{best / mine:.2f}"] if peer else ["", ""]
    for label, ms in others[:1]:
        found += [f"{label.removeprefix('lodkit').strip(', ')} {shown(ms)}", f"{best / ms:.2f}" if peer else ""]
    return found + [""] * (7 - len(found))


def gpu_section(gpu, rows):
    used = ", ".join(f"{name} {version}" for name, version in rows[-1]["versions"].items() if name != "lodkit")
    lines = ["".join(f"| {part} " if part else "| " for part in gpu_cells(row)) + "|\n" for row in rows]
    copy = f"a copy reads and writes {rows[-1]['copy_speed']} TB/s"
    return f"### {gpu}\n\nMeasured {rows[-1]['date']}; {copy}; with {used}.\n\n{GPU_HEAD}{''.join(lines)}"


def with_gpus(page):
    """The page, with the tables of every GPU."""
    records = json.loads((HERE / "benchmarks_gpu.json").read_text())
    gpus = dict.fromkeys(row["gpu"] for row in records)
    sections = [gpu_section(gpu, [row for row in records if row["gpu"] == gpu]) for gpu in gpus]
    before, rest = page.split(GPU_START)
    return before + GPU_START + "\n" + "\n".join(sections) + "\n" + GPU_END + rest.split(GPU_END)[1]


def render():
    """The page, with the tables of the records."""
    records = json.loads((HERE / "benchmarks.json").read_text())
    before, rest = PAGE.read_text().split(START)
    cpus = dict.fromkeys(row["cpu"] for row in records)
    sections = [section(cpu, [row for row in records if row["cpu"] == cpu]) for cpu in cpus]
    head, tail = before.split(COSTS)[0], before.split(END_OF_COSTS)[1]
    newest = [row for row in records if row["cpu"] == next(iter(cpus))]
    before = head + COSTS + "\n" + costs(newest) + "\n" + END_OF_COSTS + tail
    return with_gpus(before + START + "\n" + "\n".join(sections) + "\n" + END + rest.split(END)[1])


GENERATED = {PAGE: render}

if __name__ == "__main__":
    PAGE.write_text(render())
