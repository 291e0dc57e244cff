"""Draw figures/shrinking-steps.svg of recurrence.md: how a ragged batch becomes steps that shrink.

    python docs/draw_shrinking_steps.py

What runs at which step is asked of lodkit's operators, on a small batch.
"""

from __future__ import annotations

import pathlib

import numpy as np

import lodkit

FIGURE = pathlib.Path(__file__).parent / "figures" / "shrinking-steps.svg"
LENGTHS = [3, 1, 5, 0, 2, 5, 1]
NAMES = "abcdefg"
COLORS = ["#56b4e9", "#e69f00", "#9ad9c3", "#ffffff", "#f0e442", "#eda38a", "#dba9c7"]
CELL, ROW, LEFT, TOP, GAP = 26, 22, 24, 40, 14  # sizes in pixels; GAP is between steps
STRIP = TOP + len(LENGTHS) * ROW + 58  # the height at which the steps lie end to end


def cell(x, y, sequence, text):
    box = f'<rect x="{x}" y="{y}" width="{CELL}" height="{ROW - 4}" fill="{COLORS[sequence]}" stroke="#444"/>'
    return box + words(x + CELL / 2, y + 13, text, anchor="middle")


def padding(x, y):
    return f'<rect x="{x}" y="{y}" width="{CELL}" height="{ROW - 4}" fill="none" stroke="#bbb" stroke-dasharray="2"/>'


def words(x, y, text, anchor="start"):
    return f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}">{text}</text>'


def rows(left, title, order, padded):
    """Sequences below each other; where ``padded`` the cells that padding would add."""
    yield words(left, TOP - 26, title)
    for at, sequence in enumerate(order):
        y, length = TOP + at * ROW, LENGTHS[sequence]
        yield words(left - 14, y + 13, NAMES[sequence], anchor="middle")
        yield from (cell(left + t * CELL, y, sequence, f"{NAMES[sequence]}{t}") for t in range(length))
        if padded:
            yield from (padding(left + t * CELL, y) for t in range(length, max(LENGTHS)))


def steps(array):
    """The steps end to end, and below each row the memory that comes with it."""
    yield words(LEFT, STRIP - 12, "end to end: each step is one part; below it its memories, which lose the last rows")
    x = LEFT
    for t, sequences in enumerate(array):
        for sequence in sequences:
            yield cell(x, STRIP, sequence, f"{NAMES[sequence]}{t}")
            yield cell(x, STRIP + ROW + 4, sequence, f"h{NAMES[sequence]}")
            x += CELL
        yield words(x - CELL * len(sequences) / 2, STRIP + 2 * ROW + 18, f"step {t}", anchor="middle")
        x += GAP


def drawn():
    """The text of the figure."""
    batch = lodkit.LoDTensor(np.repeat(np.arange(len(LENGTHS)), LENGTHS), [LENGTHS])
    table = lodkit.lod_rank_table(batch)
    array = lodkit.lod_tensor_to_array(batch, table)
    right, bottom = LEFT + (max(LENGTHS) + 6) * CELL, TOP + len(LENGTHS) * ROW
    width = LEFT + sum(LENGTHS) * CELL + max(LENGTHS) * GAP + LEFT
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {STRIP + 80}" width="{width}">']
    parts += ['<rect width="100%" height="100%" fill="#fff"/><g font-family="sans-serif" font-size="11">']
    parts += rows(LEFT, "the batch; dashed: what padding would add", range(len(LENGTHS)), padded=True)
    parts += rows(right, "longest first: a column is a step", table.index.tolist(), padded=False)
    for t, sequences in enumerate(array):
        x = right + t * CELL
        parts += [words(x + CELL / 2, bottom + 12, len(sequences), anchor="middle")]
        parts += [f'<path d="M{x} {TOP - 8}V{bottom}" stroke="#444" stroke-dasharray="1 3"/>'] if t else []
    parts += [words(right + len(array) * CELL + 8, bottom + 12, "run"), *steps(array), "</g></svg>"]
    return "\n".join(parts) + "\n"


GENERATED = {FIGURE: drawn}

if __name__ == "__main__":
    for file, text in GENERATED.items():
        file.write_text(text())
