"""The layout is a promise: the same file name in ops, cpu, cuda and the benchmarks, every operator whole."""

from __future__ import annotations

import ast
import importlib
import os
import pathlib
import re
import runpy
import subprocess
import sys

import pytest
from calls import call_published, record_calls
from samples import PADDLE, SAMPLES

import lodkit

PACKAGE = pathlib.Path(lodkit.__file__).parent
ROOT = pathlib.Path(__file__).parents[1]
FAMILIES = {op.family for op in lodkit.OPS.values()}


def names(folder):
    return {file.stem for file in folder.glob("[!_]*.py")}


def test_the_package_has_few_entries():
    """Whoever opens it sees every room, and what is no room, at one look."""
    entries = {path.name for path in PACKAGE.iterdir() if path.suffix in ("", ".py") and path.name != "__pycache__"}
    assert len(entries) <= 20, sorted(entries)


def test_files_are_named_after_families():
    kernels = PACKAGE / "kernels"
    assert names(PACKAGE / "ops") == FAMILIES, "each module of lodkit/ops declares operators, and none stands elsewhere"
    for folder in (kernels / "cpu", kernels / "cuda", ROOT / "tests" / "samples"):
        strange = sorted(names(folder) - FAMILIES)
        assert not strange, f"name these files of {folder} as the module of lodkit/ops that declares it: {strange}"


def test_every_family_has_a_benchmark():
    missing = sorted(FAMILIES - names(ROOT / "asv_benchmarks" / "benchmarks"))
    assert not missing, f"write a class that asv times in asv_benchmarks/benchmarks/X.py, X being {missing}"


def test_every_operator_has_samples_and_is_exported():
    missing = {name: lodkit.OPS[name].family for name in sorted({*lodkit.OPS} - {*SAMPLES})}
    assert not missing, f"these have no samples in the file of that name in tests/samples: {missing}"
    assert sorted({*SAMPLES} - {*lodkit.OPS}) == [], "these have samples, and are no operators"
    assert set(lodkit.OPS) == set(lodkit.ops.__all__)


@pytest.mark.parametrize("name", lodkit.OPS)
def test_every_operator_is_whole(name):
    op = lodkit.OPS[name]
    assert op.infer_function, f"{name} has no rule for infer: declare it like= an input, or write @{name}.infer_rule"
    assert op.__doc__, f"{name} has no docstring"
    op._load_all()
    cpu, cuda = ({kinds for device, kinds in op.kernels if device == where} for where in ("cpu", "cuda"))
    assert cpu, f"{name} has no CPU kernel"
    assert cpu == cuda, f"{name} has not the same kernels for cuda"
    for kernel in op.kernels.values():
        assert kernel.launch.__kwdefaults__ is None or set(op.defaults) <= set(kernel.launch.__kwdefaults__)


def test_every_differentiable_operator_links_its_gradient():
    for name in lodkit.OPS:
        if f"{name}_grad" in lodkit.OPS:
            rule = f"declare {name}_grad with gradient_of={name}, or write a rule, @{name}.gradient"
            assert lodkit.OPS[name].gradient_rule, rule


FENCES = {*PACKAGE.rglob("private_*.py")}
PUBLIC = r"""(?x) import\ numba\b(?!\.) | from\ numba\ import\ (?!cuda) | from\ numba\.extending\ import
    | from\ numba\.core\ import\ cgutils$"""
INTERNALS = r"""(?x) \._(cache|code|insert|rebuild|reduce|unique_ids|[gs]et_num_threads)\b | \bimport\ dis\b | \bdis\.
    | opname | magic_tuple | normalize_signature | has_dynamic_globals | can_cache | readonly= | targetoptions
    | gpu_data | row_stack | dispatcher\.get_current | register_jitable | FunctionIdentity"""


def test_internals_of_numba_stand_behind_fences():
    assert len(FENCES) == 3
    for file in {*PACKAGE.rglob("*.py")} - FENCES:
        for line in re.findall(r"^\s*((?:import|from) numba.*?)(?:\s*#.*)?$", file.read_text(), re.M):
            assert re.match(PUBLIC, line), f"{file}: {line}"
        assert not re.search(INTERNALS, file.read_text()), f"{file}: {re.search(INTERNALS, file.read_text())}"


#: Calls of NumPy's that add up or multiply values, not sizes, or sizes that do not wrap; each was read.
REVIEWED = {
    ("tape/array_functions.py", "np.cumprod(np.concatenate([ones, flat[..., :-1]], -1), -1)"),
    ("tape/array_functions.py", "np.cumprod(np.concatenate([ones, flat[..., :0:-1]], -1), -1)"),
    ("tape/array_functions.py", "np.cumsum(np.flip(grad, along), along)"),
    ("kernels/cpu/chunk_eval.py", "counts.sum(axis=0)"),  # of steps that are in memory
    ("kernels/cpu/ranges.py", "lengths.sum(axis=1)"),  # which lengths_to_offsets added up before
    ("kernels/cpu/sequence_attention.py", "np.cumsum(lengths * (lengths + ROW))"),  # float64
    ("ops/crf.py", "e[np.arange(len(y)), y].sum()"),
    ("ops/shared/reductions.py", "rows.prod(axis=0)"),
    ("ops/shared/updates.py", "np.prod(beta1 * (1 - 0.5 * 0.96 ** (steps * momentum_decay)))"),
}
SIZES = r"\b(lengths|counts|sizes|widths|offsets|starts|stops|ends|bounds|shapes?|heights?|len)\b"


class Additions(ast.NodeVisitor):
    """Calls of NumPy's sums of sizes, and of its products and running sums, outside the definitions of operators."""

    def __init__(self):
        self.found = []

    def visit_FunctionDef(self, node):
        if not any(getattr(getattr(d, "func", d), "id", None) == "op" for d in node.decorator_list):
            self.generic_visit(node)

    def visit_Call(self, node):
        name = getattr(node.func, "attr", None)
        text = ast.unparse(node) if name in ("cumsum", "cumprod", "prod", "sum") else "math."
        counts = any(isinstance(part, ast.Compare) for part in ast.walk(node))  # where something holds
        if not text.startswith(("math.", "on.")) and (name != "sum" or (re.search(SIZES, text) and not counts)):
            self.found.append(text)
        self.generic_visit(node)


def test_sizes_are_added_up_where_they_cannot_wrap():
    """By ``arrays.sizes`` and ``lengths_to_offsets``: NumPy's sums and products of int64 wrap without a word."""
    found = set()
    for file in PACKAGE.rglob("*.py"):
        additions = Additions()
        additions.visit(ast.parse(file.read_text()))
        found |= {(file.relative_to(PACKAGE).as_posix(), text) for text in additions.found}
    assert sorted(found - REVIEWED) == [], "use lodkit.arrays.sizes, or lodkit.lod.offsets.lengths_to_offsets"
    assert sorted(REVIEWED - found) == [], "no longer there"


#: Where a tensor has just been made, and no check is needed.
FRESH = {("arrays/cuda/libraries.py", "empty")}


def test_the_memory_of_tensors_is_reached_by_one_door():
    """``arrays/tensors.py`` looks whether the storage of a tensor is what it was; nobody else asks for its memory."""
    found = set()
    for file in {*PACKAGE.rglob("*.py")} - {PACKAGE / "arrays" / "tensors.py"}:
        for function in ast.walk(ast.parse(file.read_text())):
            if isinstance(function, ast.FunctionDef):
                asked = {n.attr for n in ast.walk(function) if isinstance(n, ast.Attribute)}
                if asked & {"numpy", "data_ptr", "untyped_storage", "__dlpack__"}:
                    found.add((file.relative_to(PACKAGE).as_posix(), function.name))
    assert found - FRESH == {("lod/exchange.py", "__dlpack__")}, "use lodkit.arrays.tensors"


def test_only_one_file_knows_numba_flags():
    for file in [*(PACKAGE / "kernels").rglob("*.py"), *(PACKAGE / "ops").rglob("*.py")]:
        assert not re.search(r"\bnumba\.njit|from numba import|import numba\b", file.read_text()), file


def test_definitions_import_no_numba():
    for file in (PACKAGE / "ops").rglob("*.py"):
        assert ".jit" not in file.read_text(), file


WARMUP = """
import lodkit
from calls import record_calls
ran, missing = set(), []
record_calls(setattr, ran.add)
for name, op in lodkit.OPS.items():
    ran.clear()
    for dtype in ("float16", "float32", "float64"):
        for call in op.warmup_calls(dtype):
            call()
    missing += [name] * (name not in ran)
print(*missing)
"""


def test_warmup_reaches_every_operator():
    """Uncompiled, which is quick: examples are there, gradients are reached from those of their forward operators."""
    env = {**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": os.pathsep.join([*sys.path])}
    done = subprocess.run([sys.executable, "-c", WARMUP], capture_output=True, text=True, check=False, env=env)
    assert done.returncode == 0, done.stderr
    assert not done.stdout.split(), f"give these an @X.example, which warmup compiles: {done.stdout}"


def lines_of_code(file):
    """Lines of a file without its docstrings."""
    text = file.read_text()
    told = 0
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node) is not None:
            told += node.body[0].end_lineno - node.body[0].lineno + 1
    return len(text.splitlines()) - told


def test_files_are_short():
    for file in [*PACKAGE.rglob("*.py"), *(ROOT / "tests").rglob("*.py")]:
        lines = len(file.read_text().splitlines())
        assert lines <= 320 or lines_of_code(file) <= 320, f"{file.name}: has a family split?"


def test_no_banner_divides_a_file():
    """A part that needs a heading is a file of its own."""
    for file in [*PACKAGE.rglob("*.py"), *(ROOT / "tests").rglob("*.py")]:
        assert not re.search(r"^ *#.*[-=#*]{4}", file.read_text(), re.M), file


#: Files under 40 lines that are neither an entry of a room nor a family's kernels. Nothing is added here.
SMALL = {
    "arrays/devices.py",
    "arrays/ids.py",
    "kernels/cpu/primitives/jitter.py",
    "kernels/cuda/primitives/jitter.py",
    "ops/shared/tables.py",
    "optim/rules.py",
    "optim/tables.py",
}


def test_no_file_is_a_fragment():
    """Under 40 lines belong into the file beside, or what they are part of."""
    small = set()
    for file in PACKAGE.rglob("*.py"):
        path = file.relative_to(PACKAGE)
        kernels = path.parts[0] == "kernels" and len(path.parts) == 3 and file.stem in FAMILIES
        if file.name != "__init__.py" and not kernels and len(file.read_text().splitlines()) < 40:
            small.add(path.as_posix())
    assert sorted(small - SMALL) == []


@pytest.fixture
def ran(monkeypatch):
    """Names of the operators that ran."""
    names = []
    record_calls(monkeypatch.setattr, names.append)
    return names


@pytest.mark.parametrize("name", lodkit.caffe2.OPERATORS)
def test_caffe2_names_run_operators(name, ran):
    call_published(name)
    assert ran


@pytest.mark.parametrize("name", lodkit.paddle.TYPES)
def test_paddle_types_run_operators(name, ran):
    inputs, attrs = PADDLE[name]
    outs = call_published(name)
    assert ran
    descs = {
        s: [lodkit.VarDesc.of(x) for x in v] if isinstance(v, list) else lodkit.VarDesc.of(v) for s, v in inputs.items()
    }
    inferred = lodkit.paddle.infer_op(name, descs, attrs)
    assert set(inferred) == set(outs)
    for slot, value in outs.items():
        many = isinstance(inferred[slot], list)
        for promise, x in zip(inferred[slot] if many else [inferred[slot]], value if many else [value], strict=True):
            assert promise.covers(lodkit.VarDesc.of(x))


WITHOUT = runpy.run_path(str(ROOT / "tests" / "fuzz" / "without_mends.py"))["CHANGES"]
PUBLISHED = [*(PACKAGE / "caffe2").glob("_*.py"), *(PACKAGE / "paddle").glob("_*.py")]


@pytest.mark.parametrize("file", PUBLISHED, ids=lambda file: f"{file.parent.name}/{file.name}")
def test_published_names_compute_nothing(file):
    """No loops over data, no arithmetic of NumPy's: only conversions."""
    text = re.sub(r">>> .*", "", file.read_text())
    used = set(re.findall(r"np\.(\w+)", text))
    assert used <= {"asarray", "float16", "float32", "float64", "int32", "int64", "negative", "dtype", "ndarray"}
    assert not re.search(r"(?<!\bops)\.(sum|mean|max|min|cumsum|dot)\(", text)


@pytest.mark.parametrize("what", WITHOUT)
def test_checks_that_ci_takes_out_are_where_they_are_looked_for(what):
    for file, source in zip(WITHOUT[what][::3], WITHOUT[what][1::3], strict=True):
        assert (PACKAGE / file).read_text().count(source) == 1, f"update CHANGES of tests/fuzz/without_mends: {source}"


def test_both_devices_offer_the_same_primitives():
    """Launchers in kernels/common take either device's module; plans of the CPU alone specialize kernels."""
    pytest.importorskip("numba_cuda")
    offered = []
    for device in ("cpu", "cuda"):
        module = importlib.import_module(f"lodkit.kernels.{device}.primitives.device")
        offered.append({name for names in module.HOMES.values() for name in names} | set(vars(module)))
        for name in {name for names in module.HOMES.values() for name in names}:
            assert callable(getattr(module, name)), name
    used = set()
    for file in (PACKAGE / "kernels" / "common").glob("*.py"):
        used |= set(re.findall(r"\bon\.(?!specialize)(\w+)\b(?!\.)", file.read_text()))
    assert used - FAMILIES <= offered[0] & offered[1], used - FAMILIES - (offered[0] & offered[1])
