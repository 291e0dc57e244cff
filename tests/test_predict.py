"""Labelling texts by a saved model: ``--resume DIR --predict FILE``; what a resumed run takes from its state."""

from __future__ import annotations

import json

import numpy as np
import pytest
from test_main import HOW, SMALL, damaged

import lodkit
from lodkit.__main__ import main
from lodkit.demo.corpus import read
from lodkit.demo.models import MODELS

LEARNT = ["--epochs", "30", "--dim", "8", "--batch", "4", "--lr", "0.5"]


@pytest.fixture
def state(texts, tmp_path, capsys):
    """A saved state of a model that has learnt to tell the texts apart."""
    folder = str(tmp_path / "state")
    assert main(["--data", texts, *LEARNT, "--save", folder]) == 0
    capsys.readouterr()
    return folder


def predicted(state, path, capsys, content, *options):
    """Labels and scores that are printed for a file of this content."""
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    assert main(["--resume", state, "--predict", str(path), *options]) == 0
    out, error = capsys.readouterr()
    assert not error
    lines = [line.split("\t") for line in out.splitlines()]
    return [label for label, _ in lines], np.array([float(score) for _, score in lines])


def test_a_label_and_its_score_for_each_line(state, tmp_path, capsys):
    content = (
        'The LEFT word\n\nright, right\nb\tright\n{"words": ["left", "left"]}\n{"label": 3, "words": [["right"]]}\nleft'
    )
    labels, scores = predicted(state, tmp_path / "x", capsys, content)
    assert [labels[i] for i in (0, 2, 3, 4, 5, 6)] == ["b", "a", "a", "b", "a", "b"]
    assert len(labels) == 7
    assert (scores >= 0.5).all()
    assert (scores <= 1).all()
    assert scores[[0, 2, 3, 4, 5, 6]].min() > 0.8


def test_predictions_are_those_of_the_trained_model(state, texts, tmp_path, capsys):
    content = "".join(f"the word {word} w{i % 9}\n" for i in range(300) for word in ("left", "right"))
    labels, _ = predicted(state, tmp_path / "x", capsys, content)
    assert labels == ["b", "a"] * 300


def test_every_model_predicts(tmp_path, capsys):
    path = tmp_path / "sentences.jsonl"
    lines = [{"label": i % 2, "words": [["a", "b"] * (i % 3), ["left" if i % 2 else "right"]]} for i in range(40)]
    path.write_text("\n".join(map(json.dumps, lines)))
    asked = "\n".join(json.dumps({"words": line["words"]}) for line in lines)
    for name in MODELS:
        folder = str(tmp_path / name)
        learn = ["--data", str(path), "--dim", "8", "--batch", "4", "--lr", "0.5", "--epochs", "4"]
        assert main([*learn, "--model", name, "--save", folder]) == 0
        capsys.readouterr()
        assert predicted(folder, tmp_path / "asked", capsys, asked)[0] == [str(i % 2) for i in range(40)], name
    (tmp_path / "plain").write_text("left\n")
    assert main(["--resume", str(tmp_path / "nested"), "--predict", str(tmp_path / "plain")]) == 2
    assert "plain, line 1: words are nested 1 deep, the model reads 2" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"one\n\xff\xfe\n", "line 2: "),
        (b'one\ntwo\n{"words": "x"}\n', 'line 3: "words" is not a list'),
        (b'{"label": "a"}\n', 'line 1: {...} lacks "words"'),
        (b'{"words": ["x", 3]}\n', "line 1: a word is neither"),
        (b"{" + b'"words":' + b"[" * 100_000, "line 1: "),
        (b"", "no texts"),
    ],
)
def test_a_bad_file_is_named(state, tmp_path, capsys, content, message):
    path = tmp_path / "bad"
    path.write_bytes(content)
    assert main(["--resume", state, "--predict", str(path)]) == 2
    out, error = capsys.readouterr()
    assert not out
    assert error.startswith(f"error: {path}")
    assert message in error
    assert error.count("\n") == 1


def test_missing_files_and_states(state, tmp_path, capsys):
    assert main(["--resume", state, "--predict", str(tmp_path / "none")]) == 2
    assert "none: No such file" in capsys.readouterr().err
    assert main(["--resume", state, "--predict", str(tmp_path)]) == 2
    assert f"error: {tmp_path}: Is a directory" in capsys.readouterr().err
    assert main(["--resume", str(tmp_path / "none"), "--predict", state]) == 2
    assert "no saved state" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["--predict", str(tmp_path / "none")])
    assert "--predict FILE needs --resume DIR" in capsys.readouterr().err


@pytest.mark.parametrize("how", [*HOW, "no labels", "words twice", "label of two lines"])
def test_a_damaged_state_predicts_or_is_refused(texts, tmp_path, capsys, how):
    main(["--data", texts, *SMALL, "--save", str(tmp_path / "s")])
    path = tmp_path / "s" / "state.safetensors"
    if how in HOW:
        damaged(path, how)
    else:
        found = lodkit.load(path)
        wrong = {
            "no labels": {"labels": []},
            "words twice": {"words": [found["words"][0]] * len(found["words"])},
            "label of two lines": {"labels": ["a\nb", "a\x1b[2J"]},
        }
        lodkit.save(path, {**found, **wrong[how]})
    capsys.readouterr()
    code = main(["--resume", str(tmp_path / "s"), "--predict", texts])
    out, error = capsys.readouterr()
    if code == 2:
        assert error.startswith(f"error: {tmp_path / 's'}")
        assert error.count("\n") == 1
        assert not out
    else:
        assert how in (
            "another moment",
            "settings of other types",
            "no iteration",
            "iteration is huge",
            "label of two lines",
        )
        assert out.count("\n") == 40
        assert out.replace("\n", "").replace("\t", "").isprintable()


def test_a_resumed_run_takes_the_settings_that_were_saved(texts, tmp_path, capsys):
    state = str(tmp_path / "s")
    chosen = ["--model", "gru", "--pool", "last", "--optimizer", "adam", "--lr", "0.01", "--dim", "6", "--seed", "3"]
    assert main(["--data", texts, *chosen, "--epochs", "1", "--save", state]) == 0
    assert main(["--data", texts, "--epochs", "2", "--resume", state, "--save", state]) == 0
    assert "model: gru" in capsys.readouterr().out
    assert lodkit.load(f"{state}/state.safetensors")["epoch"] == 2
    for option, value in (("--model", "bag"), ("--dim", "8"), ("--optimizer", "sgd"), ("--seed", "0")):
        assert main(["--data", texts, "--resume", state, option, value]) == 2
        assert f"saved with {option[2:]}=" in capsys.readouterr().err
    assert main(["--data", "stdlib", "--resume", state]) == 2
    assert f"labels or words differ; --data was {texts!r}" in capsys.readouterr().err


def test_a_path_that_a_state_tells_is_named_and_not_read(state, texts, capsys):
    assert main(["--resume", state, "--epochs", "31"]) == 2
    out, error = capsys.readouterr()
    assert out == f"reading {state}\n"
    assert error == f"error: {state}: the state was trained on {texts!r}; give --data FILE, the same texts\n"


def test_a_state_of_the_standard_library_needs_no_data(texts, tmp_path, capsys, monkeypatch):
    corpus = read(texts)
    monkeypatch.setattr("lodkit.demo.train.standard_library", lambda together: corpus)
    folder = str(tmp_path / "library")
    assert main([*SMALL, "--save", folder]) == 0
    assert main(["--resume", folder, "--epochs", "3", "--save", folder]) == 0
    assert "reading the docstrings of Python's standard library" in capsys.readouterr().out
    assert lodkit.load(f"{folder}/state.safetensors")["epoch"] == 3


@pytest.mark.parametrize(
    "options", [["--save", "x"], ["--epochs", "3"], ["--data", "x"], ["--lr", "0.1"], ["--model", "bag"]]
)
def test_options_that_do_not_apply_are_refused(options, tmp_path, capsys):
    for command in (["--resume", str(tmp_path), "--predict", "texts"], ["info"]):
        with pytest.raises(SystemExit) as exit:
            main([*command, *options])
        assert exit.value.code == 2
        assert f"leave out {options[0]}" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["dim", "batch"])
def test_sizes_that_only_a_state_claims_take_no_memory(texts, tmp_path, capsys, name):
    main(["--data", texts, *SMALL, "--save", str(tmp_path / "s")])
    path = tmp_path / "s" / "state.safetensors"
    found = lodkit.load(path)
    lodkit.save(path, {**found, "config": {**found["config"], name: (1 << 31) - 1}})
    capsys.readouterr()
    code = main(["--data", texts, "--epochs", "3", "--resume", str(tmp_path / "s")])
    assert code == (2 if name == "dim" else 0)
    if code:
        assert "not float32 of shape" in capsys.readouterr().err
