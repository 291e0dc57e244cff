"""Files are replaced whole, and what killed processes leave behind is removed by the next that saves."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest

import lodkit
from lodkit.files import replacing

fcntl = pytest.importorskip("fcntl")

WRITES = """
import sys, time
from lodkit.files import replacing
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
