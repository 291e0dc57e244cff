"""Where the disk cache lies: places that cannot be written to or trusted, and what is kept there."""

from __future__ import annotations

import os
import textwrap
import time

import pytest
from kernel_package import run
from test_cache import ADD, entries

#: Two kernels in the place at hand: their results, hits and misses, and the text of the one warning.
WARNED = """
import warnings
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    print(kernels.add(x), kernels.most(x), *hits(kernels.add))
assert len(told) == 1, told
assert told[0].category is RuntimeWarning
assert told[0].filename == "<string>", told[0].filename  # the line that called, as -c names it
print(told[0].message)
"""


def warned(kit, before="", **place):
    """What WARNED prints of its results, and the warning."""
    found = run(kit, textwrap.dedent(before) + WARNED, **place)
    assert "set LODKIT_CACHE_DIR to a directory" in " ".join(found)
    return found[:4], " ".join(found[4:])


def test_an_install_where_nothing_can_be_written(kit):
    (kit / "file").touch()
    below = str(kit / "file" / "x")
    for place in ({"LODKIT_CACHE_DIR": below}, {"LODKIT_CACHE_DIR": "", "HOME": below, "XDG_CACHE_HOME": below}):
        found, warning = warned(kit, **place)
        assert found == ["6.0", "3.0", "0", "1"]
        assert below in warning


def test_directories_that_cannot_be_made(kit):
    code = """
    import os
    def refuse(*args, **kwargs):
        raise PermissionError("read-only")
    os.makedirs = os.mkdir = refuse
    """
    found, warning = warned(kit, code)
    assert found == ["6.0", "3.0", "0", "1"]
    assert "PermissionError: read-only" in warning
    assert "report" not in warning
    assert not (kit / "cache").exists()


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="no owners here")
def test_entries_that_others_can_write_are_not_loaded(kit):
    run(kit, ADD)
    cache = kit / "cache"
    cache.chmod(0o777)
    found, warning = warned(kit)
    assert found == ["6.0", "3.0", "0", "1"]
    assert f"others can write to {cache}" in warning
    cache.chmod(0o755)
    assert run(kit, ADD) == ["6.0", "1", "0"]
    if os.geteuid() == 0:
        os.chown(cache, 12345, 12345)
        assert warned(kit) == (found, warning)


def test_a_numba_that_no_longer_fits_is_reported(kit):
    run(kit, ADD)
    for broken in ("serialise", "target_of", "deserialise"):
        code = f"""
        from lodkit.jit import private_numba
        private_numba.{broken} = lambda *args: args.no_such_thing
        """
        found, warning = warned(kit, code)
        assert found == ["6.0", "3.0", *("01" if broken != "serialise" else "10")]
        assert "AttributeError: 'tuple' object has no attribute 'no_such_thing'" in warning
        assert "report" in warning
    assert run(kit, ADD) == ["6.0", "1", "0"]


def test_a_whole_cache_that_is_read_only_serves_in_silence(kit):
    run(kit, ADD)
    code = """
    import tempfile
    def refuse(*args, **kwargs):
        raise PermissionError("read-only")
    tempfile.mkstemp = refuse
    """
    assert run(kit, textwrap.dedent(code) + ADD) == ["6.0", "1", "0"]
    assert warned(kit, code)[0] == ["6.0", "3.0", "1", "0"]


def test_old_entries_are_removed_and_others_files_kept(kit):
    run(kit, ADD)
    (entry,) = entries(kit)
    note = kit / "cache" / "note.txt"
    note.touch()
    long_ago = time.time() - 365 * 86400
    for path in (entry, note):
        os.utime(path, (long_ago, long_ago))
    run(kit, "kernels.most(x)")
    assert not entry.exists()
    assert note.exists()
    assert len(entries(kit)) == 2
