"""What the main job says while it runs: the first line, bars, what was compiled, what does not pay; and its report."""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys

import pytest

from lodkit.__main__ import main
from lodkit.demo import info, process, progress, train
from lodkit.demo.config import DEFAULTS, POOLS, RATES, Config
from lodkit.demo.models import MODELS, OPTIMIZERS
from lodkit.demo.progress import Bar, Kernels
from lodkit.jit import cache, threading_layer


class Terminal(io.StringIO):
    def isatty(self):
        return True


def terminal(monkeypatch, columns):
    """Have a terminal, and return what is drawn on it; not in a fixture, after which pytest captures."""
    monkeypatch.setattr(sys, "stdout", Terminal())
    monkeypatch.setattr(sys, "stderr", drawn := Terminal())
    monkeypatch.setattr(progress.shutil, "get_terminal_size", lambda *_, **__: os.terminal_size((columns, 20)))
    monkeypatch.setattr(progress.Bar, "drawn", 0)
    return drawn


@pytest.fixture
def clock(monkeypatch):
    """A clock that goes on by a second whenever somebody looks."""
    times = iter(range(10_000))
    monkeypatch.setattr(progress.time, "perf_counter", lambda: float(next(times)))


def test_a_bar_on_a_terminal_moves_and_leaves_no_trace(clock, monkeypatch):
    screen = terminal(monkeypatch, 60)
    bar = Bar("reading", 40, "files")
    for done in (10, 20, 40):
        bar.at(done)
    bar.at(30, "a fact that is far too long for what is left of this line")
    progress.say("done")
    first, second, third, long, empty, rest = screen.getvalue().split("\r")[1:]
    assert first == "reading [#####---------------] 10 of 40 files, about 6 s left"[:59]
    assert "[##########----------] 20 of 40 files" in second
    assert third.rstrip() == "reading [####################] 40 of 40 files"
    assert len(long) == 59
    assert (empty.strip(), len(empty), rest) == ("", 59, "")
    assert sys.stdout.getvalue() == "done\n"


def test_elsewhere_a_line_now_and_then(capsys, clock):
    bar = Bar("epoch 1/2", 40, "")
    for done in range(10):
        bar.at(done, "loss 1")
    lines = capsys.readouterr().out.splitlines()
    assert 2 <= len(lines) <= 5
    assert all(re.fullmatch(r"epoch 1/2: \d+%, about \d+ s left, loss 1", line) for line in lines)
    Bar("predicting", 40, "", silent=True).at(20, now=True)
    assert capsys.readouterr() == ("", "")


def test_compiling_is_counted_shown_and_reported(clock, monkeypatch, tmp_path):
    screen = terminal(monkeypatch, 80)
    monkeypatch.setenv("LODKIT_CACHE_DIR", str(tmp_path))
    with Kernels(3) as kernels:
        for event in ("loaded", "compiling", "compiling", "compiled", "compiled", "loaded", "compiling"):
            for watch in cache.watchers:
                watch(event, "sum_kernel.<locals>.kernel")
        kernels.report()
        kernels.report()
    assert not cache.watchers
    assert (kernels.ready, kernels.compiled) == (4, 0)
    drawn = screen.getvalue().split("\r")[1:]
    assert "1 of 3 kernels" in drawn[0]
    assert "sum_kernel" in "".join(drawn)
    assert any("4 of 5 kernels" in line for line in drawn)
    assert re.fullmatch(rf"compiled 2 kernels in \d+\.0 s; kept in {tmp_path}\n", sys.stdout.getvalue())


@pytest.mark.jit
def test_the_cache_tells_what_it_does(kit):
    from kernel_package import run

    name, code = (
        "make.<locals>.kernel",
        """
    from lodkit.jit import cache
    cache.watchers.append(lambda *told: print(*told))
    kernels.add(x)
    kernels.add(x)
    """,
    )
    assert run(kit, code) == ["compiling", name, "compiled", name]
    assert run(kit, code) == ["loaded", name]


@pytest.mark.parametrize(
    ("times", "verdict"),
    [
        ((1e-3, 5e-3, 20, 1000), r"sparse 1.000 ms, dense 5.000 ms \(5.0 times\); a batch has 20 of 1,000 words"),
        (
            (2e-6, 1e-6, 9, 30),
            "sparse 0.002 ms, dense 0.001 ms: sparse does not pay here, a batch has 9 of 30 words; .*",
        ),
        ((2e-3, 2e-3, 20, 9000), ".*: sparse does not pay with this optimizer and width, though a batch has 20 of .*"),
    ],
)
def test_it_says_whether_the_sparse_update_pays(times, verdict):
    assert re.fullmatch(verdict, str(train.UpdateTimes(*times)))


def test_choices_are_those_of_the_models():
    assert DEFAULTS.keys() == MODELS.keys()
    assert {pool for model in MODELS.values() for pool in model.pools} == {*POOLS, "last"}
    for name in DEFAULTS:
        assert DEFAULTS[name].pool in MODELS[name].pools


def test_the_learning_rate_is_the_optimizer_s(capsys):
    assert RATES.keys() < OPTIMIZERS.keys()
    rates = {name: Config(optimizer=name).lr for name in ("adagrad", "adam", "sgd", "lion")}
    assert rates == {"adagrad": 0.1, "adam": 0.01, "sgd": 1.0, "lion": 0.003}
    assert Config(optimizer="adam", lr=0.2).lr == 0.2
    with pytest.raises(SystemExit):
        main(["--help"])
    out = " ".join(capsys.readouterr().out.split())
    assert "by default 0.1, and 0.01 for adam, adamw," in out


def test_an_unknown_optimizer_names_those_there_are(tmp_path, capsys):
    (tmp_path / "x").write_text("a\tb\n" * 30)
    assert main(["--data", str(tmp_path / "x"), "--optimizer", "adagard"]) == 2
    error = capsys.readouterr().err
    assert f"--optimizer takes {', '.join(sorted(OPTIMIZERS))}, not adagard" in error
    assert "not adagard" in error


NAMES = "lodkit Python NumPy Numba CPU threads BLAS cache GPU libraries environment"


def test_info_is_what_a_bug_report_needs(capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("LODKIT_CACHE_DIR", str(tmp_path))
    cache.store(cache.entry_name("x"), b"payload")
    (tmp_path / "note.txt").write_text("not counted")
    monkeypatch.setattr(info, "GIVEN", {"NUMBA_NUM_THREADS": "1"})
    monkeypatch.setattr(threading_layer, "start", lambda: None)
    monkeypatch.setattr(threading_layer, "get_num_threads", lambda: 1)
    assert main(["info"]) == 0
    out, error = capsys.readouterr()
    assert not error
    facts = dict(re.match(r"(\w+) +(.*)", line).groups() for line in out.splitlines())
    assert [*facts] == NAMES.split()
    assert facts["cache"] == f"{tmp_path}: 1 entries, 0.0 MB"
    assert re.search(r"\d of \d+ cores", facts["CPU"])
    assert not any("unknown (" in fact for fact in facts.values())


CORES = info._cores()


@pytest.mark.parametrize(
    ("given", "costs"),
    [
        ({"NUMBA_THREADING_LAYER": "omp"}, []),
        ({"NUMBA_THREADING_LAYER": "omp", "OMP_WAIT_POLICY": "ACTIVE"}, ["OMP_WAIT_POLICY=ACTIVE: .*; leave it out$"]),
        (
            {"NUMBA_THREADING_LAYER": "omp", "OMP_WAIT_POLICY": "passive"},
            ["OMP_WAIT_POLICY=passive: .*; leave it out on a quiet machine$"],
        ),
        (
            {"NUMBA_THREADING_LAYER": "omp", "GOMP_SPINCOUNT": "infinite"},
            ["GOMP_SPINCOUNT=infinite: .*; leave it out$"],
        ),
        ({"NUMBA_THREADING_LAYER": "omp", "GOMP_SPINCOUNT": "1000"}, []),
        ({"NUMBA_THREADING_LAYER": "workqueue"}, ["threading layer workqueue: .*; pip install tbb, or unset"]),
        (
            {"NUMBA_THREADING_LAYER": "workqueue", "NUMBA_NUM_THREADS": str(CORES + 1), "OPENBLAS_NUM_THREADS": "1"},
            [
                "threading layer workqueue: ",
                f"{CORES + 1} threads on {CORES} cores: .*; set NUMBA_NUM_THREADS={CORES}$",
                f"OPENBLAS_NUM_THREADS=1: products of more than 8 million .* use 1 of {CORES + 1} threads; leave it",
            ],
        ),
    ],
)
def test_info_says_which_settings_cost(given, costs):
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("OMP_", "GOMP_", "NUMBA_", "OPENBLAS_"))}
    if "NUMBA_NUM_THREADS" not in given:
        kept["NUMBA_NUM_THREADS"] = str(CORES)
    done = subprocess.run(
        [sys.executable, "-m", "lodkit", "info"], env=kept | given, capture_output=True, text=True, check=True
    )
    if "none can be started" in done.stdout or (CORES == 1 and "NUMBA_NUM_THREADS" not in given):
        pytest.skip("this layer does not start here")
    if "its threads are left as they are" in done.stdout:
        costs = [cost for cost in costs if not cost.startswith("OPENBLAS")]
    found = [line.split(maxsplit=1)[1] for line in done.stdout.splitlines() if line.startswith("costs ")]
    assert len(found) == len(costs), found
    for line, cost in zip(found, costs, strict=True):
        assert re.match(cost, line)


@pytest.mark.parametrize(
    ("limit", "cores"), [("max 100000", CORES), ("50000 100000", 0.5), (f"{9**9} 100000", CORES), ("", CORES)]
)
def test_info_knows_the_limit_of_a_container(monkeypatch, tmp_path, limit, cores):
    monkeypatch.setattr(info, "QUOTA", str(tmp_path / "cpu.max"))
    assert info._quota() == CORES
    (tmp_path / "cpu.max").write_text(limit)
    assert info._quota() == cores


def test_info_says_why_nothing_is_kept(monkeypatch, tmp_path):
    monkeypatch.setenv("LODKIT_CACHE_DIR", str(tmp_path / "a" / "b"))
    assert info._cache() == f"{tmp_path / 'a' / 'b'}: not there yet"
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    assert info._cache().endswith(f"; {tmp_path} cannot be written to, nothing is kept")
    (tmp_path / "file").touch()
    monkeypatch.setenv("LODKIT_CACHE_DIR", str(tmp_path / "file" / "x"))
    assert info._cache().startswith("nothing is kept: ")


def test_info_without_cuda_and_with_what_is_broken(monkeypatch):
    monkeypatch.setitem(sys.modules, "lodkit.arrays.cuda.private_numba", None)
    monkeypatch.setattr(info, "_python", lambda: 1 / 0)
    monkeypatch.setattr(info, "_costs", list)
    report = info.report()
    assert re.search(r"GPU +unknown \(\w+", report)
    assert "Python      unknown (ZeroDivisionError: division by zero)" in report
    assert report.count("\n") == len(NAMES.split()) - 1


def test_settings_of_the_process_leave_the_user_s(monkeypatch):
    called = []
    monkeypatch.setattr(process.gc, "set_threshold", lambda *numbers: called.append(numbers))
    monkeypatch.setattr(process.atexit, "register", called.append)
    for given, chosen in (
        ({}, {"OPENBLAS_NUM_THREADS": "1", "OMP_WAIT_POLICY": "passive"}),
        ({"OMP_NUM_THREADS": "2"}, {"OMP_NUM_THREADS": "2", "OMP_WAIT_POLICY": "passive"}),
        ({"OPENBLAS_NUM_THREADS": "2", "OMP_WAIT_POLICY": "active"},) * 2,
    ):
        monkeypatch.setattr(process.os, "environ", dict(given))
        process.settle()
        assert process.os.environ == chosen
    assert len(called) == 6


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device that is always full")
@pytest.mark.parametrize("options", [["info"], ["--data", "no such file"]])
def test_a_full_disk_is_an_error_in_a_line(options):
    with open("/dev/full", "w") as full:
        found = subprocess.run(
            [sys.executable, "-m", "lodkit", *options], stdout=full, stderr=subprocess.PIPE, text=True
        )
    assert found.returncode == 2
    assert found.stderr == "error: [Errno 28] No space left on device\n"


@pytest.mark.parametrize("option", ["--data", "--predict"])
def test_an_empty_name_is_no_file(option, capsys):
    with pytest.raises(SystemExit):
        main([option, ""])
    assert f"argument {option}: the name is empty" in capsys.readouterr().err


def test_the_file_of_a_state_is_given_for_its_directory(tmp_path, capsys):
    file = tmp_path / "state.safetensors"
    file.touch()
    for options in (["--resume", str(file)], ["--resume", str(file), "--predict", str(file)]):
        assert main(options) == 2
        assert f"{file}: a file, where a directory is to be given; pass {tmp_path}" in capsys.readouterr().err
