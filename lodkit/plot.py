"""Pictures by matplotlib: lengths of sequences, structure of a batch, rows of a sparse gradient.

``pip install "lodkit[plot]"``. Colours are readable on white and on black; backgrounds are transparent. The label of
the axes (``ax.get_label()``) describes the picture; a notebook takes it as the figure's alternative text.
"""

from __future__ import annotations

import functools
import itertools
import typing

import numpy as np

from .arrays import to_device
from .arrays.types import Integer
from .base.tracebacks import surface
from .lod import LoDTensor, SelectedRows
from .lod.repr_text import amount, format_lengths, headline, summary

if typing.TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["lengths", "rows", "structure"]

#: Text; sequences, in turns: of equal contrast to a white and a nearly black page.
INK, COLORS = "#787878", ("#3f83c8", "#c7741a")
_BINS = 50  # bars of a histogram
_ROWS = 48  # rows of a structure that are drawn
_NUMBERED = 24  # as many rows are shown with their numbers


@surface
def lengths(t: LoDTensor, *, level: Integer = -1, ax: Axes | None = None) -> Axes:
    """Draw how long the sequences of a level are: a histogram of ``t.lengths(level)``.

    Parameters
    ----------
    t : LoDTensor
    level : int
        The innermost by default. Lengths count sequences of the next level; at the innermost, rows.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    ImportError
        matplotlib is not installed.
    LoDLevelError
        There is no such level.

    Examples
    --------
    >>> words = LoDTensor(np.arange(6), [[2, 1], [3, 1, 2]])
    >>> lengths(words).get_title()  # doctest: +SKIP
    '3 sequences, level 1: min 1, median 2, max 3'
    """
    found = _check(t, LoDTensor, "LoDTensor.from_nested(x)").lengths(level)
    level = int(level) % t.lod_level
    ax = _axes(ax, 2.4)
    low = int(found.min()) if len(found) else 0
    step = -(-(int(found.max(initial=0)) - low + 1) // _BINS)  # whole: bars of 2 lengths beside bars of 3 would mislead
    counts = np.bincount((found - low) // step)
    ax.bar(low + step * np.arange(len(counts)) + (step - 1) / 2, counts, 0.9 * step, color=COLORS[0])
    ax.set_xlabel("length, in rows" if level == t.lod_level - 1 else f"length, in sequences of level {level + 1}")
    ax.set_ylabel("sequences")
    _count(ax.xaxis, ax.yaxis)
    if not len(found):
        ax.set(xlim=(-0.5, 0.5), ylim=(0, 1))
    title = f"{len(found):,} sequences, level {level}: {summary(found)}"
    return _set_title(ax, title, f"Histogram of lengths. {title}; empty: {int((found == 0).sum()):,}.")


@surface
def structure(t: LoDTensor, *, ax: Axes | None = None) -> Axes:
    """Draw a batch: below each level the one that it consists of, the rows at the bottom, to scale.

    Parameters
    ----------
    t : LoDTensor
        The first 48 rows are drawn. Numbers are written into rows, where they are few and the rows are numbers.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    ImportError
        matplotlib is not installed.

    Examples
    --------
    >>> words = LoDTensor(np.arange(6), [[2, 1], [3, 1, 2]])
    >>> structure(words).get_title()  # doctest: +SKIP
    '2 sequences, 6 int64, 2 levels'
    """
    depth = _check(t, LoDTensor, "LoDTensor.from_nested(x)").lod_level
    ax = _axes(ax, 0.9 + 0.45 * (depth + 1))
    count, ink = t.shape[0], ax.title.get_color()
    for level in range(depth):
        starts = t.offsets(level, absolute=True)[: 2 * _ROWS].tolist()
        turn = itertools.cycle(COLORS)
        for (start, stop), length in zip(itertools.pairwise(starts), t.lengths(level).tolist(), strict=False):
            if start <= _ROWS:
                _box(
                    ax,
                    start,
                    min(stop, _ROWS + 1),
                    depth - level,
                    next(turn) if stop > start else ink,
                    str(length),
                    ink,
                )
    drawn = min(count, _ROWS + 1)
    texts = _numbers(t) if count <= _NUMBERED else [""] * drawn
    for i in range(drawn):
        _box(ax, i, i + 1, 0, "none" if depth else COLORS[0], texts[i], ink)
    names = [f"level {level}" for level in range(depth)]
    ax.set_yticks(range(depth, -1, -1), [*names, "rows"])
    ax.set(xlim=(-0.3, max(min(count, _ROWS), 1) + 0.3), ylim=(-0.5, depth + 0.5))
    ax.set_xlabel("row" if count <= _ROWS else f"row; the first {_ROWS} of {count:,}")
    _count(ax.xaxis)
    ax.spines[:].set_visible(False)
    ax.tick_params(left=False)
    kind = headline(t)[1] if t.values is not None else f"{count} rows, no values"
    title = f"{len(t):,} sequences, {kind}, {depth} level{'' if depth == 1 else 's'}"
    told = [
        f"level {level} has {len(t.lengths(level)):,} sequences, lengths {format_lengths(t.lengths(level))}"
        for level in range(depth)
    ]
    return _set_title(ax, title, f"Structure of a batch, outermost level on top. {'; '.join([title, *told])}.")


@surface
def rows(s: SelectedRows, *, ax: Axes | None = None) -> Axes:
    """Draw which rows of a table a gradient lists, and how often.

    Parameters
    ----------
    s : SelectedRows
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    ImportError
        matplotlib is not installed.

    Examples
    --------
    >>> rows(SelectedRows([1, 3, 1], [[1.], [2.], [3.]], height=4)).get_title()  # doctest: +SKIP
    '3 entries for 2 of 4 rows: 24 B instead of 32 B'
    """
    _check(s, SelectedRows, "SelectedRows(rows, value, height)")
    ax = _axes(ax, 1.8)
    found = to_device(s.rows, "cpu")
    distinct, width = len(np.unique(found)), -(-s.height // (2 * _BINS)) or 1
    counts = np.bincount(found // width, minlength=1)
    ax.bar(width * np.arange(len(counts)) + (width - 1) / 2, counts, width=width, color=COLORS[0])
    ax.set_xlim(-0.5, max(s.height, 1) - 0.5)
    ax.set(xlabel=f"row of the table, {width:,} a bar" if width > 1 else "row of the table", ylabel="entries")
    _count(ax.xaxis, ax.yaxis)
    if not len(found):
        ax.set_ylim(0, 1)
    dense = s.height * (s.value.nbytes // len(found)) if len(found) else 0
    title = f"{len(found):,} entries for {distinct:,} of {s.height:,} rows"
    title += f": {amount(s.value.nbytes)} instead of {amount(dense)}" if dense else ""
    return _set_title(ax, title, f"Rows of a table that a sparse gradient lists. {title}.")


def _check(x, kind, remedy):
    if not isinstance(x, kind):
        raise TypeError(f"expected a {kind.__name__} to draw, got {type(x).__name__}; {remedy} makes one")
    return x


def _axes(ax, height):
    """The axes that were given, or those of a new figure, whose text is read on any page."""
    if ax is not None and not hasattr(ax, "set_xlabel"):
        raise TypeError(f"ax must be axes of matplotlib, got {type(ax).__name__}; leave it out for a new figure")
    if ax is not None:
        return ax
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise ImportError('lodkit.plot needs matplotlib: pip install "lodkit[plot]"') from error
    figure = pyplot.figure(figsize=(6.4, height), facecolor="none", layout="constrained")
    ax = figure.add_subplot(facecolor="none")
    ax.tick_params(colors=INK)
    ax.spines[:].set_color(INK)
    ax.spines[["top", "right"]].set_visible(False)
    for text in (ax.title, ax.xaxis.label, ax.yaxis.label):
        text.set_color(INK)
    figure._repr_mimebundle_ = functools.partial(_alternative_text, ax)
    return ax


def _count(*axes):
    """Let axes have whole numbers."""
    for axis in axes:
        if axis.get_scale() == "linear":
            axis.get_major_locator().set_params(integer=True)
            axis.set_major_formatter("{x:,.0f}")


def _set_title(ax, title, description):
    """Set the title, and what a screen reader says of the picture: the label of the axes."""
    ax.set_title(title, fontsize="medium")
    ax.set_label(description)
    return ax


def _alternative_text(ax, include=None, exclude=None):
    """Alternative text for notebooks, which ask a figure for this beside its picture."""
    return {}, {kind: {"alt": ax.get_label()} for kind in ("image/png", "image/svg+xml", "image/jpeg")}


def _box(ax, start, stop, y, color, text, ink):
    """Draw a sequence, or a row, with its length or number; an empty sequence is a line."""
    if stop == start:
        ax.plot([start, start], [y - 0.34, y + 0.34], color=color, linewidth=2)
        return
    edge = ink if color == "none" else "none"
    ax.bar((start + stop) / 2, 0.68, stop - start - 0.08, y - 0.34, color=color, edgecolor=edge, linewidth=0.8)
    inside = ink if color == "none" else "black"
    ax.text((start + stop) / 2, y, text, color=inside, ha="center", va="center", fontsize="small", clip_on=True)


def _numbers(t):
    """Numbers of the rows, short; nothing where rows are no numbers."""
    if t.values is None or len(t.shape) > 1 or not t.shape[0]:
        return [""] * t.shape[0]
    return [f"{x:.3g}" if isinstance(x, float) else str(x) for x in t.to("cpu").values.tolist()]
