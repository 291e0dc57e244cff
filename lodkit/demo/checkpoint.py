"""Saved states: one file in a directory, which may come from anybody and is checked before it is used."""

from __future__ import annotations

import dataclasses
import math
import pathlib
import tempfile

import numpy as np

import lodkit

from ..arrays import is_number
from ..base.errors import LodkitError
from .config import DEFAULTS, Config
from .models import MODELS, OPTIMIZERS

STATE = "state.safetensors"  # nothing in it is compressed, or larger than the file
MAX_EPOCHS = 1 << 31
SETTINGS = {field.name: field.type for field in dataclasses.fields(Config)}


class CheckpointError(LodkitError, ValueError):
    """The directory has no state to resume from, or another model's."""


def read_state(folder):
    """Read the state saved in a directory; its ``config`` is a Config."""
    if pathlib.Path(folder).is_file():
        parent = pathlib.Path(folder).parent
        raise CheckpointError(f"{folder}: a file, where a directory is to be given; pass {parent}")
    try:
        state = lodkit.load(pathlib.Path(folder, STATE))
    except FileNotFoundError:
        if any(pathlib.Path(folder).glob("checkpoint-*/manifest.json")):
            raise CheckpointError(f"{folder}: saved by --distributed; resume it with --distributed") from None
        raise CheckpointError(f"{folder}: no saved state: it has no {STATE}") from None
    except (OSError, LodkitError) as error:
        raise unreadable(folder, error) from None
    return checked_state(folder, state)


def checked_state(folder, state):
    """Check what was read as a state; its ``config`` becomes a Config."""
    if not isinstance(state, dict):
        raise unreadable(folder, f"it holds a {type(state).__name__}")
    epoch = state.get("epoch")
    if type(epoch) is not int or not 0 <= epoch < MAX_EPOCHS:
        raise unreadable(folder, f"epoch is no whole number from 0 on, below {MAX_EPOCHS}")
    kinds = {"config": dict, "labels": list, "words": list, "parameters": dict, "optimizer": dict}
    if wrong := [name for name, kind in kinds.items() if not isinstance(state.get(name), kind)]:
        raise unreadable(folder, f"{wrong[0]} is missing or of another kind")
    if not all(isinstance(x, str) for x in (*state["labels"], *state["words"])):
        raise unreadable(folder, "labels and words are no texts")
    state["config"] = _config(folder, state["config"])
    return state


def _config(folder, found):
    """Config of the settings in a state."""
    if found.keys() != SETTINGS.keys():
        raise unreadable(folder, "config is no setting of every name")
    for name, value in found.items():
        known = {"model": DEFAULTS, "optimizer": OPTIMIZERS}.get(name)
        if name in ("data", "pool", "model", "optimizer"):
            fits = isinstance(value, str) and (known is None or value in known)
        elif name == "lr":
            fits = type(value) in (int, float) and is_number(value) and 0 < value < math.inf
        else:
            fits = type(value) is int  # Config knows the ranges
        if not fits:
            raise unreadable(folder, f"config has {name}={value!r:.60}")
    try:
        return Config(**found)
    except LodkitError as error:
        raise unreadable(folder, error) from None


def check_parameters(folder, state, words, labels):
    """Raise unless a state has the arrays of its model, for so many words and labels."""
    for name, shape in MODELS[state["config"].model](state["config"]).shapes(words, labels).items():
        found = state["parameters"].get(name)
        if not (isinstance(found, np.ndarray) and found.shape == shape and found.dtype == np.float32):
            raise CheckpointError(f"{folder}: {name} is missing, or not float32 of shape {shape}")


def check_settings(folder, saved, given):
    """Raise where a setting is given by name and is not the saved one; ``data`` may have moved."""
    for name, value in given.items():
        found = getattr(saved, name)
        if name != "data" and (type(found) is not type(value) or found != value):
            raise CheckpointError(f"{folder}: saved with {name}={found!r}, not {value!r}")


def check_data(folder, data):
    """Raise unless the saved data is the standard library: a path that only a state tells is not read."""
    if data != "stdlib":
        raise CheckpointError(f"{folder}: the state was trained on {data!r:.200}; give --data FILE, the same texts")


def unreadable(folder, why):
    file = pathlib.Path(folder, STATE)
    return CheckpointError(f"{file}: the saved state cannot be read ({why}); move it away, or give another directory")


def write_state(folder, **state):
    """Write a state atomically."""
    path = pathlib.Path(folder, STATE)
    path.parent.mkdir(parents=True, exist_ok=True)
    lodkit.save(path, {**state, "config": dataclasses.asdict(state["config"])})


def check_unused(folder, resumed):
    """Raise if a state, or a file of its name, is where one is to be saved, unless training resumes from there."""
    folder = pathlib.Path(folder)
    found = [path.name for path in (folder / STATE,) if path.exists()]
    found += [path.parent.name for path in folder.glob("checkpoint-*/manifest.json")]
    if found and (resumed is None or folder.resolve() != pathlib.Path(resumed).resolve()):
        raise CheckpointError(
            f"{folder}: {found[0]} is there already, and is not replaced; give another directory, or --resume {folder}"
        )


def check_folder(folder):
    """Make the directory to save in before training; raise where it is one checkpoint of --distributed."""
    folder = pathlib.Path(folder)
    if (folder / "manifest.json").exists():
        raise CheckpointError(f"{folder}: is a checkpoint itself; save in another directory")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise CheckpointError(f"{folder}: cannot save there ({error.strerror}); give a directory") from None
