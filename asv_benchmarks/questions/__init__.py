"""Questions that people ask about cost, one benchmark each, for ``asv run``; docs/asv.md says how to read the pages.

A file is a group of the pages, ``question`` the title of a benchmark there. Lower is better everywhere. Setup compiles
what is measured. asv forks a process for every parameter from one that has imported this: Numba is there then.
"""

import lodkit.jit  # noqa: F401


def question(text):
    """Give a benchmark its title in the pages of asv."""

    def entitle(benchmark):
        benchmark.pretty_name = text
        return benchmark

    return entitle
