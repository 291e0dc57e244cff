"""The main job: data, training, saving, and what it says of bad input."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest
from samples import some_of

import lodkit
from lodkit.__main__ import main
from lodkit.demo.config import Config
from lodkit.demo.models import MODELS
from lodkit.demo.train import Job

SMALL = ["--epochs", "2", "--dim", "8", "--batch", "4"]


def test_trains_and_reports(texts, capsys):
    assert main(["--data", texts, "--epochs", "30", "--lr", "0.5"]) == 0
    out = capsys.readouterr().out
    assert "test accuracy: 100.0 %" in out
    assert "majority baseline: 50.0 %" in out
    assert "model: bag" in out
    assert "words per second" in out
    assert "table update: sparse" in out


@pytest.mark.parametrize(
    ("pool", "optimizer"), some_of([("sum", "sgd"), ("max", "momentum"), ("mean", "lamb"), ("sqrt", "ftrl")], 2)
)
def test_options(texts, pool, optimizer, tmp_path, capsys):
    save = ["--save", str(tmp_path / "state"), "--lr", "0.01"]
    assert main(["--data", texts, *SMALL, "--pool", pool, "--optimizer", optimizer, *save]) == 0
    assert Job(Config(texts, pool, optimizer, 0.01, 8, 4), resume=tmp_path / "state").epoch == 2


@pytest.fixture
def sentences(tmp_path):
    """Texts of two sentences, one of them without words in some."""
    path = tmp_path / "sentences.jsonl"
    lines = [{"label": i % 2, "words": [["a", "b"] * (i % 3), ["left" if i % 2 else "right"]]} for i in range(40)]
    path.write_text("\n".join(map(json.dumps, lines)))
    return str(path)


def test_every_model_trains(sentences, capsys):
    for name in MODELS:
        assert main(["--data", sentences, *SMALL, "--lr", "0.5", "--epochs", "4", "--model", name]) == 0
        out = capsys.readouterr().out
        assert f"model: {name}" in out
        assert "test accuracy: 100.0 %" in out, name
        assert "words per second" in out


def test_a_recurrent_model_resumes(sentences, tmp_path, capsys):
    state = str(tmp_path / "state")
    nested = ["--data", sentences, *SMALL, "--model", "nested", "--pool", "last"]
    assert main([*nested, "--save", state]) == 0
    assert main([*nested, "--epochs", "3", "--resume", state, "--save", state]) == 0
    config = Config(data=sentences, pool="last", dim=8, batch=4, model="nested")
    resumed, whole = Job(config, resume=state), Job(config)
    whole.run(3)
    for name, array in whole.model.parameters.items():
        np.testing.assert_array_equal(resumed.model.parameters[name], array)
    assert main(["--data", sentences, *SMALL, "--model", "gru", "--pool", "last", "--resume", state]) == 2
    assert "saved with model='nested', not 'gru'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--model", "nested"], "here words are nested 1 deep, not 2"),
        (["--model", "bag", "--pool", "last"], "--model bag takes --pool sum, mean, sqrt, max, min, not last"),
        (["--model", "attention", "--dim", "7"], "--dim must be even, not 7"),
    ],
)
def test_what_a_model_cannot_take(texts, options, message, capsys):
    assert main(["--data", texts, *options]) == 2
    assert message in capsys.readouterr().err


def test_resumed_equals_uninterrupted(texts, tmp_path, capsys):
    state = str(tmp_path / "state")
    main(["--data", texts, *SMALL, "--save", state])
    main(["--data", texts, *SMALL, "--epochs", "4", "--resume", state, "--save", state])
    config = Config(data=texts, dim=8, batch=4)
    resumed, whole = Job(config, resume=state), Job(config)
    whole.run(4)
    assert resumed.epoch == 4
    for name, array in whole.model.parameters.items():
        np.testing.assert_array_equal(resumed.model.parameters[name], array)


def test_an_interrupt_leaves_the_last_state_whole(texts, tmp_path, capsys, monkeypatch):
    state = tmp_path / "state"
    main(["--data", texts, *SMALL, "--save", str(state)])
    before = {f.name: f.read_bytes() for f in state.iterdir()}

    def interrupted(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(json, "dumps", interrupted)
    assert main(["--data", texts, *SMALL, "--epochs", "3", "--resume", str(state), "--save", str(state)]) == 130
    assert {f.name: f.read_bytes() for f in state.iterdir()} == before
    assert [p.name for p in tmp_path.iterdir() if p.name.startswith(".")] == []
    assert "last saved state" in capsys.readouterr().err


def test_json_lines_nested_as_deep_as_they_like(tmp_path, capsys):
    path = tmp_path / "deep.jsonl"
    lines = [{"label": i % 2, "words": [[["x", "y"], ["z"]], [["left" if i % 2 else "right"]]]} for i in range(20)]
    path.write_text("\n".join(map(json.dumps, lines)) + "\n\n")
    assert main(["--data", str(path), *SMALL]) == 0


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"a\tone\nno tab here\n", "line 2: neither"),
        (b'{"label": "a", "words": ["x"]}\n{"label": "b"}\n', 'line 2: {...} lacks "words"'),
        (b'{"label": "a", "words": ["x"]}\n{"label": "b", "words": [\n', "line 2: "),
        (b'{"label": "a", "words": "x"}\n', 'line 1: "words" is not a list'),
        (b'{"label": "a", "words": ["x", 3]}\n', "line 1: a word is neither"),
        (b'{"label": "a", "words": ["x", ["y"]]}\n', "line 1: words and lists of words"),
        (b'{"label": "a", "words": ["x"]}\n{"label": "b", "words": [["x"]]}\n', "line 2: words are nested 2 deep"),
        (b"a\tone\nb\t\xff\xfe\n", "line 2: "),
        (b'{"label": null, "words": ["x"]}\n', 'line 1: "label" is None'),
        (b"{" + b'"label":' + b"[" * 100_000, "line 1: "),
        (b"", "at least two labels are needed"),
        (b"a\tone\na\ttwo\n", "at least two labels are needed"),
    ],
)
def test_bad_files_are_named_by_line(tmp_path, capsys, content, message):
    path = tmp_path / "bad"
    path.write_bytes(content)
    assert main(["--data", str(path), *SMALL, "--save", str(tmp_path / "state")]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert "Traceback" not in error
    assert not (tmp_path / "state").exists()


def test_missing_file_and_bad_state(texts, tmp_path, capsys):
    assert main(["--data", str(tmp_path / "none"), *SMALL]) == 2
    assert main(["--data", texts, *SMALL, "--resume", str(tmp_path / "none")]) == 2
    main(["--data", texts, *SMALL, "--save", str(tmp_path / "s")])
    assert main(["--data", texts, *SMALL, "--resume", str(tmp_path / "s"), "--pool", "sum"]) == 2
    assert "saved with pool='mean', not 'sum'" in capsys.readouterr().err


def damaged(state, how):
    """A saved state with something wrong in it."""
    found = lodkit.load(state)
    if how == "cut":
        state.write_bytes(state.read_bytes()[:-100])
    elif how == "text":
        state.write_text("no archive")
    elif how == "no facts":
        lodkit.save(state, found["parameters"])
    elif how == "no dictionary":
        lodkit.save(state, lodkit.LoDTensor([1.0], [[1]]))
    elif how == "an empty config":
        lodkit.save(state, {**found, "config": {}})
    elif how == "a config without model":
        del found["config"]["model"]
        lodkit.save(state, found)
    elif how.startswith("epoch is"):
        wrong = {"text": "x", "true": True, "huge": 10**400, "negative": -1}[how.split()[-1]]
        lodkit.save(state, {**found, "epoch": wrong})
    elif how == "no bias":
        del found["parameters"]["bias"]
        lodkit.save(state, found)
    elif how == "another table":
        found["parameters"]["table"] = found["parameters"]["table"][:1]
        lodkit.save(state, found)
    elif how == "numbers for words":
        lodkit.save(state, {**found, "words": [np.ones(2)]})
    elif how == "a number for the table":
        lodkit.save(state, {**found, "parameters": {**found["parameters"], "table": 3}})
    elif how == "an array for a setting":
        lodkit.save(state, {**found, "config": {**found["config"], "lr": np.ones(2)}})
    elif how == "a rate that is huge":
        lodkit.save(state, {**found, "config": {**found["config"], "lr": 10**400}})
    elif how == "another moment":
        found["optimizer"]["states"]["table"]["moment"] = np.zeros(3)
        lodkit.save(state, found)
    elif how == "settings of other types":
        found["optimizer"]["groups"][0] |= {"lr": ["x"], "epsilon": {"a": None}}
        lodkit.save(state, found)
    elif how == "no iteration":
        del found["optimizer"]["iteration"]
        lodkit.save(state, found)
    elif how == "iteration is huge":
        found["optimizer"]["states"]["table"]["iteration"] = 10**400
        lodkit.save(state, found)
    else:
        del found[how]
        lodkit.save(state, found)


HOW = ["cut", "text", "epoch", "config", "words", "optimizer", "epoch is text", "no facts", "no bias", "another table"]
HOW += ["another moment", "no iteration", "epoch is true", "epoch is huge", "epoch is negative", "no dictionary"]
HOW += ["an empty config", "a config without model", "settings of other types", "labels", "parameters"]
HOW += ["numbers for words", "a number for the table", "an array for a setting", "iteration is huge"]
HOW += ["a rate that is huge"]


@pytest.mark.parametrize("how", HOW)
def test_a_damaged_state_is_refused(texts, tmp_path, capsys, how):
    main(["--data", texts, *SMALL, "--save", str(tmp_path / "s")])
    damaged(tmp_path / "s" / "state.safetensors", how)
    assert main(["--data", texts, *SMALL, "--resume", str(tmp_path / "s")]) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"error: {tmp_path / 's'}") and error.count("\n") == 1


@pytest.mark.parametrize(
    "options",
    [
        ["--lr", "nan"],
        ["--lr", "-1"],
        ["--seed", "-1"],
        ["--epochs", "0"],
        ["--epochs", "x"],
        ["--pool", "x"],
        ["--save", ""],
    ],
)
def test_options_are_checked(options, capsys):
    with pytest.raises(SystemExit) as exit:
        main(options)
    assert exit.value.code == 2
    assert options[0] in capsys.readouterr().err


def test_sequences_without_words_fit_any_depth(tmp_path, capsys):
    path = tmp_path / "empty.jsonl"
    words = ['[["x", "y"], ["z"]]', "[]", "[[], []]", '[["x"], []]']
    path.write_text("".join(f'{{"label": {i % 2}, "words": {words[i % 4]}}}\n' for i in range(40)))
    assert main(["--data", str(path), *SMALL]) == 0
    out = capsys.readouterr().out
    assert "level 0: 40 sequences; length: min 0, median 2, max 2" in out
    assert "level 1: 60 sequences; length: min 0" in out


def test_too_few_texts_to_hold_any_out(tmp_path, capsys):
    path = tmp_path / "two"
    path.write_text("a\tone\nb\ttwo\n")
    assert main(["--data", str(path), *SMALL]) == 2
    assert "no text is left for testing" in capsys.readouterr().err


def test_empty_texts_are_examples_too(tmp_path, capsys):
    path = tmp_path / "t.tsv"
    path.write_text("a\t\nb\tword\n" * 10)
    assert main(["--data", str(path), *SMALL]) == 0


def test_help_runs_as_a_module():
    out = subprocess.run([sys.executable, "-m", "lodkit", "--help"], capture_output=True, text=True, check=True).stdout
    assert "--resume" in out


def test_a_model_that_memory_does_not_hold(texts, capsys, monkeypatch):
    empty = lodkit.empty
    monkeypatch.setattr(
        lodkit, "empty", lambda shape, *dtype: empty((1 << 58, 8) if len(shape) == 2 else shape, *dtype)
    )
    assert main(["--data", texts]) == 2
    assert "no memory for" in (err := capsys.readouterr().err)
    assert "reduce --dim or --batch" in err
