"""Checkpoints are read by few files at a time, also while others save."""

from __future__ import annotations

import contextlib
import os
import pathlib
import sys

import numpy as np
import pytest
from saved import HEIGHT, MOMENT, VALUES, check, save

import lodkit
from lodkit.distributed import Checkpoint, CheckpointError, Hashed, checkpoint_exchange, run_threads
from lodkit.distributed.checkpoint_exchange import Held, read_into


def opened_files(action):
    """Names of the files with rows that an action opens."""
    names = []

    def hook(event, args):
        if recording and event == "open" and isinstance(args[0], (str, os.PathLike)) and f"{args[0]}".endswith(".npy"):
            names.append(os.path.basename(args[0]))

    recording = True
    sys.addaudithook(hook)  # for good: Python removes none
    action()
    recording = False
    return names


def test_each_file_is_opened_by_the_ranks_whose_rows_it_has(tmp_path, monkeypatch):
    save(tmp_path, 40)
    looked, look = [], Checkpoint._check_size
    monkeypatch.setattr(Checkpoint, "_check_size", lambda self, file: (looked.append(file["name"]), look(self, file)))

    def at(engine):
        dealing = Hashed(HEIGHT, 4)
        found = checkpoint_exchange.load(engine, tmp_path, verify=False)
        read_into(engine, found, "table.moment", Held(np.zeros(dealing.counts[engine.rank]), dealing))

    names = opened_files(lambda: run_threads(4, at))
    assert set(names) == {path.name for path in tmp_path.rglob("table.moment-*")}
    assert len(names) <= 40 + 3  # those on the bounds of ranges twice
    assert len(looked) == len(set(looked)) == 81


@pytest.mark.skipif(not pathlib.Path("/proc/self/fd").exists(), reason="counts descriptors by Linux's /proc")
def test_more_files_than_descriptors(tmp_path):
    resource = pytest.importorskip("resource")
    save(tmp_path, 40)
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    used = max(map(int, os.listdir("/proc/self/fd")))
    resource.setrlimit(resource.RLIMIT_NOFILE, (used + 8, limits[1]))
    try:
        check(tmp_path)
        found = Checkpoint(tmp_path)
        with contextlib.ExitStack() as files:
            with contextlib.suppress(OSError):
                while True:
                    files.enter_context(open(os.devnull))
            with pytest.raises(CheckpointError, match=r"\.npy: cannot be read \(Too many open files\)$"):
                found.rows("table.values")
            with pytest.raises(CheckpointError, match=r"\.npy: cannot be read \(Too many open files\)$"):
                found.verify()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)


def test_a_checkpoint_that_is_removed_while_it_is_read(tmp_path):
    save(tmp_path, extra={"epoch": 1})
    found = Checkpoint(tmp_path)
    save(tmp_path, keep=1)
    for read in (found.verify, found.table, found.extra):
        with pytest.raises(CheckpointError, match=rf"1: the checkpoint was removed while .* open {tmp_path} again"):
            read()


def test_rows_of_a_checkpoint(tmp_path):
    save(tmp_path, 3)
    found = Checkpoint(tmp_path)
    np.testing.assert_array_equal(found.rows("table.values", 30, 70), VALUES[30:70])
    assert found.rows("table.values", 70, 30).shape == (0, 5)
    np.testing.assert_array_equal(found.pick("table.moment", np.array([0, 34, 102])), MOMENT[[0, 34, 102]])
    for ids in ([102, 0, 34], [34, 34, 0], np.array([70, 1], np.int32), []):
        np.testing.assert_array_equal(found.pick("table.values", ids), VALUES[np.array(ids, int)])
    with pytest.raises(KeyError, match=r"has no array 'values', but table\.values, table\.moment, table\.total"):
        found.rows("values")
    with pytest.raises(KeyError, match="has no table 'users', but table"):
        found.table("users")


@pytest.mark.parametrize(
    ("ids", "error", "message"),
    [
        ([5, HEIGHT], lodkit.RowIndexError, rf"ids\[1\] = {HEIGHT} is outside \[0, {HEIGHT}\)"),
        ([-1, 3], lodkit.RowIndexError, r"ids\[0\] = -1 is outside"),
        ([1.0], lodkit.DTypeError, "ids must be integers, not float64"),
        ([[1, 2]], lodkit.ShapeMismatchError, r"ids must be one-dimensional, got shape \(1, 2\)"),
    ],
)
def test_picked_rows_are_of_the_checkpoint(tmp_path, ids, error, message):
    save(tmp_path, 3)
    with pytest.raises(error, match=message):
        Checkpoint(tmp_path).pick("table.values", ids)


def test_no_row_is_left_unread(tmp_path):
    save(tmp_path, 3)
    found = Checkpoint(tmp_path)
    found.arrays["table.values"]["shape"][0] = HEIGHT + 5
    with pytest.raises(CheckpointError, match=f"the files have {HEIGHT} of {HEIGHT + 5} rows of table.values"):
        found.rows("table.values")
    with pytest.raises(CheckpointError, match="the files have 1 of 2 rows of table"):
        found.pick("table.values", [0, HEIGHT])
