"""How far long calls are: nothing of fast ones, nothing where nobody looks on, unless asked."""

from __future__ import annotations

import functools
import subprocess
import sys
import types

import numpy as np
import pytest

import lodkit
from lodkit.base import progress
from lodkit.base.progress import show_progress


class Clock:
    """A clock that moves when it is told to."""

    now = 100.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock(monkeypatch):
    monkeypatch.delenv("LODKIT_PROGRESS", raising=False)
    made = Clock()
    monkeypatch.setattr(progress, "clock", made)
    return made


@pytest.fixture
def terminal(monkeypatch):
    monkeypatch.setattr(progress, "_is_terminal", lambda: True)


@pytest.fixture
def without_tqdm(monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)


class Tqdm:
    """What ``show_progress`` calls of tqdm."""

    made: list[Tqdm] = []

    def __init__(self, **given):
        self.given, self.said = given, []
        Tqdm.made.append(self)

    def set_postfix_str(self, text, refresh):
        self.said.append(text)

    def update(self, count):
        self.said.append(count)

    def close(self):
        self.said.append("closed")


@pytest.fixture
def with_tqdm(monkeypatch):
    monkeypatch.setattr(Tqdm, "made", [])
    monkeypatch.setitem(sys.modules, "tqdm.auto", types.SimpleNamespace(tqdm=Tqdm))
    return Tqdm.made


def work(clock, seconds, steps=4, **options):
    with show_progress("lodkit.work", steps, "things", **options) as advance:
        for i in range(steps):
            clock.now += seconds / steps
            advance(1, f"n{i}")


def test_fast_work_is_silent(clock, terminal, without_tqdm, capsys):
    work(clock, 0.9)
    assert capsys.readouterr() == ("", "")


def test_fast_work_makes_no_bar(clock, terminal, with_tqdm):
    work(clock, 0.9)
    assert not with_tqdm


def test_lines_where_tqdm_is_missing(clock, terminal, without_tqdm, capsys):
    work(clock, 8)
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines() == [
        "lodkit.work: 1 of 4 things (n0), about 6 s left",
        "lodkit.work: 3 of 4 things (n2), about 2 s left",
        "lodkit.work: 8.0 s",
    ]


def test_a_bar_of_tqdm_from_a_second_on(clock, terminal, with_tqdm, capsys):
    work(clock, 2)
    (bar,) = with_tqdm
    assert bar.given == {"total": 4, "desc": "lodkit.work", "initial": 1, "unit": " things"}
    assert bar.said == ["n1", 1, "n2", 1, "n3", 1, "closed"]
    assert capsys.readouterr() == ("", "")


def test_a_bar_is_closed_by_an_error(clock, terminal, with_tqdm):
    def fail():
        with show_progress("lodkit.work", 4, "B") as advance:
            clock.now += 2
            advance(1)
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert with_tqdm[0].said[-1] == "closed"
    assert with_tqdm[0].given["unit_scale"]


def test_nothing_where_nobody_looks_on(clock, with_tqdm, capsys):
    work(clock, 100)
    assert capsys.readouterr() == ("", "")
    assert not with_tqdm


@pytest.mark.parametrize(("said", "lines"), [("1", 3), ("0", 0), ("", 0)])
def test_the_environment_says_where_nobody_looks_on(clock, monkeypatch, with_tqdm, capsys, said, lines):
    monkeypatch.setenv("LODKIT_PROGRESS", said)
    work(clock, 8)
    assert len(capsys.readouterr().err.splitlines()) == lines
    assert not with_tqdm


def test_the_environment_silences_a_terminal(clock, terminal, monkeypatch, with_tqdm):
    monkeypatch.setenv("LODKIT_PROGRESS", "0")
    work(clock, 8)
    assert not with_tqdm


def test_asked_it_is_shown_from_the_start(clock, without_tqdm, capsys):
    work(clock, 0.4, asked=True)
    assert capsys.readouterr().err.splitlines() == [
        *(f"lodkit.work: {i + 1} of 4 things (n{i})" for i in range(4)),
        "lodkit.work: 0.4 s",
    ]
    work(clock, 8, asked=False)
    assert capsys.readouterr().err == ""


def test_a_notebook_counts_as_looking_on(clock, monkeypatch, with_tqdm):
    shell = types.SimpleNamespace(kernel=None)
    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda: shell))
    work(clock, 2)
    assert len(with_tqdm) == 1
    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda: None))
    work(clock, 2)
    assert len(with_tqdm) == 1


def test_no_stderr_is_no_error(clock, monkeypatch):
    monkeypatch.setattr(sys, "stderr", None)
    monkeypatch.setenv("LODKIT_PROGRESS", "1")
    work(clock, 8)


@pytest.fixture
def slow(clock, terminal, with_tqdm, monkeypatch):
    """Every unit takes two seconds."""
    advance = progress._Meter.advance

    def advance_slowly(self, count=1, note=""):
        clock.now += 2
        advance(self, count, note)

    monkeypatch.setattr(progress._Meter, "advance", advance_slowly)
    return with_tqdm


def counted(bar):
    return bar.given["initial"] + sum(x for x in bar.said if isinstance(x, int))


@pytest.mark.parametrize("form", ["npz", "safetensors"])
def test_files_say_how_many_bytes(slow, tmp_path, form):
    values = {"a": np.arange(3_000_000.0), "b": lodkit.LoDTensor([1.0, 2.0], [[2]])}
    lodkit.save(tmp_path / f"x.{form}", values)
    found = lodkit.load(tmp_path / f"x.{form}")
    assert found["b"].equals(values["b"])
    assert [bar.given["desc"] for bar in slow] == ["lodkit.save", "lodkit.load"]
    size = sum(part.nbytes for part in (values["a"], values["b"].values, values["b"].offsets()))
    # An .npz has the text of the structure among its arrays, a header of safetensors is not counted.
    assert size == slow[0].given["total"] <= counted(slow[0]) <= size + 10_000
    assert size <= counted(slow[1]) <= slow[1].given["total"]
    slow.clear()
    lodkit.load(tmp_path / f"x.{form}", mmap=True)
    assert sum(map(counted, slow)) < 10_000


def test_warmup_says_which_operator(slow):
    calls = [functools.partial(lodkit.relu, np.ones((2, 3), np.float32)), lodkit.OPS["tanh"]]
    lodkit.warmup(calls)
    assert slow[0].given["desc"] == "lodkit.warmup"
    assert slow[0].said == ["relu", 1, "tanh", 1, "closed"]
    slow.clear()
    lodkit.warmup(calls[:1], progress=False)
    assert not slow


def test_words_say_how_many(slow, monkeypatch):
    monkeypatch.setattr(sys.modules["lodkit.lod.vocabulary"], "_PART", 2)
    texts = [["a", "b", "a"], ["c", "b"]]
    vocab = lodkit.vocabulary(texts)
    assert vocab(texts).to_list() == [[1, 2, 1], [3, 2]]
    assert [(bar.given["desc"], counted(bar)) for bar in slow] == [("lodkit.vocabulary", 5), ("vocab(texts)", 5)]


def test_columns_say_which(slow):
    pyarrow = pytest.importorskip("pyarrow")
    table = pyarrow.table({"x": [[1.0], [2.0, 3.0]], "y": [1, 2]})
    assert [*lodkit.interop.arrow.columns(table)] == ["x", "y"]
    assert slow[0].said == ["x", 1, "y", 1, "closed"]


def test_a_bar_of_tqdm_itself():
    pytest.importorskip("tqdm")
    code = (
        "import lodkit.base.progress as p\np._is_terminal = lambda: True\np.DELAY_SECONDS = 0\n"
        "with p.show_progress('lodkit.work', 2, 'things') as advance:\n    advance(1, 'first'); advance(1, 'second')"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "lodkit.work: 100%" in run.stderr and "2/2" in run.stderr and "second" in run.stderr
    assert run.stdout == ""


def test_fast_calls_import_no_tqdm(tmp_path):
    code = (
        "import sys, lodkit, numpy as np\nlodkit.save('x.npz', np.ones(3)); lodkit.load('x.npz')\n"
        "assert not {'tqdm', 'IPython'} & {*sys.modules}"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=tmp_path)
