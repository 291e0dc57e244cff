"""The picture of a tape in Jupyter: calls in layers, from what they read above to what they make below."""

from __future__ import annotations

from html import escape

from ..base.markup import STROKE, box, details, svg, title
from .calls import SHOWN, named_calls, text

_LETTER, _GAP, _LINE, _HEIGHT, _ROW = 6.7, 18, 14, 34, 62  # widths and heights in pixels


class _Node:
    """A call, a variable that no call made, or a place that a line passes on its way past a layer."""

    __slots__ = ("call", "layer", "lines", "parents", "x")

    def __init__(self, layer, lines=(), parents=(), call=False):
        self.layer, self.lines, self.parents, self.call, self.x = layer, lines, parents, call, 0.0

    @property
    def width(self):
        return max((len(line) for line in self.lines), default=0) * _LETTER + 14 if self.lines else 4

    @property
    def top(self):
        return 4 + self.layer * _ROW


def html(tape, is_open):
    """Draw the calls, and list them."""
    count, calls = len(tape._calls), tape._calls[:SHOWN]
    facts = [f"{count} call{'s' * (count != 1)}", *(["open"] if is_open else [])]
    if count > len(calls):
        facts.append(f"the first {len(calls)} are drawn")
    picture = _picture(*named_calls(calls)) if calls else ""
    return box(title("Tape", *facts), picture, details("calls", text(tape, is_open)) if calls else "")


def _nodes(steps, variables):
    """Nodes of calls and of the variables that they start from; the latter stand right above their first reader."""
    makers = {}
    nodes, starts = [], {}
    for step in steps:
        reads = [name for name in dict.fromkeys(step.reads) if name in variables]
        layer = 1 + max((makers[name].layer for name in reads if name in makers), default=0)
        call = _Node(layer, (step.name, " ".join(variables[name] for name in step.makes)), call=True)
        for name in reads:
            if name not in makers:
                starts[name] = makers[name] = _Node(layer - 1, (name, variables[name]))
        call.parents = [makers[name] for name in reads]
        makers.update((name, call) for name in step.makes)
        nodes.append(call)
    return [*starts.values(), *nodes]


def _layers(nodes):
    """Layers of nodes in which every line leads to the next layer, in an order that crosses few lines."""
    layers = [[] for _ in range(1 + max(node.layer for node in nodes))]
    for node in nodes:
        layers[node.layer].append(node)
    passing = {}
    for node in nodes:
        for i, parent in enumerate(node.parents):
            for layer in range(parent.layer + 1, node.layer):
                key = id(node.parents[i]), layer
                if key not in passing:
                    passing[key] = _Node(layer, (), [node.parents[i]])
                    layers[layer].append(passing[key])
                node.parents[i] = passing[key]
    return layers


def _place(layers):
    """Give every node an x: each layer in the order of what it reads, in the middle of the widest."""
    for layer in layers:
        layer.sort(key=lambda node: sum(p.x for p in node.parents) / len(node.parents) if node.parents else 0)
        x = 0.0
        for node in layer:
            node.x = x + node.width / 2
            x += node.width + _GAP
    widths = [layer[-1].x + layer[-1].width / 2 if layer else 0 for layer in layers]
    for layer, width in zip(layers, widths, strict=True):
        for node in layer:
            node.x += 4 + (max(widths) - width) / 2
    return max(widths) + 8


def _picture(steps, variables):
    nodes = _nodes(steps, variables)
    starts = [node.lines[0] for node in nodes if not node.call]
    layers = _layers(nodes)
    width = _place(layers)
    lines, parts = [], []
    for node in (node for layer in layers for node in layer):
        x, y = round(node.x), node.top
        for parent in node.parents:
            a, b = round(parent.x), parent.top + _HEIGHT
            lines.append(f"M{a} {b}C{a} {b + 14} {x} {y - 14} {x} {y}")
        if not node.lines:
            lines.append(f"M{x} {y}v{_HEIGHT}")
            continue
        if node.call:
            half = round(node.width / 2)
            parts.append(f'<rect x="{x - half}" y="{y}" width="{2 * half}" height="{_HEIGHT}" rx="5" {STROKE}/>')
        heading, below = node.lines
        parts.append(f'<text x="{x}" y="{y + _LINE}" font-weight="bold">{escape(heading)}</text>')
        parts.append(f'<text x="{x}" y="{y + 2 * _LINE}">{escape(below)}</text>')
    said = f"Graph of {len(steps)} calls: {', '.join(dict.fromkeys(s.name for s in steps))}; of {', '.join(starts)}"
    path = f'<path d="{"".join(lines)}" {STROKE} stroke-opacity=".5"/>'
    return svg(said, round(width), (len(layers) - 1) * _ROW + _HEIGHT + 8, path + "".join(parts))
