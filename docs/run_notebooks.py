"""Run the notebooks of docs/notebooks and keep what they show: ``python docs/run_notebooks.py [NAME ...]``.

It needs ``pip install -e ".[notebooks]"``. Kept are the outputs, without times and places of this machine; the text
that stands for a picture, for screen readers; and a digest of the code that ran, by which a test tells that they belong
to it.
"""

from __future__ import annotations

import hashlib
import json
import pathlib
import re
import sys
import tempfile
import time

import lodkit.registry.explanation

NOTEBOOKS = pathlib.Path(__file__).parent / "notebooks"
ENTRY = re.compile(r"\b[0-9a-f]{40}\.nbc")  # of the cache of compiled code: named by the CPU, too
PICTURES = ("image/png", "image/svg+xml")


def digest(notebook):
    """Digest of the code of a notebook (a dictionary, as JSON holds it)."""
    code = ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]
    return hashlib.sha256(json.dumps(code).encode()).hexdigest()[:16]


def executed(file, checks=(), timeout=60):
    """Run a notebook in a kernel and an empty folder of its own; return it with its outputs.

    Parameters
    ----------
    file : path
    checks : sequence of str
        Statements to run in the kernel at the end, in cells that are not returned.
    timeout : float
        Seconds for each cell.

    Raises
    ------
    nbclient.exceptions.CellExecutionError
        A cell, or a check, raised.
    """
    import nbclient
    import nbformat

    notebook = nbformat.read(file, as_version=4)
    count = len(notebook.cells)
    notebook.cells += [nbformat.v4.new_code_cell(check) for check in checks]
    with tempfile.TemporaryDirectory() as folder:
        client = nbclient.NotebookClient(notebook, timeout=timeout, kernel_name="python3", record_timing=False)
        client.resources = {"metadata": {"path": folder}}
        client.coalesce_streams = True
        client.extra_arguments = ["--log-level=40"]  # no word on encryption between processes of one machine
        client.execute()
    del notebook.cells[count:]
    return notebook


def tidy(notebook):
    """Describe the pictures, and keep nothing of the machine but what cells print, its cache under the usual name."""
    cache = lodkit.registry.explanation.cache_place() or "~/.cache/lodkit"
    for cell in notebook.cells:
        told = cell.metadata.get("mystnb", {}).get("image", {}).get("alt")
        for output in cell.get("outputs", ()):
            for kind in {"text/plain", "text/html"} & set(output.get("data", {})):
                output.data[kind] = ENTRY.sub("ENTRY.nbc", output.data[kind].replace(cache, "~/.cache/lodkit"))
            for kind in PICTURES:
                if kind in output.get("data", {}):
                    told = output.metadata.get(kind, {}).get("alt", told)
                    output.metadata = {kind: {"alt": told}}
                    cell.metadata["mystnb"] = {"image": {"alt": told}}
    notebook.metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python", "pygments_lexer": "ipython3"},
        "lodkit": {"digest": digest(notebook)},
    }
    return notebook


def main(names):
    import nbformat

    for file in sorted(NOTEBOOKS.glob("*.ipynb")):
        if not names or file.stem in names:
            start = time.perf_counter()
            nbformat.write(tidy(executed(file)), file)
            print(f"{file.stem}: {time.perf_counter() - start:.0f} s, {file.stat().st_size / 1000:.0f} kB", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
