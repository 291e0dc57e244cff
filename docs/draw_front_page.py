"""Draw the figures of the front page, a batch beside its padded form and speedups by family, and that of jupyter.md.

    python docs/draw_front_page.py

The batch is lodkit's; the speedups are those of the CPU with the most records in benchmarks.json, by one thread.
"""

from __future__ import annotations

import math
import pathlib

from render_benchmarks import by_family, cpus, speedups

import lodkit
from lodkit.lod.repr_html import picture

FIGURES = pathlib.Path(__file__).parent / "figures"
BATCH = lodkit.LoDTensor.from_nested([[[1, 2, 3], [2]], [[0, 3]]])
COLORS = ["#56b4e9", "#9ad9c3", "#e69f00"]
CELL, LEFT, TOP = 30, 16, 46  # sizes in pixels
LABEL_WIDTH, BAR_WIDTH, LINE = 290, 300, 22


def words(x, y, text, anchor="start", color="#000"):
    return f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}" fill="{color}">{text}</text>'


def cell(x, y, color, text):
    box = f'<rect x="{x}" y="{y}" width="{CELL}" height="{CELL}" fill="{color}" stroke="#444"/>'
    return box + words(x + CELL / 2, y + 20, text, anchor="middle")


def empty(x, y):
    return f'<rect x="{x}" y="{y}" width="{CELL}" height="{CELL}" fill="none" stroke="#bbb" stroke-dasharray="2"/>'


def brace(x, y, cells, text):
    """A line under so many cells, and what they are."""
    stop = x + cells * CELL
    return f'<path d="M{x + 3} {y}h{stop - x - 6}" stroke="#444"/>' + words((x + stop) / 2, y + 14, text, "middle")


def svg(width, height, parts):
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}">'
    paper = '<rect width="100%" height="100%" fill="#fff"/><g font-family="sans-serif" font-size="13">'
    return "\n".join([head + paper, *parts, "</g></svg>"]) + "\n"


def draw_batch():
    """Two articles, of two sentences and of one: rows end to end with lengths, and padded."""
    sentences, articles = BATCH.lengths().tolist(), BATCH.lengths(0).tolist()
    colors = [color for color, length in zip(COLORS, sentences, strict=True) for _ in range(length)]
    parts = [words(LEFT, TOP - 16, f"LoDTensor: {len(BATCH.values)} rows, and lengths per level")]
    parts += [cell(LEFT + i * CELL, TOP, colors[i], x) for i, x in enumerate(BATCH.values.tolist())]
    x = LEFT
    for length in sentences:
        parts.append(brace(x, TOP + CELL + 12, length, length))
        x += length * CELL
    x = LEFT
    for article, length in zip(BATCH, articles, strict=True):
        rows = sum(len(sentence) for sentence in article)
        parts.append(brace(x, TOP + CELL + 44, rows, f"{length} sentence{'s' * (length > 1)}"))
        x += rows * CELL
    grid, longest, most = LEFT + 300, max(sentences), max(articles)
    parts.append(words(grid, TOP - 16, f"padded: {len(articles) * most * longest} cells"))
    nested, colors = BATCH.to_list(), iter(COLORS)
    for a, article in enumerate(nested):
        for s in range(most):
            at, y = grid + a * (longest + 1) * CELL, TOP + s * CELL
            row = article[s] if s < len(article) else []
            color = next(colors) if row else None
            parts += [
                cell(at + t * CELL, y, color, row[t]) if t < len(row) else empty(at + t * CELL, y)
                for t in range(longest)
            ]
    return svg(grid + (len(articles) * (longest + 1) - 1) * CELL + LEFT, TOP + CELL + 72, parts)


def draw_speedups():
    """A bar for each family, of its geometric mean; a line at 1, as fast as the best peer."""
    cpu, rows = max(cpus().items(), key=lambda pair: len(pair[1]))
    found = {title: speedups(part, 1) for title, part in by_family(rows).items()}
    means = {title: math.exp(sum(map(math.log, x)) / len(x)) for title, x in found.items() if x}
    longest = math.log(max(means.values()))
    parts = [words(LEFT, 22, f"Times as fast as the best peer ({cpu}, one thread; geometric means)")]
    for k, (title, mean) in enumerate(means.items()):
        y = TOP + k * LINE
        parts.append(words(LABEL_WIDTH, y + 13, title, "end"))
        width = max(2, math.log(mean) / longest * BAR_WIDTH)
        parts.append(f'<rect x="{LABEL_WIDTH + 10}" y="{y}" width="{width:.1f}" height="{LINE - 6}" fill="#0072b2"/>')
        label = f"{mean:.1f} (least {min(found[title]):.2f})"
        parts.append(words(LABEL_WIDTH + 16 + width, y + 13, label))
    bottom = TOP + len(means) * LINE
    for tick in (1, 2, 4):
        x = LABEL_WIDTH + 10 + math.log(tick) / longest * BAR_WIDTH
        parts.append(
            f'<path d="M{x:.1f} {TOP - 8}V{bottom}" stroke="#444" stroke-dasharray="{"1 3" if tick > 1 else 0}"/>'
        )
        parts.append(words(x, bottom + 14, tick, "middle"))
    return svg(LABEL_WIDTH + BAR_WIDTH + 150, bottom + 24, parts)


def draw_in_jupyter():
    """The picture that Jupyter shows of the batch, and one of rows of three numbers."""
    rows = lodkit.LoDTensor([[0.5, 1.25, -2.0], [3.0, 0.1, 7.5], [1.0, 2.0, 4.0]], [[2, 0, 1]])
    parts = [f'<svg y="{y}"{picture(x)[4:]}' for x, y in ((BATCH, 0), (rows, 70))]
    return svg(240, 155, parts)


GENERATED = {
    FIGURES / "batch.svg": draw_batch,
    FIGURES / "speedups.svg": draw_speedups,
    FIGURES / "jupyter.svg": draw_in_jupyter,
}

if __name__ == "__main__":
    for file, text in GENERATED.items():
        file.write_text(text())
