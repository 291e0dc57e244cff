"""Damaged checkpoints are refused by name, with the checkpoint before; manifests are not believed."""

from __future__ import annotations

import json
import os
import re
import shutil
import time
import zlib

import numpy as np
import pytest
from saved import HEIGHT, VALUES, check, load_errors, save

from lodkit.distributed import Checkpoint, CheckpointError, ShardedTable, table


def flip(path, at):
    data = bytearray(path.read_bytes())
    data[at] ^= 1
    path.write_bytes(data)


def cut(path, at):
    path.write_bytes(path.read_bytes()[:at])


FILE = "table.values-000000000051.npy"


@pytest.mark.parametrize(
    ("damage", "name", "why"),
    [
        (lambda path: flip(path, -1), FILE, "its checksum is [0-9a-f]{8}, not [0-9a-f]{8}"),
        (lambda path: flip(path, 70), FILE, "its checksum is"),
        (lambda path: cut(path, 100), FILE, r"it has 100 bytes, not \d+"),
        (lambda path: path.unlink(), FILE, "No such file or directory"),
        (lambda path: flip(path, 200), "extra.safetensors", "its checksum is"),
        (lambda path: flip(path, 60), "manifest.json", ""),
        (lambda path: cut(path, 60), "manifest.json", ""),
        (lambda path: path.write_text("[]"), "manifest.json", ""),
        (lambda path: path.write_text("[" * 10**5), "manifest.json", ""),
    ],
)
def test_damage_is_refused_by_name_with_the_checkpoint_before(tmp_path, damage, name, why):
    for i in range(3):
        save(tmp_path, 2, values=VALUES + i, extra={"epoch": i, "bias": np.arange(100)})
    damage(tmp_path / "checkpoint-00000003" / name)
    message = rf"checkpoint-00000003/{name}: the checkpoint is damaged \(.*{why}.*\); use an earlier checkpoint: (.*2)$"
    with pytest.raises(CheckpointError, match=message):
        Checkpoint(tmp_path).verify()
    for error in load_errors(tmp_path, 3):
        assert name in str(error)
        assert re.search(r"not loaded: rank [\d, ]+: .*; use an earlier checkpoint: (\S+2)$", str(error))
    check(tmp_path / "checkpoint-00000002", VALUES + 1)
    shutil.copytree(tmp_path / "checkpoint-00000003", tmp_path / "copy")
    with pytest.raises(CheckpointError, match="there is no earlier checkpoint"):  # none is known to be
        Checkpoint(tmp_path / "copy").verify()
    shutil.rmtree(tmp_path / "checkpoint-00000002")
    shutil.rmtree(tmp_path / "checkpoint-00000001")
    with pytest.raises(CheckpointError, match="there is no earlier checkpoint"):
        Checkpoint(tmp_path).verify()


def rewritten(path, change):
    """A manifest that somebody changed, with the right checksum."""
    content = json.loads(path.read_text())["manifest"]
    change(content)
    text = json.dumps(content, sort_keys=True)
    path.write_text(json.dumps({"manifest": content, "crc32": zlib.crc32(text.encode())}))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda m: m.update(format=2), "is of format 2, this version of lodkit reads 1"),
        (lambda m: m["files"][0].update(name="../../secret"), "it is not what save writes"),
        (lambda m: m["files"][0].update(name="/etc/passwd-000000000000.npy"), "it is not what save writes"),
        (lambda m: m["files"][0].update(rows=-1), "it is not what save writes"),
        (lambda m: m["files"][0].update(array="other"), "it is not what save writes"),
        (lambda m: m["arrays"]["table.values"].update(dtype="|O"), "it is not what save writes"),
        (lambda m: m["arrays"]["table.values"].update(shape=[HEIGHT, 2**61]), "too short for 51 rows"),
        (lambda m: m["arrays"]["table.values"].update(shape=[HEIGHT + 1, 5]), "no file of table.values from row 103"),
        (lambda m: m["files"].pop(0), "no file of table.values from row 0 on, of 103"),
        (lambda m: m["arrays"]["table.values"].update(dtype="<i2"), r"<f2, not \(51, 5\) <i2"),
        (lambda m: m.pop("tables"), "it is not what save writes"),
        (lambda m: m["arrays"]["table.values"].update(shape=[HEIGHT, 5, *[1] * 70]), "it is not what save writes"),
        (lambda m: m["arrays"]["table.values"].update(dtype="f4," * 10**5), "it is not what save writes"),
        (lambda m: m["arrays"]["table.values"].update(shape=[2] * 10**5), "it is not what save writes"),
        (lambda m: m.update(format="x" * 10**6), r"is of format 'x+ \.\.\. \([\d,]+ characters\) \.\.\. x+', this ver"),
    ],
)
def test_manifests_are_not_believed(tmp_path, change, message):
    save(tmp_path)
    rewritten(tmp_path / "checkpoint-00000001" / "manifest.json", change)
    began = time.process_time()
    with pytest.raises(CheckpointError, match=message) as caught:
        Checkpoint(tmp_path).table()
    assert len(str(caught.value)) <= 2000
    assert time.process_time() - began < 1.5


@pytest.mark.parametrize("content", [[1, 2], "text", 5, None])
def test_a_manifest_of_another_kind(tmp_path, content):
    save(tmp_path)
    manifest = tmp_path / "checkpoint-00000001" / "manifest.json"
    manifest.write_text(json.dumps({"manifest": content, "crc32": zlib.crc32(json.dumps(content).encode())}))
    with pytest.raises(CheckpointError, match=r"the checkpoint is damaged \(it is not what save writes\)"):
        Checkpoint(tmp_path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names here")
@pytest.mark.parametrize("kind", ["pipe", "device"])
@pytest.mark.parametrize("look", [True, False])
def test_files_that_are_no_regular_files(tmp_path, kind, look):
    """They have 0 bytes, and no end."""
    save(tmp_path)
    name = "zz-000000000000.npy"
    record = {"name": name, "array": "zz", "first": 0, "rows": 0, "bytes": 0, "crc32": 0}

    def change(manifest):
        manifest["arrays"]["zz"] = {"dtype": "<f4", "shape": [0, 1]}
        manifest["files"].append(record)

    folder = tmp_path / "checkpoint-00000001"
    rewritten(folder / "manifest.json", change)
    os.mkfifo(folder / name) if kind == "pipe" else (folder / name).symlink_to("/dev/zero")
    with pytest.raises(CheckpointError, match="is no regular file"):
        Checkpoint(tmp_path, look=look).verify()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: t.update(height=10**12), r"table\.values is .*\[100, 8\].*, where adagrad needs \(1000000000000, "),
        (lambda t: t.update(width=9), r"table\.values is .*\[100, 8\].*, where adagrad needs \(100, 9\)"),
        (lambda t: t.update(dtype="<f8"), r"table\.values is .*<f4.*, where adagrad needs \(100, 8\) float64"),
        (lambda t: t.update(rule="adam", states=[]), r"table\.moment1 is None, where adam needs"),
        (lambda t: t.update(height="100"), "height, width, iteration or dealing"),
        (lambda t: t.update(iteration="x"), "height, width, iteration or dealing"),
        (lambda t: t.update(iteration=-1), "height, width, iteration or dealing"),
        (lambda t: t["dealing"].update(hot=[100]), "height, width, iteration or dealing"),
        (lambda t: t["dealing"].update(seed=-1), "height, width, iteration or dealing"),
        (lambda t: t["dealing"].update(kind="other"), "height, width, iteration or dealing"),
        (lambda t: t["dealing"].update(kind=["hash"]), "height, width, iteration or dealing"),
        (lambda t: t.update(dealing=None), "NoneType"),
        (lambda t: t.update(dtype=7), "dtype, rule, exchange or attrs"),
        (lambda t: t.update(dtype="float"), "adagrad needs"),
        (lambda t: t.update(dtype="int64"), "int64"),
        (lambda t: t.update(dtype="no such type"), "no such type"),
        (lambda t: t.update(rule="no such rule"), "no such rule"),
        (lambda t: t.update(rule=["adagrad"]), "dtype, rule, exchange or attrs"),
        (lambda t: t.update(states=["absent"]), "has no states"),
        (lambda t: t.update(states=3), "not iterable"),
        (lambda t: t.update(attrs={"hot": [1]}), "dtype, rule, exchange or attrs"),
        (lambda t: t.update(attrs={"comm": 1}), "comm"),
        (lambda t: t.update(attrs={"mask": 1}), "takes no mask"),
        (lambda t: t.update(attrs=[["lr", 1]]), "unhashable"),
        (lambda t: t.update(width=10**30), "height, width, iteration or dealing"),
        (lambda t: t.update(width=2**61), "there is no memory for"),
        (lambda t: t.update(exchange="other"), "exchange must be"),
        (lambda t: t.clear(), "KeyError"),
    ],
)
def test_what_a_manifest_says_of_a_table_is_compared_before_memory_is_taken(tmp_path, monkeypatch, change, message):
    ShardedTable(100, 8, lr=0.1, dealing="hash").save(tmp_path)
    rewritten(tmp_path / "checkpoint-00000001" / "manifest.json", lambda m: change(m["tables"]["table"]))
    filled = table.filled_rows
    monkeypatch.setattr(table, "filled_rows", lambda *args: (1 / (args[1].height == 0), filled(*args))[1])
    with pytest.raises(CheckpointError, match=message):
        ShardedTable.load(tmp_path)
