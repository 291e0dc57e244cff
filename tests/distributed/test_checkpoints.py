"""Checkpoints hold the rows whatever the ranks, and are whole or not at all."""

from __future__ import annotations

import errno
import os
import pathlib
import signal
import subprocess
import sys
import tracemalloc

import numpy as np
import pytest
from saved import HEIGHT, MOMENT, TOTAL, VALUES, check, load_errors, save

from lodkit.distributed import (
    Alone,
    Checkpoint,
    CheckpointError,
    Hashed,
    NoCheckpointError,
    Ranges,
    checkpoint_exchange,
    run_threads,
)
from lodkit.distributed.checkpoint_exchange import Held, read_into
from lodkit.distributed.checkpoint_files import ShardWriter, saving_alone, whole_checkpoints


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(checkpoint_exchange, "BLOCK", 64)


@pytest.mark.parametrize("hot", [None, [0, 7, 102]])
@pytest.mark.parametrize("kind", [Ranges, Hashed])
@pytest.mark.parametrize("ranks", [1, 3, 8])
def test_any_ranks_load_what_any_ranks_saved(tmp_path, ranks, kind, hot):
    assert len(set(save(tmp_path, ranks, kind, hot))) == 1
    found = check(tmp_path)
    assert len(list(found.path.glob("table.values-*.npy"))) == ranks
    for others, dealt in [(1, Ranges), (2, Hashed), (5, Ranges)]:

        def at(engine, others=others, dealt=dealt):
            dealing = dealt(HEIGHT, others, [4, 5])
            rows = dealing.rows(engine.rank)
            values, moment, total = np.zeros((len(rows), 5), np.float16), np.zeros(len(rows)), np.zeros(1)
            opened = checkpoint_exchange.load(engine, tmp_path)
            for name, array in [("values", values), ("moment", moment)]:
                read_into(engine, opened, f"table.{name}", Held(array, dealing))
            read_into(engine, opened, "table.total", Held(total))
            np.testing.assert_array_equal(values, VALUES[rows])
            np.testing.assert_array_equal(moment, MOMENT[rows])
            assert total == TOTAL

        run_threads(others, at)


def test_files_do_not_depend_on_the_dealing(tmp_path):
    contents = []
    for i, (kind, hot) in enumerate([(Ranges, None), (Hashed, None), (Hashed, [3, 50])]):
        save(tmp_path / str(i), 3, kind, hot)
        files = (tmp_path / str(i) / "checkpoint-00000001").iterdir()
        contents.append({file.name: file.read_bytes() for file in files})
    assert contents[0] == contents[1] == contents[2]


def test_rows_are_written_in_blocks(tmp_path, monkeypatch):
    sizes, write = [], ShardWriter.write
    monkeypatch.setattr(ShardWriter, "write", lambda writer, rows: (sizes.append(rows.nbytes), write(writer, rows)))
    save(tmp_path, 2, Hashed)
    assert max(sizes) <= 64
    assert sum(sizes) == VALUES.nbytes + MOMENT.nbytes + TOTAL.nbytes


def test_more_ranks_than_rows_and_no_rows(tmp_path):
    for height in (0, 2):
        directory = tmp_path / str(height)

        def at(engine, height=height, directory=directory):
            dealing = Hashed(height, 4)
            rows = dealing.rows(engine.rank)
            part = Held(np.arange(height * 3.0).reshape(height, 3)[rows], dealing)
            checkpoint_exchange.save(engine, directory, {"table": {}}, {"table.values": part})
            again = np.zeros_like(part.local)
            read_into(engine, checkpoint_exchange.load(engine, directory), "table.values", Held(again, dealing))
            np.testing.assert_array_equal(again, part.local)

        run_threads(4, at)
        assert Checkpoint(directory).table()[0].tolist() == np.arange(height * 3.0).reshape(height, 3).tolist()


def test_rows_without_numbers(tmp_path):
    def at(engine):
        part = Held(np.zeros((4 // engine.size, 0), np.float32), Ranges(4, engine.size))
        checkpoint_exchange.save(engine, tmp_path, {"table": {}}, {"table.values": part})
        read_into(engine, checkpoint_exchange.load(engine, tmp_path), "table.values", part)

    run_threads(2, at)
    assert Checkpoint(tmp_path).table()[0].shape == (4, 0)


def test_the_last_are_kept(tmp_path):
    for i in range(4):
        save(tmp_path, 2, values=VALUES + i, keep=2, extra={"epoch": i, "bias": np.arange(2)})
    assert [path.name for path in whole_checkpoints(tmp_path)] == ["checkpoint-00000003", "checkpoint-00000004"]
    assert check(tmp_path, VALUES + 3).extra()["epoch"] == 3
    assert check(tmp_path / "checkpoint-00000003", VALUES + 2).extra()["epoch"] == 2
    save(tmp_path, 2, keep=None)
    assert len(whole_checkpoints(tmp_path)) == 3
    assert Checkpoint(tmp_path).extra() is None
    with pytest.raises(ValueError, match="keep must be at least 1, or None to keep all, got 0"):
        save(tmp_path, 1, keep=0)


def failing(monkeypatch, owner, name, when):
    """Let a function fail where its arguments say so, as on a full disk."""
    function = getattr(owner, name)

    def fails(*args):
        if when(*args):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return function(*args)

    monkeypatch.setattr(owner, name, fails)


@pytest.mark.parametrize(
    ("owner", "name", "when", "rank"),
    [
        (ShardWriter, "finish", lambda writer: writer.record["first"] == 2 * HEIGHT // 3, 2),
        (ShardWriter, "write", lambda writer, rows: writer.record["first"] == HEIGHT // 3, 1),
        (ShardWriter, "__init__", lambda writer, path, array, first, *_: first == HEIGHT // 3, 1),
        (checkpoint_exchange, "start", lambda directory: True, 0),
        (checkpoint_exchange, "write_manifest", lambda path, content: True, 0),
    ],
)
def test_a_rank_that_fails_is_named_by_all_and_nothing_is_replaced(tmp_path, monkeypatch, owner, name, when, rank):
    save(tmp_path, 3)
    before = {file: file.stat().st_mtime_ns for file in tmp_path.rglob("*") if file.is_file()}
    errors = []

    def recorded(engine):
        try:
            return checkpoint_exchange_save(engine)
        except CheckpointError as error:
            errors.append(str(error))

    def checkpoint_exchange_save(engine):
        dealing = Ranges(HEIGHT, 3)
        part = Held(VALUES[dealing.rows(engine.rank)], dealing)
        return checkpoint_exchange.save(engine, tmp_path, {"table": {}}, {"table.values": part})

    with monkeypatch.context() as patched:
        failing(patched, owner, name, when)
        run_threads(3, recorded)
    assert len(errors) == 3
    for error in errors:
        assert f"{tmp_path}: nothing was saved, earlier checkpoints stay: rank {rank}: OSError: [Errno 28]" in error
    assert {file: file.stat().st_mtime_ns for file in tmp_path.rglob("*") if file.is_file()} == before
    check(tmp_path)
    save(tmp_path, 3, values=VALUES + 1)
    check(tmp_path, VALUES + 1)


def test_files_that_rank_0_does_not_see(tmp_path, monkeypatch):
    """As on machines that have disks of their own."""
    hidden = "table.values-000000000051.npy"
    monkeypatch.setattr(checkpoint_exchange, "sync_folder", lambda path: (path / hidden).unlink(missing_ok=True))
    with pytest.raises(CheckpointError, match=f"{hidden} was written, but is not seen here; give a directory that all"):
        save(tmp_path)


def test_drafts_are_no_checkpoints_and_are_removed(tmp_path):
    with pytest.raises(CheckpointError, match="there is no such directory"):
        Checkpoint(tmp_path / "nowhere")
    none = "no checkpoint in the directory; pass the directory of save"
    with pytest.raises(NoCheckpointError, match=none):
        Checkpoint(tmp_path)
    for error in load_errors(tmp_path, 3):
        assert isinstance(error, NoCheckpointError) and none in str(error)
    save(tmp_path)
    (tmp_path / "checkpoint-00000001" / "manifest.json").unlink()
    with pytest.raises(CheckpointError, match=r"checkpoint-00000001 was never finished \(no manifest\.json\)"):
        Checkpoint(tmp_path)
    with pytest.raises(CheckpointError, match="was never finished"):
        Checkpoint(tmp_path / "checkpoint-00000001")
    notes = tmp_path / "checkpoint-00000001" / "notes.txt"
    notes.write_text("of the user")
    save(tmp_path)
    assert [path.name for path in whole_checkpoints(tmp_path)] == ["checkpoint-00000002"]
    assert list((tmp_path / "checkpoint-00000001").iterdir()) == [notes]
    check(tmp_path)


@pytest.fixture
def interrupts():
    """Ctrl-C raises, also where the tests run in the background, which ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interrupts")
def test_an_interrupt_waits_for_the_end_of_a_save(tmp_path, monkeypatch):
    write = checkpoint_exchange.write_manifest
    monkeypatch.setattr(
        checkpoint_exchange, "write_manifest", lambda *args: (signal.raise_signal(signal.SIGINT), write(*args))
    )
    part = Held(VALUES, Ranges(HEIGHT, 1))
    with pytest.raises(KeyboardInterrupt):
        checkpoint_exchange.save(Alone(), tmp_path, {"table": {}}, {"table.values": part})
    np.testing.assert_array_equal(Checkpoint(tmp_path).rows("table.values"), VALUES)


@pytest.mark.parametrize(("block", "height", "item"), [(1 << 16, 40_000, (64,)), (1 << 24, 4_000_000, ())])
def test_no_second_table_is_made(tmp_path, monkeypatch, block, height, item):
    """To save or to load, of rows that travel; nor what would be larger than one, to route rows of one number."""
    monkeypatch.setattr(checkpoint_exchange, "BLOCK", block)
    tables = [np.ones((height // 2, *item), np.float32) for _ in range(2)]

    def at(engine):
        part = Held(tables[engine.rank], Hashed(height, 2))
        checkpoint_exchange.save(engine, tmp_path, {"table": {}}, {"table.values": part})
        read_into(engine, checkpoint_exchange.load(engine, tmp_path), "table.values", part)

    run_threads(2, at)  # imports and compiles
    tracemalloc.start()
    try:
        run_threads(2, at)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    if item:
        assert peak < 4 << 20 < tables[0].nbytes  # the buffers of checksums and those of files are 1 MiB each
    else:
        assert peak < 2 * 30e6


def test_two_jobs_do_not_save_in_one_directory(tmp_path):
    pytest.importorskip("fcntl")
    with saving_alone(tmp_path), pytest.raises(CheckpointError, match="another job saves there at this moment"):
        save(tmp_path)
    save(tmp_path)


def test_nothing_is_saved_inside_a_checkpoint(tmp_path):
    """A job that loads an earlier checkpoint by name would load that again at every start."""
    save(tmp_path)
    inside = tmp_path / "checkpoint-00000001"
    before = sorted(inside.iterdir())
    with pytest.raises(CheckpointError, match=rf"{inside}: is a checkpoint itself; load it, and save in {tmp_path}$"):
        save(inside)
    assert sorted(inside.iterdir()) == before


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_save_that_is_killed_at_any_file_operation_leaves_the_former_checkpoint(tmp_path):
    script = pathlib.Path(__file__).with_name("killed_saves.py")
    done = subprocess.run([sys.executable, script, tmp_path], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 30  # operations
