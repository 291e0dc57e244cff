"""States that the main job saves: what is not replaced, and what is said of it."""

from __future__ import annotations

import pytest
from test_main import SMALL

from lodkit.__main__ import main
from lodkit.demo.train import Job, Model


def test_saving_touches_nothing_of_others(texts, tmp_path, capsys):
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "thesis.txt").write_text("all of it")
    assert main(["--data", texts, *SMALL, "--save", str(folder)]) == 0
    assert sorted(p.name for p in folder.iterdir()) == ["state.safetensors", "thesis.txt"]
    assert main(["--data", texts, *SMALL, "--save", texts]) == 2
    assert "cannot save there" in capsys.readouterr().err
    (folder / "state.safetensors").write_text("something else of mine")
    assert main(["--data", texts, *SMALL, "--save", str(folder)]) == 2
    assert (folder / "state.safetensors").read_text() == "something else of mine"


def test_a_state_is_not_replaced_by_another_model(texts, tmp_path, capsys):
    """Unless training resumes from it; before data are read."""
    state, other = tmp_path / "state", tmp_path / "other"
    main(["--data", texts, *SMALL, "--save", str(state)])
    main(["--data", texts, *SMALL, "--save", str(other)])
    before = (state / "state.safetensors").read_bytes()
    capsys.readouterr()
    for resumed in ([], ["--resume", str(other)]):
        assert main(["--data", "no such file", *SMALL, "--epochs", "3", "--save", str(state), *resumed]) == 2
        assert "state.safetensors is there already, and is not replaced; give another" in capsys.readouterr().err
    assert (state / "state.safetensors").read_bytes() == before
    sharded = tmp_path / "sharded" / "checkpoint-00000001"
    sharded.mkdir(parents=True)
    assert main(["--data", texts, *SMALL, "--save", str(sharded.parent)]) == 0  # a save that was killed is no state
    (sharded.parent / "state.safetensors").unlink()
    (sharded / "manifest.json").write_text("{}")
    assert main(["--data", texts, *SMALL, "--save", str(sharded.parent), "--resume", str(state)]) == 2
    assert "checkpoint-00000001 is there already" in capsys.readouterr().err
    again = [str(state), "--save", str(tmp_path / "." / "state")]
    assert main(["--data", texts, *SMALL, "--epochs", "3", "--resume", *again]) == 0


def test_a_loss_that_is_no_number_is_not_saved(texts, tmp_path, capsys, monkeypatch):
    state = tmp_path / "state"
    main(["--data", texts, *SMALL, "--save", str(state)])
    before = (state / "state.safetensors").read_bytes()
    monkeypatch.setattr(Model, "step", lambda *args: float("nan"))
    assert main(["--data", texts, *SMALL, "--epochs", "4", "--resume", str(state), "--save", str(state)]) == 2
    assert "epoch   3/4: the loss is NaN, and is not saved; try --lr below 0.1" in capsys.readouterr().err
    assert (state / "state.safetensors").read_bytes() == before


def test_an_interrupt_before_the_first_state_promises_none(texts, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(Job, "run", lambda *args: (_ for _ in ()).throw(KeyboardInterrupt))
    assert main(["--data", texts, *SMALL, "--save", str(tmp_path / "s")]) == 130
    assert "last saved state" not in capsys.readouterr().err


def test_a_state_may_be_older_than_asked(texts, tmp_path, capsys):
    state = str(tmp_path / "s")
    main(["--data", texts, *SMALL, "--save", state])
    assert main(["--data", texts, *SMALL, "--epochs", "1", "--resume", state]) == 0
    assert "already trained for 2 epochs" in capsys.readouterr().out


@pytest.mark.parametrize("option", [["--seed", "3000000000"], ["--seed", f"{2**63 - 1}"], ["--batch", f"{2**31 - 1}"]])
def test_settings_of_any_size_are_resumed(texts, tmp_path, capsys, option):
    state = str(tmp_path / "state")
    assert main(["--data", texts, *SMALL, *option, "--save", state]) == 0
    assert main(["--data", texts, "--epochs", "3", "--resume", state, "--save", state]) == 0, capsys.readouterr().err


@pytest.mark.parametrize(
    ("option", "message"),
    [
        (["--seed", f"{2**63}"], f"--seed takes whole numbers from 0 on, below {2**63}, not {2**63}"),
        (["--batch", f"{2**31}"], f"--batch takes whole numbers from 1 on, below {2**31}, not {2**31}"),
        (["--dim", f"{2**31}"], f"--dim takes whole numbers from 1 on, below {2**31}, not {2**31}"),
    ],
)
def test_settings_that_no_state_holds_are_refused_at_once(tmp_path, capsys, option, message):
    assert main(["--data", "no such file", *SMALL, *option, "--save", str(tmp_path / "s")]) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "s").exists() or not any((tmp_path / "s").iterdir())
