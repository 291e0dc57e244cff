"""Who compiles a function, and who waits for it."""

from __future__ import annotations

import time

import pytest
from kernel_package import finish, run, start

from lodkit.jit import claims

pytest.importorskip("fcntl")

#: Says by a file that the compiler has begun, and goes on when there is another.
SLOW = """
import os, time
from lodkit.jit import cache
def slowly(event, name):
    if event == "compiling":
        open(os.environ["BEGUN"], "w").close()
        while not os.path.exists(os.environ["GO"]):
            time.sleep(0.005)
cache.watchers.append(slowly)
"""


def wait_for(path):
    for _ in range(2_000):
        if path.exists():
            return
        time.sleep(0.01)
    raise AssertionError(f"{path} does not appear")


@pytest.fixture
def compiling(kit):
    """A process in the midst of compiling, what lets it go on, and the folder."""
    begun, go = kit / "begun", kit / "go"
    process = start(kit, SLOW + "print(kernels.add(x), *hits(kernels.add))", BEGUN=str(begun), GO=str(go))
    wait_for(begun)
    return process, go, kit


def locks(kit):
    return list((kit / "cache").glob("*.lock"))


def test_one_compiles_and_the_other_takes_what_it_made(compiling):
    process, go, kit = compiling
    other = start(kit, "print(kernels.add(x), *hits(kernels.add))")
    time.sleep(0.3)
    assert len(locks(kit)) == 1 and not list((kit / "cache").glob("*.nbc"))
    go.touch()
    assert finish(process) == ["6.0", "0", "1"]
    assert finish(other) == ["6.0", "1", "0"]
    assert not locks(kit)


def test_nobody_waits_for_a_process_that_was_killed(compiling):
    process, _, kit = compiling
    other = start(kit, "print(kernels.add(x), *hits(kernels.add))")
    time.sleep(0.3)
    process.kill()
    process.communicate()
    assert finish(other) == ["6.0", "0", "1"]
    assert not locks(kit)


def test_what_does_not_compile_is_given_up_at_once(kit):
    code = """
from lodkit.jit import njit
@njit
def wrong(x):
    return x.nothing_of_this_name()
for _ in range(2):
    try:
        wrong(x)
    except Exception as error:
        print(type(error).__name__)
"""
    assert run(kit, code) == ["TypingError", "TypingError"]
    assert not locks(kit)


def test_a_claim_is_not_waited_for_for_ever(tmp_path, monkeypatch):
    monkeypatch.setattr(claims, "MOST_SECONDS", 0.05)
    path = str(tmp_path / "entry")
    with claims.claims():
        assert not claims.claim(path)
        assert not claims.claim(path), "it is this process's own"
        claims._here.clear()  # as in another process
        with claims.claims():
            assert claims.claim(path)
    assert not list(tmp_path.iterdir())


def test_no_claim_where_nothing_can_be_written(tmp_path):
    with claims.claims():
        assert not claims.claim(str(tmp_path / "missing" / "entry"))
    assert not claims.claim(str(tmp_path / "outside a context"))
    assert not list(tmp_path.iterdir())
