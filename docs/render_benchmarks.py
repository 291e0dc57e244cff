"""Write benchmarks.md and a page for each machine from the records of ``compare.py --json``.

python docs/render_benchmarks.py
"""

from __future__ import annotations

import functools
import json
import math
import pathlib
import re

HERE = pathlib.Path(__file__).parent
PAGE, PAGES = HERE / "benchmarks.md", HERE / "benchmarks"
COSTS, END_OF_COSTS = "<!-- costs: docs/render_benchmarks.py writes them -->\n", "<!-- end of costs -->\n"
START, END = "<!-- machines: docs/render_benchmarks.py writes them -->\n", "<!-- end of machines -->\n"
GPU_HEAD = "| work | lodkit | of a copy | best peer | ratio | otherwise | ratio |\n|---|---|---|---|---|---|---|\n"
HEADS = "| work | lodkit, {0} | best peer | ratio | lodkit, {1} | best peer | ratio |\n|---|---|---|---|---|---|---|\n"

#: Sections of a page, each with what the names of its records match; the first that matches takes a record.
FAMILIES = (
    ("Small calls", r"sequences of \d+, width|^(sgd|adagrad) 10 rows|^import$"),
    ("Many tables in one call", r"^(embedding_bags|Features)"),
    ("Compressed tables", r"\d bits|^weighted bags"),
    ("Fused updates of bags", r"^embedding_bag_\w+,"),
    ("Bags and look-ups", r"^(embedding_bag|bags|lookup_table)\b"),
    ("PyTorch and Arrow", r"^(bridge|module|training step|Arrow)"),
    ("Optimizers", r"dense gradient|as the dense|rows, \d+ wide|rows of a table|SelectedRows|rows, fused$|^sgd \d"),
    ("Attention", r"attention"),
    ("Recurrent layers", r"^(lstm|gru)"),
    ("Tagging, CTC, edit distance", r"^(crf|ctc|edit|word)"),
    ("Reductions of sequences and segments", r"^(sequence_pool|sequence_softmax|fused|(sum|mean|max|logsumexp) by)"),
    ("Elements of rows", r"^(layer_norm|softmax|gelu|silu|sigmoid|relu|binary|cross)"),
    ("Structure", r""),
)

#: Labels of what is a part of a call.
PARTS = {"numpy", "pyarrow's calls", "from_offsets alone", "numpy, the bare product"}

#: What is done, the record's name, and whose time it is.
TYPICAL = (
    ("start Python, import NumPy and lodkit", "import", "numpy, lodkit"),
    ("start Python, import NumPy alone", "import", "numpy"),
    ("look up 50 ids, rows of 16", "lookup_table 10 sequences of 5, width 16", "lodkit"),
    ("look up 50 ids, rows of 16, and sum 10 bags", "embedding_bag 10 sequences of 5, width 16", "lodkit"),
    ("a step of SGD in 10 rows", "sgd 10 rows", "lodkit"),
    ("look up 82,000 ids and average 4,096 bags", "embedding_bag mean 64 wide, uniform", "lodkit"),
    ("the gradient of 4,096 bags, and a step of Adagrad", "embedding_bag_adagrad, uniform", "lodkit gradient, update"),
    ("the same gradient and step in one pass (`embedding_bag_adagrad`)", "embedding_bag_adagrad, uniform", "lodkit"),
    ("a step of Adam with a gradient of 82,000 rows, `lazy=True`", "adam, uniform rows, 64 wide", "lodkit"),
    ("a step of Adam with a dense gradient of a million rows", "adam, dense gradient", "lodkit"),
    ("sum 100,000 sequences with 2 million rows in total", "sequence_pool sum 2M x 64", "lodkit"),
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


def table_of(rows, newest):
    """A line for each work, in the order of the records; one that was recorded before the newest says when."""
    found = {(row["name"], row["threads"]): row for row in rows}
    lines = []
    for name, row in {row["name"]: row for row in rows}.items():
        named = name if row["date"] == newest else f"{name} (of {row['date']})"
        parts = [named, *cells(found.get((name, 1))), *cells(found.get((name, 2)))]
        lines.append("".join(f"| {part} " if part else "| " for part in parts) + "|\n")
    return HEADS.format("1 thread", "2 threads") + "".join(lines)


def costs(rows):
    """The table of what typical calls cost, at one thread."""
    of = {row["name"]: row["times"] for row in rows if row["threads"] == 1}
    lines = [f"| {what} | {shown(of[name][label][0])} |\n" for what, name, label in TYPICAL]
    return f"| one thread, {rows[0]['cpu']} | time |\n|---|---|\n" + "".join(lines)


def family_of(row):
    """The section of a record."""
    return next(title for title, words in FAMILIES if re.search(words, row["name"]))


def by_family(rows):
    """Family -> its records, in the order of ``FAMILIES``; without those that have none."""
    found = {title: [] for title, _ in FAMILIES}
    for row in rows:
        found[family_of(row)].append(row)
    return {title: rows for title, rows in found.items() if rows}


def speedup(row):
    """Time of the best peer over lodkit's; None without a peer. Other ways of lodkit and parts of a call are none, nor
    are padded batches of attention, which a loop over the sequences beats.
    """
    (_, (mine, _)), *others = row["times"].items()
    peers = [theirs for label, (theirs, _) in others if not label.startswith("lodkit") and label not in PARTS]
    if family_of(row) == "Attention" and "torch by sequence" not in row["times"]:
        return None
    return min(peers) / mine if peers else None


def speedups(rows, threads):
    """Speedups of the records of so many threads that have a peer."""
    return [x for row in rows if row["threads"] == threads and (x := speedup(row)) is not None]


def summary(rows):
    """What a family has: its mean and least speedup, by one thread and by two."""
    parts = []
    for threads in (1, 2):
        found = speedups(rows, threads)
        mean = math.exp(sum(map(math.log, found)) / len(found)) if found else None
        parts += [f"{mean:.2f}", f"{min(found):.2f}"] if found else ["", ""]
    return parts


def machine_page(cpu, rows):
    """The page of one kind of CPU: how it was measured, and the tables of all families."""
    newest, versions = max(row["date"] for row in rows), rows[-1]["versions"]
    used = ", ".join(f"{name} {version}" for name, version in versions.items() if name != "lodkit")
    measured = f"Measured {newest}, with {used}. A row with a date is from that date, and from older kernels."
    back = "[Benchmarks](../benchmarks.md) explains these tables and the peers."
    tables = [f"## {title}\n\n{table_of(part, newest)}" for title, part in by_family(rows).items()]
    return "\n".join([f"# Benchmarks on {cpu}\n", f"{measured} {back}\n", *tables])


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


def gpu_page(gpu, rows):
    """The page of one kind of GPU."""
    used = ", ".join(f"{name} {version}" for name, version in rows[-1]["versions"].items() if name != "lodkit")
    lines = ["".join(f"| {part} " if part else "| " for part in gpu_cells(row)) + "|\n" for row in rows]
    copy = f"A copy on the device moves {rows[-1]['copy_speed']} TB/s, reads and writes together."
    measured = f"Measured {rows[-1]['date']}, with {used}. {copy}"
    back = "[Benchmarks](../benchmarks.md#gpus) explains this table."
    return f"# Benchmarks on {gpu}\n\n{measured} {back}\n\n{GPU_HEAD}{''.join(lines)}"


def page_name(machine):
    """Name of a machine's page, without its ending."""
    return re.sub(r"\W+", "-", machine.lower())


@functools.cache
def machines(file, key):
    """Machine -> its records, of a file of them."""
    found: dict[str, list] = {}
    for row in json.loads((HERE / file).read_text()):
        found.setdefault(row[key], []).append(row)
    return found


def cpus():
    """CPU, by LLVM's name -> its records."""
    return machines("benchmarks.json", "cpu")


def gpus():
    """GPU -> its records."""
    return machines("benchmarks_gpu.json", "gpu")


def links():
    """The table of all families and CPUs, and the list of pages."""
    lines = []
    for cpu, rows in cpus().items():
        for title, part in by_family(rows).items():
            if any(found := summary(part)):
                lines.append("".join(f"| {x} " if x else "| " for x in (cpu, title, *found)) + "|\n")
    head = "| CPU | family | mean, 1 thread | least | mean, 2 threads | least |\n|---|---|---|---|---|---|\n"
    pages = [f"- [{name}](benchmarks/{page_name(name)}.md)\n" for name in (*cpus(), *gpus())]
    return "".join(pages) + "\n" + head + "".join(lines)


def render():
    """The front page, with what typical calls cost and the table of all families."""
    before, rest = PAGE.read_text().split(START)
    head, tail = before.split(COSTS)[0], before.split(END_OF_COSTS)[1]
    before = head + COSTS + "\n" + costs(next(iter(cpus().values()))) + "\n" + END_OF_COSTS + tail
    return before + START + "\n" + links() + "\n" + END + rest.split(END)[1]


GENERATED = {PAGE: render}
GENERATED |= {PAGES / f"{page_name(c)}.md": lambda c=c, rows=rows: machine_page(c, rows) for c, rows in cpus().items()}
GENERATED |= {PAGES / f"{page_name(g)}.md": lambda g=g, rows=rows: gpu_page(g, rows) for g, rows in gpus().items()}

if __name__ == "__main__":
    for file, text in GENERATED.items():
        file.write_text(text())
