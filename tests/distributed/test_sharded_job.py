"""The main job with its table sharded: the same bits on any number of ranks, and the losses of one process."""

from __future__ import annotations

import json

import numpy as np
import pytest

import lodkit
from lodkit.__main__ import main
from lodkit.demo.config import Config
from lodkit.demo.sharded import ShardedJob, read_sharded, run_at_all_ranks
from lodkit.demo.train import Job
from lodkit.distributed import Alone, Checkpoint, RankError, run_threads

SMALL = ["--epochs", "2", "--dim", "8", "--batch", "4"]


@pytest.fixture
def texts(tmp_path):
    """Texts of two sentences, one of them without words in some."""
    path = tmp_path / "sentences.jsonl"
    lines = [
        {"label": i % 2, "words": [["a", f"w{i % 9}"] * (i % 3), ["left" if i % 2 else "right"]]} for i in range(40)
    ]
    path.write_text("\n".join(map(json.dumps, lines)))
    return str(path)


def trained(job, epochs=range(2)):
    """Losses of some epochs, the dense parameters and the accuracy."""
    losses = []
    for epoch in epochs:
        for words, truth in lodkit.batches(*job.train, size=job.config.batch, seed=epoch):
            losses.append(job.model.step(words, truth))
    return losses, getattr(job.model, "dense", None), job.model.accuracy(*job.test)


@pytest.mark.parametrize("model", ["bag", "nested"])
def test_ranks_have_the_bits_of_one_process(texts, model):
    config = Config(texts, optimizer="adagrad", dim=8, batch=7, model=model)

    def run(engine):
        job = ShardedJob(config, engine)
        job.prepare()
        table = job.model.table
        return (*trained(job), table.dealing.rows(engine.rank), table.values, table.states["moment"])

    losses, dense, accuracy, _, values, moment = run(Alone())
    for ranks in (2, 3, 9):  # 9 are more than a batch has blocks, and than it has texts
        results = run_threads(ranks, run)
        rows = np.argsort(np.concatenate([result[3] for result in results]))
        assert np.concatenate([result[4] for result in results])[rows].tobytes() == values.tobytes()
        assert np.concatenate([result[5] for result in results])[rows].tobytes() == moment.tobytes()
        for found in results:
            assert found[0] == losses
            assert found[2] == accuracy
            assert all(found[1][name].tobytes() == array.tobytes() for name, array in dense.items())
    job = Job(config)
    np.testing.assert_allclose(trained(job)[0], losses, rtol=1e-5)
    np.testing.assert_allclose(job.model.parameters["table"], values, atol=1e-5)


def test_a_run_goes_on_with_other_ranks(texts, tmp_path):
    config, saved = Config(texts, dim=8, batch=4), tmp_path / "saved"

    def begin(engine):
        job = ShardedJob(config, engine)
        job.prepare()
        job.run(1, str(saved))

    def go_on(engine):
        job = ShardedJob(config, engine, resume=str(saved))
        job.prepare()
        assert job.epoch == 1
        job.run(3, str(tmp_path / "end"))

    run_threads(3, begin)
    run_threads(2, go_on)
    alone = ShardedJob(config, Alone())
    alone.prepare()
    alone.run(3, str(tmp_path / "alone"))
    one, many = read_sharded(tmp_path / "alone"), read_sharded(tmp_path / "end")
    assert one["epoch"] == many["epoch"] == 3
    for name, array in one["parameters"].items():
        assert array.tobytes() == many["parameters"][name].tobytes()


def test_a_resume_reads_each_row_at_one_rank(texts, tmp_path, monkeypatch):
    config = Config(texts, dim=8, batch=4)
    begun = ShardedJob(config, Alone())
    begun.prepare()
    begun.run(1, str(tmp_path))
    read, rows = [], Checkpoint.rows
    monkeypatch.setattr(Checkpoint, "rows", lambda self, *args: (read.append(args), rows(self, *args))[1])

    def resumed(engine):
        job = ShardedJob(config, engine, resume=str(tmp_path))
        assert not read
        engine.barrier()
        job.prepare()

    run_threads(3, resumed)
    words = len(begun.vocabulary)
    values = sorted(args[1:] for args in read if args[0] == "table.values")
    assert [first for first, _ in values] == [0, words // 3, 2 * words // 3]
    assert [last for _, last in values] == [words // 3, 2 * words // 3, words]


def test_options(texts, tmp_path, capsys):
    saved, alone = str(tmp_path / "saved"), str(tmp_path / "alone")
    assert main(["--data", texts, *SMALL, "--distributed", "--save", saved]) == 0
    out = capsys.readouterr().out
    assert "test accuracy" in out
    assert "rank 0 of 1 (one process)" in out
    assert main(["--data", texts, *SMALL, "--distributed", "--resume", saved, "--epochs", "3"]) == 0
    assert "epoch   3/3" in capsys.readouterr().out
    assert main(["--resume", saved, "--predict", texts]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 40
    assert main(["--data", texts, "--resume", saved]) == 2
    assert "saved by --distributed; resume it with --distributed" in capsys.readouterr().err
    assert main(["--data", texts, *SMALL, "--save", alone]) == 0
    assert main(["--data", texts, "--resume", alone, "--distributed"]) == 2
    assert "one process saved this state; resume it without --distributed" in capsys.readouterr().err
    assert main(["--data", texts, "--resume", str(tmp_path), "--distributed"]) == 2
    assert "no checkpoint" in capsys.readouterr().err
    assert main(["--data", texts, *SMALL, "--save", alone, "--distributed"]) == 2
    assert "state.safetensors is there already, and is not replaced; give another directory" in capsys.readouterr().err
    assert main(["--data", texts, *SMALL, "--save", saved]) == 2
    assert "is there already, and is not replaced; give another directory" in capsys.readouterr().err
    inside = sorted((tmp_path / "saved").iterdir())[-1]
    assert main(["--data", texts, *SMALL, "--distributed", "--resume", str(inside), "--save", str(inside)]) == 2
    assert f"{inside}: is a checkpoint itself; save in another directory" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["--distributed", "--device", "cuda"])
    assert "--distributed keeps the table on CPUs" in capsys.readouterr().err


def test_all_end_where_one_fails_before_it_exchanges_anything():
    def fail(engine):
        if engine.rank == 1:
            raise lodkit.LodkitError("no such file here")
        return engine.rank

    def run(engine):
        with pytest.raises((RankError, SystemExit)) as raised:
            run_at_all_ranks(engine, fail, engine)
        return str(raised.value)

    assert run_threads(3, run) == ["rank 1 raised LodkitError: no such file here", "2", "2"]
    assert run_threads(2, lambda engine: run_at_all_ranks(engine, lambda: engine.rank)) == [0, 1]
