"""What the disk cache may and may not give back, process by process."""

from __future__ import annotations

import hashlib
import os
import textwrap

import numpy as np
import pytest
from kernel_package import finish, run, start

ADD = "print(kernels.add(x), *hits(kernels.add))"


def edit(kit, name, old, new):
    path = kit / "kit" / name
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))


def entries(kit):
    return sorted((kit / "cache").iterdir())


def test_closures_over_plain_functions_and_intrinsics_hit_in_the_next_process(kit):
    assert finish(start(kit, ADD)) == ["6.0", "0", "1"]
    assert finish(start(kit, ADD)) == ["6.0", "1", "0"]
    if os.name == "posix":
        assert (kit / "cache").stat().st_mode & 0o777 == 0o700


EDITS = [
    ("reducers.py", "total + x", "total - x", "-6.0"),
    ("reducers.py", "SCALE = 1.0", "SCALE = 2.0", "12.0"),
    ("kernels.py", "HALF = 0.5", "HALF = 1.0", "12.0"),
    ("vectors.py", "builder.fadd", "builder.fmul", "7.0"),
    ("vectors.py", "_twice(x) * 1.0", "_twice(x) * 3.0", "18.0"),
]


def test_an_edit_in_what_a_kernel_calls_is_seen_and_undone(kit):
    """One after another, since a process takes a second: each is seen alone only if the one before was undone."""
    assert run(kit, ADD)[0] == "6.0"
    for name, old, new, expected in EDITS:
        edit(kit, name, old, new)
        assert run(kit, ADD) == [expected, "0", "1"], new
        edit(kit, name, new, old)
    assert run(kit, ADD) == ["6.0", "1", "0"]


def test_an_edit_that_changes_nothing_for_a_kernel_keeps_its_entry(kit):
    run(kit, ADD)
    edit(kit, "reducers.py", "def most", "# a comment\n\ndef most")
    assert run(kit, ADD) == ["6.0", "1", "0"]


def test_a_constant_of_a_module_is_seen(kit):
    assert run(kit, "print(kernels.scaled(x))") == ["2.0"]
    edit(kit, "reducers.py", "SCALE = 1.0", "SCALE = 4.0")
    assert run(kit, "print(kernels.scaled(x), *hits(kernels.scaled))") == ["8.0", "0", "1"]


def test_a_constant_changed_while_running_is_seen_by_the_next_signature(kit):
    code = """
    kernels.scaled(x)
    kernels.reducers.SCALE = 5.0
    print(kernels.scaled(x.astype("f4")))
    """
    assert run(kit, code) == ["10.0"]
    assert run(kit, "print(kernels.scaled(x.astype('f4')))") == ["2.0"]


def test_two_processes_fill_a_cold_cache_at_once(kit):
    wait = "import os, time\nopen(os.environ['ME'], 'w').close()\n"
    wait += "while not os.path.exists(os.environ['OTHER']): time.sleep(0.001)\n"
    a, b = str(kit / "a"), str(kit / "b")
    calls = ["kernels.add(x)", "kernels.add(x.astype('f4'))", "kernels.most(x)", "kernels.most(x.astype('f4'))"]
    first = start(kit, wait + "print(" + ", ".join(calls) + ")", ME=a, OTHER=b)
    second = start(kit, wait + "print(" + ", ".join(calls[::-1]) + ")", ME=b, OTHER=a)
    assert finish(first) == ["6.0", "6.0", "3.0", "3.0"]
    assert finish(second) == ["3.0", "3.0", "6.0", "6.0"]
    last = "print(" + ", ".join(calls) + ", *hits(kernels.add), *hits(kernels.most))"
    assert run(kit, last) == ["6.0", "6.0", "3.0", "3.0", "2", "0", "2", "0"]
    assert len(entries(kit)) == 4


def test_closures_of_one_factory_stored_by_two_processes_do_not_share_symbols(kit):
    kernel = """
    import math
    from lodkit.jit import jitable, njit

    def make(k):
        @jitable
        def step(x):
            total = 0.0
            for i in range(5):
                total += math.sin(x + i) * math.cos(x * i) + math.exp(-x * i) + math.atan(x) ** i
                total += math.log(x + 1 + i) + math.sin(2 * x + i) * math.cos(x * 3 * i) + math.tan(x) ** i
            return total * 0 + k

        @njit
        def kernel(x):
            total = 0.0
            for i in range(x.size):
                total += step(x[i])
            for i in range(x.size):
                total += step(x[i] + 1)
            return total

        return kernel

    one, thousand = make(1.0), make(1000.0)
    """
    (kit / "kit" / "pair.py").write_text(textwrap.dedent(kernel))
    assert run(kit, "from kit import pair; print(pair.one(x))") == ["8.0"]
    assert run(kit, "from kit import pair; print(pair.thousand(x))") == ["8000.0"]
    assert run(kit, "from kit import pair; print(pair.one(x), pair.thousand(x))") == ["8.0", "8000.0"]
    assert run(kit, "from kit import pair; print(pair.thousand(x), pair.one(x))") == ["8000.0", "8.0"]


def test_kernels_of_a_function_share_a_directory(kit):
    """One that threads share, for one and for two of them, and one that they do not."""
    shared = """
    out = np.empty_like(x)
    kernels.doubled({}, x, out)
    print(out.sum(), *hits(kernels.doubled.compiled))
    """
    alone = """
    from lodkit.jit import njit
    doubled = njit(kernels.doubled.py_func)
    out = np.empty_like(x)
    doubled(x, out)
    print(out.sum(), *hits(doubled))
    """
    for hits, code in (("01", shared.format(1)), ("10", shared.format(1 << 40)), ("01", alone), ("10", alone)):
        assert run(kit, code, NUMBA_NUM_THREADS="2") == ["12.0", *hits]
    assert len(entries(kit)) == 2


def test_a_run_with_bounds_checks_does_not_hit_unchecked_code(kit):
    code = """
    try:
        kernels.third(np.arange(2.0))
        print("unchecked")
    except IndexError:
        print("checked")
    """
    assert run(kit, code) == ["unchecked"]
    assert run(kit, code, NUMBA_BOUNDSCHECK="1") == ["checked"]
    assert run(kit, code) == ["unchecked"]


def test_options_are_part_of_the_key(kit):
    code = """
    from lodkit.jit import njit
    options = {}, {"fastmath": True}, {"fastmath": {"nsz"}}, {"error_model": "python"}, {"nogil": False}
    for option in options:
        kernel = njit(**option)(kernels.third.py_func)
        kernel(x)
        print(*hits(kernel))
    """
    assert run(kit, code) == ["0", "1"] * 5
    assert run(kit, code) == ["1", "0"] * 5


def test_a_damaged_entry_is_compiled_anew(kit):
    run(kit, ADD)
    for change in (lambda b: b[:-100], lambda b: b"", lambda b: b[:-1] + b"?", lambda b: b"x" * 500):
        (entry,) = entries(kit)
        entry.write_bytes(change(entry.read_bytes()))
        assert run(kit, ADD) == ["6.0", "0", "1"]
    assert run(kit, ADD) == ["6.0", "1", "0"]


def test_an_entry_under_another_name_is_compiled_anew(kit):
    run(kit, ADD)
    (add,) = entries(kit)
    run(kit, "print(kernels.most(x))")
    (most,) = {*entries(kit)} - {add}
    most.write_bytes(add.read_bytes())
    both = "print(kernels.most(x), *hits(kernels.most), kernels.add(x), *hits(kernels.add))"
    assert run(kit, both) == ["3.0", "0", "1", "6.0", "1", "0"]
    assert run(kit, both) == ["3.0", "1", "0", "6.0", "1", "0"]


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="no owners here")
def test_an_entry_that_others_can_write_is_compiled_anew(kit):
    run(kit, ADD)
    (entry,) = entries(kit)
    for mode in (0o620, 0o602, 0o666):
        entry.chmod(mode)
        assert run(kit, ADD) == ["6.0", "0", "1"]
        assert entry.stat().st_mode & 0o777 == 0o600
    if os.geteuid() == 0:
        os.chown(entry, 12345, 12345)
        assert run(kit, ADD) == ["6.0", "0", "1"]
    entry.unlink()
    os.mkfifo(entry)
    assert run(kit, ADD) == ["6.0", "0", "1"]
    assert run(kit, ADD) == ["6.0", "1", "0"]


def test_code_that_no_entry_can_stand_for_is_no_reason_to_warn(kit):
    code = """
    import ctypes
    from lodkit.jit import njit
    absolute = ctypes.CDLL(None).abs
    absolute.argtypes, absolute.restype = [ctypes.c_int], ctypes.c_int
    by_address = njit(lambda x: absolute(x))
    given = njit(lambda f, x: f(x))
    big = np.zeros(1 << 18)
    over_array = njit(lambda i: big[i])
    print(by_address(-3), given(njit(lambda x: x + 1), 3), over_array(5))
    """
    assert run(kit, code) == ["3", "4", "0.0"]


@pytest.mark.skipif("NUMBA_DISABLE_JIT" in os.environ, reason="no compiled code")
def test_numba_asks_the_cache(tmp_path, monkeypatch):
    from lodkit.jit import njit

    for home in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(home, str(tmp_path))
    monkeypatch.setenv("LODKIT_CACHE_DIR", os.path.join("~", "cache"))
    first = njit(lambda x: x.sum())
    again = njit(first.py_func)
    assert first(np.ones(3)) == again(np.ones(3)) == 3.0
    assert sum(first.stats.cache_misses.values()) == 1
    assert sum(again.stats.cache_hits.values()) == 1
    assert first.stats.cache_path == str(tmp_path / "cache")


@pytest.mark.skipif("NUMBA_DISABLE_JIT" in os.environ, reason="no compiled code")
def test_a_kernel_of_another_package_depends_on_what_it_takes_from_lodkit():
    from lodkit.jit import njit, simd
    from lodkit.jit.fingerprint import fingerprint

    kernel = njit(lambda x: simd.store_fence())
    with open(simd.__file__, "rb") as file:
        assert hashlib.sha256(file.read()).hexdigest() in fingerprint(kernel)


@pytest.mark.skipif("NUMBA_DISABLE_JIT" in os.environ, reason="no compiled code")
def test_a_kernel_depends_on_how_its_functions_are_compiled():
    from lodkit.jit import jitable, njit
    from lodkit.jit.fingerprint import fingerprint

    def found(**options):
        step = jitable(lambda x: x + 1, **options)
        return fingerprint(njit(lambda x: step(x)))

    assert found() == found(inline=False)
    assert len({found(), found(inline=True), found(nrt=False), found(inline=True, nrt=False)}) == 4


#: Fingerprints before and after all of lodkit is imported. What needs a library that is missing stays out.
IMPORTED_LATER = """
import contextlib, importlib, pkgutil
import numpy as np
import lodkit
from lodkit.jit.fingerprint import fingerprint

x, rows = np.ones((4, 2)), lodkit.SelectedRows([1], np.ones((1, 2)), 4)
bags = lodkit.LoDTensor([0, 1, 2], [[2, 1]])
lodkit.sgd(x, rows, lr=0.1), lodkit.embedding_bag(x, bags), lodkit.lookup_table(x, bags.values)
calls = (lodkit.sgd, (x, rows)), (lodkit.embedding_bag, (x, bags)), (lodkit.lookup_table, (x, bags.values))
loops = [op.select(*inputs).loop.function for op, inputs in calls]
before = [fingerprint(getattr(loop, "compiled", loop)) for loop in loops]
for found in pkgutil.walk_packages(lodkit.__path__, "lodkit."):
    if not found.name.endswith("__main__"):
        with contextlib.suppress(ImportError):
            importlib.import_module(found.name)
print(len(before), before == [fingerprint(getattr(loop, "compiled", loop)) for loop in loops])
"""


@pytest.mark.skipif("NUMBA_DISABLE_JIT" in os.environ, reason="no compiled code")
def test_what_is_imported_later_changes_no_key(kit):
    """Otherwise a process that has printed something first would compile kernels anew."""
    assert finish(start(kit, IMPORTED_LATER)) == ["3", "True"]


#: Functions whose code calls what only parts of Numba define that it imports to compile.
LIBRARIES = """
import sys
import numba
from lodkit.jit import njit

@njit
def count(x):
    found = numba.typed.Dict.empty(numba.types.int64, numba.types.float64)
    for i in range(len(x)):
        found[i % 3] = x[i]
    return len(found)

@njit
def draw(seed):
    np.random.seed(seed)
    return np.random.random()

@njit
def power(x, y):
    return np.sort(x)[::-1].sum() ** y + np.exp(1j).real
"""


def test_cached_code_imports_no_compiler(kit):
    """Unless it calls what that would define; LLVM would end the process."""
    code = """
    print(kernels.add(x), "numba.np.arraymath" in sys.modules)
    print(count(x), draw(3) == np.random.RandomState(3).random_sample(), round(power(x, 2.0), 3))
    print(*(sum(f.stats.cache_hits.values()) for f in (kernels.add, count, draw, power)))
    """
    results = ["3", "True", "36.54"]
    assert finish(start(kit, LIBRARIES + textwrap.dedent(code))) == ["6.0", "True", *results, *"0000"]
    assert finish(start(kit, LIBRARIES + textwrap.dedent(code))) == ["6.0", "False", *results, *"1111"]
