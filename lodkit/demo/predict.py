"""Label texts by a saved model."""

from __future__ import annotations

import numpy as np

import lodkit

from ..arrays import to_device
from ..lod.vocabulary import UNKNOWN
from .checkpoint import check_parameters, unreadable
from .config import DEFAULTS
from .corpus import encode, read_texts
from .models import MODELS
from .progress import Kernels

AT_ONCE = 256  # texts


def predict(path, folder, state, device="cpu"):
    """Print the likeliest label, and its probability, for each line of a file.

    Parameters
    ----------
    path : str
        Texts, as ``read_texts`` takes them.
    folder : str
        Where the state is from, for errors.
    state : dict
        As ``read_state`` returns it.
    device : str

    Raises
    ------
    CheckpointError
        The state's words or arrays are not its model's.
    CorpusError
        The file cannot be read; the message names the line.
    """
    network, labels = MODELS[state["config"].model](state["config"]), [_quote_label(label) for label in state["labels"]]
    try:
        vocabulary = lodkit.Vocabulary([UNKNOWN, *state["words"]], unknown=UNKNOWN)
    except ValueError as error:
        raise unreadable(folder, error) from None
    if not labels:
        raise unreadable(folder, "it has no labels")
    check_parameters(folder, state, len(vocabulary), len(labels))
    parameters = {name: to_device(array, device) for name, array in state["parameters"].items()}
    texts = read_texts(path, network.depth)
    with Kernels(DEFAULTS[state["config"].model].kernels // 2, silent=True):
        for start in range(0, len(texts), AT_ONCE):
            ids = encode(texts[start : start + AT_ONCE], vocabulary, network.depth).to(device)
            best, scores = score_rows(np.asarray(to_device(network.logits(parameters, ids), "cpu")))
            print(*(f"{labels[i]}\t{score:.4f}" for i, score in zip(best, scores, strict=True)), sep="\n", flush=True)


def score_rows(logits):
    """Return the number of the likeliest label of each row, and its probability."""
    best = logits.argmax(axis=1)
    shares = np.exp(logits - logits.max(axis=1, keepdims=True))
    return best, shares.max(axis=1) / shares.sum(axis=1)


def _quote_label(label):
    """A label as it is, or quoted where a line or a terminal would take it for something else."""
    return label if label.isprintable() else ascii(label)
