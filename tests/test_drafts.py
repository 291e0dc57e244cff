"""Files are replaced whole, and what killed processes leave behind is removed by the next that saves."""

from __future__ import annotations

import os
import signal
import struct
import subprocess
import sys
import threading

import numpy as np
import pytest
from conftest import tracing

import lodkit
from lodkit.base.files import ACCESS, replacing

fcntl = pytest.importorskip("fcntl")

WRITES = """
import sys, time
from lodkit.base.files import replacing
with replacing(sys.argv[1]) as file:
    file.write(b"half")
    file.flush()
    print("here", flush=True)
    time.sleep(60)
"""


def drafts(folder):
    return sorted(x.name for x in folder.iterdir() if x.name.startswith("."))


def writing(file):
    """A process in the middle of a save."""
    process = subprocess.Popen([sys.executable, "-c", WRITES, str(file)], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "here\n"
    return process


def test_drafts_of_killed_processes_are_removed_and_no_others(tmp_path):
    file, other = tmp_path / "state.npz", tmp_path / "state.npz.npz"
    killed, alive, elsewhere = (writing(path) for path in (file, file, other))
    mine = [".state.npz", ".state.npz.draft", ".state.npz.12345678.draft.txt", ".state.npz.notes123.draft"]
    for name in mine:
        (tmp_path / name).write_text("of the user")
    try:
        for process in (killed, elsewhere):
            process.send_signal(signal.SIGKILL)
            process.wait()
        assert len(drafts(tmp_path)) == 3 + len(mine)
        lodkit.save(file, {"x": np.arange(3)})
        assert len(drafts(tmp_path)) == 2 + len(mine)  # of the living, and of the other file
        assert lodkit.load(file)["x"].tolist() == [0, 1, 2]
    finally:
        for process in (killed, alive, elsewhere):
            process.kill()
            process.wait()
            process.stdout.close()
    lodkit.save(file, {"x": np.arange(4)})
    lodkit.save(other, {"x": np.arange(4)})
    assert drafts(tmp_path) == sorted(mine)


def test_threads_that_save_one_file_disturb_each_other_not(tmp_path):
    file, errors = tmp_path / "x.safetensors", []

    def save(number):
        try:
            for _ in range(30):
                lodkit.save(file, {"x": np.full(100, number)})
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=save, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    found = lodkit.load(file)["x"]
    assert (found == found[0]).all()
    assert os.listdir(tmp_path) == [file.name]


def test_where_files_cannot_be_locked(tmp_path, monkeypatch):
    def refused(*args):
        raise OSError("no locks")

    left = tmp_path / ".x.12345678.draft"
    left.write_text("")
    monkeypatch.setattr(fcntl, "flock", refused)
    with replacing(tmp_path / "x") as file:
        file.write(b"whole")
    assert (tmp_path / "x").read_bytes() == b"whole"
    assert left.exists()  # who knows whose


@pytest.fixture
def _usual_mask():
    before = os.umask(0o022)
    yield
    os.umask(before)


def modes(folder):
    return {oct(x.stat().st_mode & 0o7777) for x in folder.iterdir()}


@pytest.mark.usefixtures("_usual_mask")
@pytest.mark.parametrize("mode", [0o600, 0o640, 0o400, 0o666])
@pytest.mark.parametrize("suffix", [".npz", ".safetensors"])
def test_the_mode_of_a_replaced_file_is_kept(tmp_path, suffix, mode):
    file = tmp_path / f"x{suffix}"
    lodkit.save(file, {"x": 1})
    assert modes(tmp_path) == {"0o644"}
    file.chmod(mode)
    os.symlink(file, link := tmp_path.parent / f"{tmp_path.name}{suffix}")
    for path in (file, link):
        lodkit.save(path, {"x": 2})
        assert modes(tmp_path) == {oct(mode)}


@pytest.mark.usefixtures("_usual_mask")
def test_a_draft_is_never_more_readable_than_the_file(tmp_path):
    file, seen = tmp_path / "x", []
    file.write_bytes(b"private")
    file.chmod(0o600)

    def trace(frame, event, arg):
        seen.append(modes(tmp_path))
        return trace

    with tracing(trace), replacing(file) as opened:
        opened.write(b"more of it")
    assert all(found == {"0o600"} for found in seen)
    with replacing(file) as opened:
        file.chmod(0o640)  # meanwhile
    assert modes(tmp_path) == {"0o640"}
    with replacing(file) as opened:
        file.unlink()
    assert modes(tmp_path) == {"0o600"}


def test_rights_that_cannot_be_kept_are_not_given_to_another_group(tmp_path, monkeypatch):
    file = tmp_path / "x"
    file.write_bytes(b"of a group")
    file.chmod(0o664)
    real = os.stat

    def of_another_group(path, **options):
        found = real(path, **options)
        return os.stat_result((*found[:5], found.st_gid + 1, *found[6:])) if str(path) == str(file) else found

    def refused(*args):
        raise PermissionError

    monkeypatch.setattr(os, "stat", of_another_group)
    monkeypatch.setattr(os, "fchown", refused)
    with replacing(file) as opened:
        opened.write(b"x")
    monkeypatch.undo()
    assert modes(tmp_path) == {"0o644"}


def entries(*found):
    """An access control list as Linux keeps it, of kinds, rights and numbers of users."""
    return struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *entry) for entry in found)


def test_access_control_lists(tmp_path):
    """A folder may have one for new files, which a file that was there before has not."""
    none = 0xFFFFFFFF
    rights = entries((1, 6, none), (2, 4, 1234), (4, 0, none), (16, 4, none), (32, 0, none))
    file, listed = tmp_path / "x", tmp_path / "listed"
    for path in (file, listed):
        path.write_bytes(b"")
        path.chmod(0o640)
    try:
        os.setxattr(listed, ACCESS, rights)
        os.setxattr(tmp_path, "system.posix_acl_default", rights)
    except (OSError, AttributeError):
        pytest.skip("no access control lists here")
    for path in (file, listed):
        with replacing(path) as opened:
            opened.write(b"x")
    assert os.getxattr(listed, ACCESS) == rights
    assert ACCESS not in os.listxattr(file)
    assert modes(tmp_path) == {"0o640"}


def test_where_modes_cannot_be_set(tmp_path, monkeypatch):
    file = tmp_path / "x"
    file.write_bytes(b"old")

    def refused(*args):
        raise PermissionError

    for name in ("fchown", "fchmod"):
        monkeypatch.setattr(os, name, refused)
    with replacing(file) as opened:
        opened.write(b"new")
    assert file.read_bytes() == b"new"
    assert modes(tmp_path) == {"0o600"}
