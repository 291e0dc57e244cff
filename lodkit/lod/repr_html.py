"""Jupyter views of LoDTensor and SelectedRows: facts, a picture of bars, the first values.

Static HTML and SVG below 10 kB in the notebook's colours, without scripts.
"""

from __future__ import annotations

from html import escape

import numpy as np

from ..arrays import to_device
from ..base.markup import STROKE, box, details, svg, table, title
from .repr_text import amount, check_values, first_sequences, format_lengths, headline, selected_rows_text, summary

_ITEMS, _SPANS, _LEVELS = 60, 24, 4  # drawn: bars; sequences per level; levels
_MAX_TABLE_LEVELS = 6
_LINE, _BAR = 18, 22  # heights of a line of lengths and of the bars
_CELLS, _CELL_COLUMNS, _CELL_TEXT = 24, 4, 7  # rows whose values are shown; numbers of a row; characters of a number
_CELL, _CHARACTER = 17, 6.7  # height of a cell, width of a character


def html(t):
    """Render a LoDTensor: facts, picture, lengths per level, first sequences."""
    check_values(t)
    facts = headline(t) if t.values is not None else ["structure without values", f"lod_level={t.lod_level}"]
    return box(
        title("LoDTensor", *facts),
        picture(t),
        _table(t),
        "" if t.values is None else details("first sequences", "\n".join(first_sequences(t))),
    )


def selected_rows_html(s):
    """Render a SelectedRows: its rows within the table, each counted once, and the first values."""
    count, rows = len(s._rows), to_device(s._rows, "cpu")
    distinct = count if s.is_merged else len(np.unique(rows))
    dense = s.height * (s.value.nbytes // count) if count else 0
    size = f"{amount(s.value.nbytes)} instead of {amount(dense)}"
    entries = [f"{count} entries"] if count != distinct else []
    facts = [f"{distinct} of {s.height} rows", *entries, str(s.value.dtype).removeprefix("torch."), size]
    places = np.unique(np.minimum(rows * (300 / max(s.height, 1)), 299).astype(int)).tolist()
    ticks = "".join(f"M{x + 1} 1v14" for x in places)
    said = f"Places of the rows in the table: {distinct} of {s.height}"
    strip = svg(said, 302, 16, f'<path d="{ticks}M.5 .5h301v15h-301z" {STROKE}/>')
    return box(title("SelectedRows", *facts), strip, details("values", selected_rows_text(s)))


class _Layout:
    """Positions of the bars and spans of the sequences of a LoDTensor."""

    def __init__(self, t, step):
        self.levels, self.step = t._lod[-_LEVELS:], step
        self.x, self.items, self.full = 4, [], False
        self.spans: list[list[tuple[int, int, int]]] = [[] for _ in self.levels]
        for i in range(len(self.levels[0]) - 1 if self.levels else len(t)):
            self.part(0, i)
            if self.full:
                break

    def part(self, level, i):
        """Lay out sequence ``i`` of a level; below the innermost, row ``i``."""
        if level == len(self.levels):
            self.full |= len(self.items) >= _ITEMS
            if not self.full:
                self.items.append(self.x)
                self.x += self.step
            return
        self.full |= len(self.spans[level]) >= _SPANS
        if self.full:
            return
        begin, first, stop = self.x, int(self.levels[level][i]), int(self.levels[level][i + 1])
        for j in range(first, stop):
            self.part(level + 1, j)
            if self.full:
                break
        self.x = max(self.x, begin + 8)
        self.spans[level].append((begin, self.x, stop - first))
        self.x += 8


def picture(t):
    """Draw the rows under the lengths of each level: the values of few small rows, else bars, or boxes for images."""
    texts = _texts_of(t)
    boxes, columns = len(t.shape) > 2, len(texts[0]) if texts else 0
    cell = round(8 + _CHARACTER * max((len(text) for row in texts for text in row), default=0))
    layout = _Layout(t, cell if texts else 14 if boxes else 6)
    parts: list[str] = []
    y = 0
    for spans in layout.spans:
        parts.extend(f'<text x="{(a + b) // 2}" y="{y + 11}">{n}</text>' for a, b, n in spans)
        lines = "".join(f"M{a} {y + 15}H{b - 4}" for a, b, n in spans)
        parts.append(f'<path d="{lines}" {STROKE} stroke-opacity=".4"/>')
        y += _LINE
    for x, row in zip(layout.items, texts, strict=False):
        parts.extend(
            f'<text x="{x + cell / 2:g}" y="{y + 16 + k * _CELL}">{escape(text)}</text>' for k, text in enumerate(row)
        )
    shape = f"h{cell}v{columns * _CELL}h-{cell}z" if texts else "v10h10v-10z" if boxes else f"v{_BAR - 6}"
    parts.append('<path d="' + "".join(f"M{x} {y + 4}{shape}" for x in layout.items) + f'" {STROKE}/>')
    if layout.full:
        parts.append(f'<text x="{layout.x + 8}" y="{y + 14}">…</text>')
    return svg(_describe_picture(t, layout.full), layout.x + 24, y + max(_BAR, columns * _CELL + 8), "".join(parts))


def _texts_of(t):
    """The numbers of every row as text, where they are few and short; else nothing."""
    values = t.values
    small = values is not None and 0 < len(values) <= _CELLS
    if not small or len(t.shape) > 2 or (len(t.shape) == 2 and not 0 < t.shape[1] <= _CELL_COLUMNS):
        return []
    rows = np.asarray(to_device(values, "cpu")).reshape(len(values), -1).tolist()
    texts = [[f"{x:.4g}" if isinstance(x, float) else str(x) for x in row] for row in rows]
    return texts if all(len(text) <= _CELL_TEXT for row in texts for text in row) else []


def _describe_picture(t, cut):
    """What the picture shows, in words."""
    if not t.lod_level:
        return f"{len(t)} rows"
    lengths = "; ".join(
        f"level {level}: {format_lengths(t.lengths(level))}" for level in range(min(t.lod_level, _MAX_TABLE_LEVELS))
    )
    return f"{len(t)} sequences{', the first of them drawn' if cut else ''}; lengths at {lengths}"


def _table(t):
    """Render one line per level: number of sequences, lengths, empty ones, histogram."""
    rows = [
        (level, len(lengths), summary(lengths), int((lengths == 0).sum()), _histogram(lengths))
        for level, lengths in ((level, t.lengths(level)) for level in range(min(t.lod_level, _MAX_TABLE_LEVELS)))
    ]
    return table("", ("level", "sequences", "lengths", "empty", "histogram"), rows)


def _histogram(lengths):
    if not len(lengths):
        return ""
    # Floating numbers tell large lengths apart by their differences only.
    low = lengths.min()
    most = int(lengths.max() - low) + 1
    counts, _ = np.histogram(lengths - low, bins=min(12, most), range=(0, most))
    heights = np.ceil(counts * 16 / counts.max()).astype(int).tolist()
    bars = "".join(f"M{4 + 7 * i} 17v{-height}" for i, height in enumerate(heights) if height)
    return svg(f"Histogram of lengths: {summary(lengths)}", 90, 18, f'<path d="{bars}" {STROKE} stroke-width="5"/>')
