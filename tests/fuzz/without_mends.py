"""``python -m tests.fuzz.without_mends``: does the fuzzer find the defects that it was made for?

Each check that keeps sizes and structure true is taken out of a copy of the package, alone, by a change of its
source, and the fuzzer must find the harm, with the seed and in the number of cases that CI runs: a crash, a result that
was not written, or an array that was. Obscure errors and hangs, which a busy machine makes too, do not count. A change
whose source is no longer there fails, too.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).parents[2]
HARM = "crash|unwritten|changed|gap written|wrong size"  # kinds of findings

TENSORS = "memory of tensors, whose storages are freed"
#: What is taken out -> file, source, and what replaces it; and so on, where one check stands behind another.
CHANGES = {
    "sums of sizes that Python computes": (
        "arrays/sizes.py",
        "    if size > MAX_INT64:\n        raise size_error(size, what, verb)\n    return size",
        "    return (size + 2**63) % 2**64 - 2**63",
    ),
    "sums of lengths": ("lod/offsets.py", "    return signs >= 0\n", "    return True\n"),
    "sums of lengths of a selection": (
        "lod/offsets.py",
        "    return out[k] if signs >= 0 else signs\n",
        "    return 0\n",
    ),
    "offsets that ascend": ("lod/levels.py", "    if i:\n", "    if False:\n"),
    "levels that fit each other, given as lengths": (
        "lod/levels.py",
        "if levels and levels[-1][-1] != len(numbers):",
        "if False:",
    ),
    "offsets and rows handed out as copies": (
        "lod/levels.py",
        "    data = array.tobytes()\n    return functools.partial(",
        "    return lambda: array\n    return functools.partial(",
    ),
    "rows that fit the structure, after an array was resized": (
        "registry/calls.py",
        'tests.append(f"(not lod{i} or lod{i}[-1].item(-1) == {rows})")',
        'tests.append("True")',
    ),
    "rows of a sharded table that are as many as when its batch was looked up": (
        *("distributed/rule.py", "if not isinstance(array, np.ndarray) or array.shape != expected", "if False"),
        *(
            "distributed/table.py",
            "SelectedRows(rows, grad, len",
            "SelectedRows._wrap(rows.astype(np.int64), grad, len",
        ),
    ),
    "ids of a checkpoint's rows": (
        *("distributed/checkpoint.py", "checked_ids(ids, shape[0])", "np.array(ids, np.int64)"),
        *("distributed/checkpoint.py", "        if filled != len(made):", "        if False:"),
    ),
    TENSORS: ("arrays/tensors.py", "    if needed > have:\n", "    if False:\n"),
}
#: What the fuzzer is told for some of them.
OPTIONS = {TENSORS: ["--load", "tests.fuzz.tensors", "--only", "setting:Tensor"]}


def changed_copy(folder, *changes):
    """Put a copy of the package, changed in a few places, and the tests into a folder."""
    shutil.copytree(ROOT / "lodkit", folder / "lodkit", ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "tests").symlink_to(ROOT / "tests")
    for file, source, replacement in zip(changes[::3], changes[1::3], changes[2::3], strict=True):
        text = (folder / "lodkit" / file).read_text()
        if text.count(source) != 1:
            sys.exit(f"lodkit/{file} has {text.count(source)} times, not once:\n{source}")
        (folder / "lodkit" / file).write_text(text.replace(source, replacement))


def search(folder, given, more):
    """Run the fuzzer with the copy of the package until its first finding."""
    options = ["--seed", given.seed, "--cases", given.cases, "--jobs", given.jobs, "--lane", "compiled"]
    command = [sys.executable, "-m", "tests.fuzz", *map(str, options), *more, "--first", "--kinds", HARM]
    env = {**os.environ, "PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(command, cwd=folder, env=env, check=False, capture_output=True, text=True)


def main():
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.without_mends", description=__doc__.split("\n")[0])
    parser.add_argument("--seed", type=int, default=1, help="which cases (default 1)")
    parser.add_argument("--cases", type=int, default=34_000, help="the most cases (default 34000)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="worker processes (default: one a core)")
    parser.add_argument("--mend", default="", help="regular expression of what is taken out")
    given, missed = parser.parse_args(), []
    wanted = {what: change for what, change in CHANGES.items() if re.search(given.mend, what)}
    for what, change in wanted.items():
        with tempfile.TemporaryDirectory() as folder:
            changed_copy(pathlib.Path(folder), *change)
            started = time.monotonic()
            found = search(pathlib.Path(folder), given, OPTIONS.get(what, []))
        lines = [line for line in found.stdout.splitlines() if line]
        print(f"without {what}: {'; '.join(lines[:2])[:250]} ({time.monotonic() - started:.0f} s)", flush=True)
        if found.returncode != 1:
            missed.append(what)
            print(found.stdout[-2000:], found.stderr[-2000:])
    print(f"not found: {', '.join(missed)}" if missed else f"all {len(wanted)} were found")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
