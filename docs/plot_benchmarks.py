"""Draw the speedups of benchmarks.json by family, a figure for each CPU: the site's build does.

python docs/plot_benchmarks.py
"""

from __future__ import annotations

import math

from render_benchmarks import PAGES, by_family, cpus, gpus, page_name, speedup, speedups

COLORS = {1: "#0072b2", 2: "#d55e00"}
NAMES = [page_name(machine) for machine in (*cpus(), *gpus())]


def draw(name):
    """Draw the figure of the CPU whose page has this name; return the file's name, None for other pages."""
    found = {page_name(cpu): rows for cpu, rows in cpus().items()}
    if name not in found:
        return None
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "lodkit"
    from matplotlib import pyplot

    families = {title: rows for title, rows in by_family(found[name]).items() if any(map(speedup, rows))}
    figure, axes = pyplot.subplots(figsize=(7, 0.5 + 0.42 * len(families)), layout="constrained")
    for place, rows in enumerate(families.values()):
        for threads, color in COLORS.items():
            at, times = place + 0.18 * (2 * threads - 3), speedups(rows, threads)
            axes.plot(times, [at] * len(times), "o", color=color, alpha=0.35, markersize=4, markeredgewidth=0)
            if times:
                mean = math.exp(sum(map(math.log, times)) / len(times))
                label = f"{threads} thread{'s' * (threads > 1)}" if place == 0 else None
                axes.plot([mean], [at], "|", color=color, markersize=13, markeredgewidth=2.5, label=label)
    axes.axvline(1, color="black", linewidth=0.8)
    axes.set_xscale("log")
    ticks = [0.25, 0.5, 1, 2, 4, 8, 16, 32]
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.minorticks_off()
    axes.set_yticks(range(len(families)), [*families])
    axes.invert_yaxis()
    axes.set_xlabel("speedup over the best peer")
    figure.legend(loc="outside upper right", ncols=2)
    file = PAGES / f"{name}.svg"
    figure.savefig(file, metadata={"Date": None})
    pyplot.close(figure)
    return file.name


if __name__ == "__main__":
    for name in NAMES:
        draw(name)
