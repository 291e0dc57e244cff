"""Warm-up by example in a new process: afterwards no call compiles or loads a kernel; directories that are shipped."""

from __future__ import annotations

import os
from textwrap import dedent

import pytest
from kernel_package import run

pytestmark = pytest.mark.jit

#: Calls of one operator with a table of ``height`` rows and ``count`` rows in three sequences, one of them empty.
CALLS = """
import functools, lodkit
from lodkit.jit import cache
events = []
cache.watchers.append(lambda event, name: events.append((event, name)))

def table(height):
    return np.ones((height, 16), np.float32)

def rows(count):
    return lodkit.LoDTensor(table(count), [[count // 2, 0, count - count // 2]])

def ids(height, count):
    return lodkit.LoDTensor(np.arange(count) * 7 % height, [[count // 2, 0, count - count // 2]])

def gradient(height, count):
    return lodkit.SelectedRows(np.arange(count) * 7 % height, table(count), height)

calls = {
    "bags": lambda height, count: functools.partial(
        lodkit.embedding_bag, table(height), ids(height, count), pool="mean"),
    "pool": lambda height, count: functools.partial(lodkit.sequence_pool, rows(count), pool="max"),
    "lengths": lambda height, count: functools.partial(
        lodkit.segment_reduce, table(3 * count), np.array([3 * count, 0]), reduce="sum"),
    "softmax": lambda height, count: functools.partial(lodkit.sequence_softmax, rows(count)),
    "adagrad": lambda height, count: functools.partial(
        lodkit.adagrad, table(height), gradient(height, count), table(height), lr=0.1),
}
sizes = [(height, count) for height in (7, 1000, 50_000) for count in (0, 1, 50, 600, 5_000, 150_000)]
"""


@pytest.mark.parametrize("name", ["bags", "pool", "lengths", "softmax", "adagrad"])
@pytest.mark.parametrize("count", [30, 2000])
def test_after_an_example_no_size_compiles(kit, name, count):
    code = f"""
    lodkit.warmup(calls[{name!r}](100, {count}))
    print(len(events) > 0)
    events.clear()
    for size in sizes:
        calls[{name!r}](*size)()
    calls["bags"] = lambda height, count: functools.partial(
        lodkit.embedding_bag, table(height), lodkit.LoDTensor(np.zeros(count, np.int64), [[1] * count]), pool="mean")
    for count in (0, 1, 70_000) if {name!r} == "bags" else ():
        calls["bags"](7, count)()
    print(events)
    """
    assert run(kit, CALLS + dedent(code), LODKIT_CACHE_DIR=os.environ.get("LODKIT_CACHE_DIR", "")) == ["True", "[]"]


#: A call in a place where nothing can be written, by a user who owns nothing.
SERVED = """
import os, tempfile
def refuse(*args, **kwargs):
    raise OSError(30, "Read-only file system")
os.utime = os.makedirs = os.mkdir = os.replace = os.chmod = tempfile.mkstemp = refuse
os.geteuid = lambda: {user}
result = calls["bags"](1000, 30_000)()
print(*sorted({{event for event, _ in events}}), result.shape == (3, 16), (result[0] == 1).all())
"""


def state_of(folder):
    """Name, size, mode and times of each file."""
    found = [(path.name, path.stat()) for path in sorted(folder.iterdir())]
    return [(name, status.st_size, status.st_mode, status.st_mtime_ns) for name, status in found]


def test_a_directory_that_is_shipped_serves_read_only(kit):
    """Also what was compiled before, into another directory, is in it."""
    baked = kit / "image" / "baked"
    code = f"""
    calls["pool"](100, 3)()
    lodkit.warmup(calls["bags"](100, 3), cache={str(baked)!r})
    print(cache.directory())
    """
    place = {"LODKIT_CACHE_DIR": os.environ.get("LODKIT_CACHE_DIR", "")}
    assert run(kit, CALLS + dedent(code), **place) != [str(baked)]
    assert {path.suffix for path in baked.iterdir()} == {".nbc"}
    if os.name == "posix":
        assert {path.stat().st_mode & 0o777 for path in baked.iterdir()} == {0o644}
        assert baked.stat().st_mode & 0o777 == 0o755
    before = state_of(baked)
    served = dedent(SERVED).format(user=12345 if hasattr(os, "geteuid") and os.geteuid() == 0 else "os.getuid()")
    assert run(kit, CALLS + served, LODKIT_CACHE_DIR=str(baked)) == ["loaded", "True", "True"]
    pooled = served.replace('calls["bags"](1000, 30_000)()', 'calls["pool"](100, 3)()')
    assert run(kit, CALLS + pooled, LODKIT_CACHE_DIR=str(baked)) == ["loaded", "True", "True"]
    assert state_of(baked) == before


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="no owners here")
def test_a_directory_of_another_user_than_root_is_not_trusted(kit):
    baked = kit / "baked"
    baked.mkdir()
    code = f"""
    import os, pathlib
    status = os.stat({str(baked)!r})
    for owner, user in (0, 1000), (1000, 1000), (1000, 1001), (1000, 0):
        os.geteuid = lambda: user
        try:
            cache._check_owner("baked", os.stat_result((status.st_mode, 0, 0, 1, owner, 0, 0, 0, 0, 0)))
            print("trusted")
        except OSError:
            print("refused")
    """
    assert run(kit, CALLS + dedent(code)) == ["trusted", "trusted", "refused", "refused"]


def test_code_that_is_kept_nowhere_cannot_be_shipped(kit):
    (kit / "file").touch()
    code = f"""
    import warnings
    warnings.simplefilter("ignore")
    kernels.add(x)
    try:
        lodkit.warmup("relu", cache={str(kit / "baked")!r})
    except OSError as error:
        print(error)
    """
    found = run(kit, CALLS + dedent(code), LODKIT_CACHE_DIR=str(kit / "file" / "x"))
    text = f"1 functions were compiled before and are kept nowhere; bake {kit / 'baked'} in a new process"
    assert " ".join(found) == text
