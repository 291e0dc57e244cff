"""Run all that concerns one operator: ``python -m tests.check NAME``.

First its docstring's examples and its tests uncompiled, which shows a mistake in seconds; then its tests compiled, with
PyTorch's where that is installed; then its CUDA kernels in the emulator and as machine code, where numba-cuda is; then
whether a file, a sample, a benchmark or a page is missing, or a name is refused. NAME may be a published name too:
``SparseAdagrad`` checks ``adagrad``. Further arguments go to pytest: ``python -m tests.check sgd -x``.
"""

from __future__ import annotations

import contextlib
import difflib
import doctest
import importlib.util
import inspect
import os
import pathlib
import re
import subprocess
import sys
import time

TESTS = pathlib.Path(__file__).parent
#: Steps in their order: the heading, and options of pytest. One process without workers is the first to show a mistake.
STEPS = {
    "uncompiled": ("definitions and kernels as plain Python", ["-n", "0", "-m", "not jit"]),
    "compiled": ("compiled for this CPU, with threads", []),
    "cuda": ("CUDA kernels, emulated, and compiled for two generations of GPUs", []),
    "layout": ("files, names, samples, benchmarks and pages of all operators", []),
}
#: Tests of all operators at once, which find what was forgotten.
LAYOUT = ("test_structure.py", "test_layers.py", "test_names.py", "test_docs.py")


def main(arguments):
    """Check one operator; returns the exit status."""
    if not arguments or arguments[0].startswith("-"):
        print(__doc__)
        return 2
    os.environ["NUMBA_DISABLE_JIT"] = "1"  # of what runs here: examples, and published names to see what they run
    sys.path[:0] = [str(TESTS.parent), str(TESTS)]
    published = operators_of_published_names()
    operators = find_operators(arguments[0], published)
    names = {*operators, *(name for name, run in published.items() if run & operators)}
    started = time.perf_counter()
    print(f"== {', '.join(sorted(operators))}: examples of the docstring", flush=True)
    failed = "the examples" if run_examples(operators) else None
    for step in STEPS:
        failed = failed or run_step(step, names, arguments[1:])
    print(f"== {arguments[0]}: {f'failed: {failed}' if failed else 'passed'} ({time.perf_counter() - started:.0f} s)")
    return 1 if failed else 0


def operators_of_published_names():
    """For each name of Caffe2 and Paddle, the operators that its sample runs."""
    from calls import call_published, record_calls

    import lodkit

    found, ran = {}, set()
    record_calls(setattr, ran.add)
    for name in [*lodkit.caffe2.OPERATORS, *lodkit.paddle.TYPES]:
        ran.clear()
        with contextlib.suppress(Exception):  # a call that fails has run its operator before
            call_published(name)
        found[name] = {*ran}
    return found


def find_operators(name, published):
    """The operators that a name stands for, with their gradients; an unknown name ends the program."""
    import lodkit

    found = {name} if name in lodkit.OPS else published.get(name)
    if not found:
        near = difflib.get_close_matches(name, [*lodkit.OPS, *published], n=5, cutoff=0.5)
        sys.exit(f"no operator or published name {name!r}" + (f"; the nearest: {', '.join(near)}" if near else ""))
    return found | {gradient for each in found if (gradient := f"{each}_grad") in lodkit.OPS}


def run_examples(operators):
    """Run what the docstrings of operators show; returns the number of failures."""
    import lodkit

    finder, runner = doctest.DocTestFinder(recurse=False), doctest.DocTestRunner()
    for name in sorted(operators):
        definition = lodkit.OPS[name].definition
        for test in finder.find(definition, name, globs=dict(vars(inspect.getmodule(definition)))):
            runner.run(test)
    return runner.failures


def run_step(step, names, options):
    """Run one step's tests in a process of its own. Returns the step where tests fail, else None."""
    heading, given = STEPS[step]
    if step == "cuda" and not all(map(importlib.util.find_spec, ("numba_cuda", "greenlet", "array_api_compat"))):
        print("== cuda: left out, pip install -e '.[test-cuda]' installs the emulator's libraries")
        return None
    print(f"== {step}: {heading}", flush=True)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "tests.check", "--step", step]
    command += ["-r", "fE", *given, "--names", ",".join(sorted(names)), *options, *files_to_collect(names, step)]
    compiled = step in ("compiled", "cuda")
    env = {**os.environ, "NUMBA_DISABLE_JIT": "0" if compiled else "1", "LODKIT_TEST_DEVICES": "cpu"}
    status = subprocess.run(command, cwd=TESTS.parent, env=env, check=False).returncode
    return step if status not in (0, NO_TESTS) else None


def files_to_collect(names, step):
    """Files of tests of all operators or published names, or that contain one of the names: all would take longer."""
    if step == "layout":
        return [f"tests/{name}" for name in LAYOUT]
    lists = re.compile(r"\b(OPS|SAMPLES|CAFFE2|PADDLE|OPERATORS|TYPES)\b")
    with_torch = step == "compiled" and importlib.util.find_spec("torch")
    files = [*TESTS.glob("*.py"), *(TESTS.glob("interop/test_t*.py") if with_torch else ())]
    texts = {file: file.read_text() for file in files}
    asked = {file.stem for file, text in texts.items() if lists.search(text) or any(name in text for name in names)}
    imported = {file: set(re.findall(r"^(?:from|import) (\w+)", text, re.M)) for file, text in texts.items()}
    found = [file for file in texts if file.stem.startswith("test_") and asked & {file.stem, *imported[file]}]
    return [f"tests/{file.relative_to(TESTS).as_posix()}" for file in found]


NO_TESTS = 5  # pytest's exit status where no test is selected


def pytest_addoption(parser):
    """As a plugin of pytest, with the names and the step to select tests by."""
    parser.addoption("--names", default="")
    parser.addoption("--step", choices=STEPS)


def pytest_collection_modifyitems(config, items):
    """Keep the tests of the names."""
    import lodkit

    names, step = set(config.getoption("--names").split(",")), config.getoption("--step")
    families = {lodkit.OPS[name].family for name in names if name in lodkit.OPS}
    kept = [item for item in items if is_selected(item, names, families, step)]
    config.hook.pytest_deselected(items=[item for item in items if item not in set(kept)])
    items[:] = kept


def is_selected(item, names, families, step):
    """Whether a test belongs to a step: of one of the names, of a family's file, or of all operators at once."""
    params = getattr(getattr(item, "callspec", None), "params", {})
    if step == "layout":
        return not params
    if item.path.stem == "test_cuda_compile":
        return step == "cuda"
    family = item.path.stem.removeprefix("test_").removeprefix("cuda_")
    on_gpu = any(word in item.nodeid for word in ("cuda", "emulated"))
    return (step == "cuda") == on_gpu and (family in families or params.get("name") in names)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
