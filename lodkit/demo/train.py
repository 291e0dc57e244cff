"""Predict a text's label from its words, with sparse gradients for the word table."""

from __future__ import annotations

import collections
import dataclasses
import pathlib
import sys
import tempfile
import time
import timeit

import numpy as np

import lodkit

from ..arrays import to_device
from ..errors import LodkitError
from . import corpus as corpora
from .models import MODELS, ModelError

STATE = "state.safetensors"  # nothing in it is compressed, or larger than the file
MOST_EPOCHS = 1 << 31
TOGETHER = 4  # docstrings that a nested model reads as one example
OPTIMIZERS = {cls.__name__.lower(): cls for cls in lodkit.optim.Optimizer.__subclasses__()}


class CheckpointError(LodkitError, ValueError):
    """The directory has no state to resume from, or another model's."""


@dataclasses.dataclass
class Config:
    """Definition of a model; must be equal in a resumed run. None is the model's own default."""

    data: str = "stdlib"
    pool: str | None = None
    optimizer: str = "adagrad"
    lr: float | None = None
    dim: int | None = None
    batch: int | None = None
    seed: int = 0
    model: str = "bag"

    def __post_init__(self):
        for name in ("pool", "lr", "dim", "batch"):
            if getattr(self, name) is None:
                setattr(self, name, getattr(MODELS[self.model].defaults, name))
        MODELS[self.model](self)  # raises, before anything is read


class Model:
    """A model with its optimizer, on the CPU or a GPU."""

    def __init__(self, words, labels, config, device="cpu"):
        self.config, self.device = config, device
        self.network = MODELS[config.model](config)
        parameters = self.network.parameters(words, labels, config.seed)
        self.parameters = {name: to_device(array, device) for name, array in parameters.items()}
        self.optimizer = OPTIMIZERS[config.optimizer](self.parameters, lr=config.lr)

    def restore(self, parameters, state):
        """Take saved parameters and the state of the optimizer."""
        self.parameters = {name: to_device(parameters[name], self.device) for name in self.parameters}
        self.optimizer = OPTIMIZERS[self.config.optimizer](self.parameters, lr=self.config.lr)
        self.optimizer.load_state_dict(state)

    def logits(self, ids):
        return self.network.logits(self.parameters, ids)

    def gradients(self, ids, labels):
        """Return the loss of a batch and its gradients; the table's is SelectedRows."""
        ids, labels = ids.to(self.device), to_device(labels, self.device)
        with lodkit.Tape() as tape:
            loss = lodkit.mean(lodkit.softmax_with_cross_entropy(self.logits(ids), labels))
        return float(to_device(loss, "cpu")[0]), tape.gradient(loss, list(self.parameters.values()))

    def step(self, ids, labels):
        loss, gradients = self.gradients(ids, labels)
        self.optimizer.step(gradients)
        return loss

    def accuracy(self, ids, labels):
        logits = to_device(self.logits(ids.to(self.device)), "cpu")
        return float((logits.argmax(axis=1) == labels).mean())


class Progress:
    """A progress bar on a terminal; elsewhere one line per epoch."""

    def __init__(self, epoch, epochs, total):
        self.name, self.total = f"epoch {epoch:3}/{epochs}", total
        self.started, self.live, self.drawn = time.perf_counter(), sys.stderr.isatty(), 0.0
        self.losses, self.words, self.done = [], 0, 0

    def step(self, loss, words, examples):
        self.losses.append(loss)
        self.words += words
        self.done += examples
        now = time.perf_counter()
        if self.live and now - self.drawn > 0.1:
            self.drawn = now
            filled = 30 * self.done // max(self.total, 1)
            bar = "#" * filled + "-" * (30 - filled)
            print(f"\r{self.name} [{bar}] {self.facts()}", end="", file=sys.stderr, flush=True)

    def facts(self):
        return f"loss {np.mean(self.losses):.4f}  {self.rate():,.0f} words/s"

    def rate(self):
        return self.words / max(time.perf_counter() - self.started, 1e-9)

    def close(self, extra):
        if self.live:
            print("\r" + " " * 100 + "\r", end="", file=sys.stderr)
        print(f"{self.name}  {self.facts()}  {time.perf_counter() - self.started:.2f} s  {extra}", flush=True)


def read_corpus(config):
    """Read the texts as deeply nested as the model reads them."""
    depth = MODELS[config.model].depth
    if config.data == "stdlib":
        return corpora.standard_library(together=None if depth == 1 else TOGETHER)
    found = corpora.read(config.data)
    if depth > 1 and found.depth != depth:
        raise ModelError(
            f'{config.data}: --model {config.model} reads JSON lines of texts in lists, {{"label": "x", "words": '
            f'[["one", "text"], ["another"]]}}; here words are nested {found.depth} deep, not {depth}'
        )
    return found


class Job:
    """Data, model and state of one training run."""

    def __init__(self, config, data=None, resume=None, device="cpu"):
        self.config, self.epoch, self.rate = config, 0, 0.0
        self.corpus = data or read_corpus(config)
        self.names = sorted(set(self.corpus.labels))
        number = {name: i for i, name in enumerate(self.names)}
        labels = np.array([number[label] for label in self.corpus.labels])
        train, test = corpora.split(self.corpus.labels, config.seed)
        if not len(test):
            raise corpora.CorpusError(f"{config.data}: no text is left for testing; a label needs at least 10 texts")
        examples = self.corpus.examples
        self.vocabulary = corpora.vocabulary([examples[i] for i in train])
        depth = MODELS[config.model].depth
        self.train = corpora.encode([examples[i] for i in train], self.vocabulary, depth), labels[train]
        self.test = corpora.encode([examples[i] for i in test], self.vocabulary, depth), labels[test]
        self.words = [*self.vocabulary][1:]  # without the one that stands for unknown words
        self.model = Model(len(self.vocabulary), len(self.names), config, device)
        if resume is not None:
            self.load(resume)

    def run(self, epochs, save=None):
        """Train up to ``epochs``, saving the state after each."""
        ids, labels = self.train
        while self.epoch < epochs:
            seed = self.config.seed * 10_007 + self.epoch
            self.epoch += 1
            progress = Progress(self.epoch, epochs, len(labels))
            bucket = self.model.network.bucket
            for words, truth in lodkit.batches(ids, labels, size=self.config.batch, seed=seed, bucket=bucket):
                progress.step(self.model.step(words, truth), len(words.values), len(truth))
            self.rate = progress.rate()
            progress.close(f"test accuracy {100 * self.model.accuracy(*self.test):.1f} %")
            if save is not None:
                self.save(save)

    def save(self, folder):
        """Write the state atomically."""
        state = pathlib.Path(folder, STATE)
        state.parent.mkdir(parents=True, exist_ok=True)
        found = {"config": dataclasses.asdict(self.config), "epoch": self.epoch, "labels": self.names}
        found["words"] = self.words
        model = {"parameters": self.model.parameters, "optimizer": self.model.optimizer.state_dict()}
        lodkit.save(state, {**found, **model})

    def load(self, folder):
        state = read_state(folder)
        for name, value in dataclasses.asdict(self.config).items():
            found = state["config"][name]
            if name != "data" and (type(found) is not type(value) or found != value):  # labels and words identify it
                raise CheckpointError(f"{folder}: saved with {name}={found!r}, not {value!r}")
        if state["labels"] != self.names or state["words"] != self.words:
            raise CheckpointError(f"{folder}: saved for other data: labels or words differ")
        for name, array in self.model.parameters.items():
            found = state["parameters"].get(name)
            fits = isinstance(found, np.ndarray) and found.shape == tuple(array.shape) and found.dtype == np.float32
            if not fits:
                raise CheckpointError(f"{folder}: {name} is missing, or not float32 of shape {tuple(array.shape)}")
        try:
            self.model.restore(state["parameters"], state["optimizer"])
        except MemoryError:
            raise
        except Exception as error:  # whatever settings of all kinds and types make it do
            raise _unreadable(folder, f"the optimizer's state does not fit: {error}") from None
        self.epoch = state["epoch"]

    def majority(self):
        """Return the test accuracy of always predicting the most frequent training label."""
        top = collections.Counter(self.train[1].tolist()).most_common(1)[0][0]
        return float((self.test[1] == top).mean())

    def update_times(self):
        """Return the seconds of one table update by a sparse gradient, and by the same gradient, dense."""
        ids, labels = self.train
        words, truth = next(iter(lodkit.batches(ids, labels, size=self.config.batch, seed=0)))
        _, (sparse, *_) = self.model.gradients(words, truth)
        model = self.model
        table = to_device(np.array(to_device(model.parameters["table"], "cpu")), model.device)
        optimizer = OPTIMIZERS[self.config.optimizer]({"table": table}, lr=self.config.lr)

        def update(gradient):
            optimizer.step([gradient])
            if model.device == "cuda":
                to_device(table[:1], "cpu")  # synchronises

        return [min(timeit.repeat(lambda g=g: update(g), number=1, repeat=20)) for g in (sparse, sparse.to_dense())]


def read_state(folder):
    """Read the state saved in a directory."""
    try:
        state = lodkit.load(pathlib.Path(folder, STATE))
    except FileNotFoundError:
        raise CheckpointError(f"{folder}: no saved state: it has no {STATE}") from None
    except (OSError, LodkitError) as error:
        raise _unreadable(folder, error) from None
    if not isinstance(state, dict):
        raise _unreadable(folder, f"it holds a {type(state).__name__}")
    config, epoch = state.get("config"), state.get("epoch")
    if not isinstance(config, dict) or config.keys() != {field.name for field in dataclasses.fields(Config)}:
        raise _unreadable(folder, "config is no setting of every name")
    if type(epoch) is not int or not 0 <= epoch < MOST_EPOCHS:
        raise _unreadable(folder, f"epoch is no whole number from 0 on, below {MOST_EPOCHS}")
    kinds = {"labels": list, "words": list, "parameters": dict, "optimizer": dict}
    if wrong := [name for name, kind in kinds.items() if not isinstance(state.get(name), kind)]:
        raise _unreadable(folder, f"{wrong[0]} is missing or of another kind")
    if not all(isinstance(x, str) for x in (*state["labels"], *state["words"])):
        raise _unreadable(folder, "labels and words are no texts")
    return state


def _unreadable(folder, why):
    file = pathlib.Path(folder, STATE)
    return CheckpointError(f"{file}: the saved state cannot be read ({why}); move it away, or give another directory")


def check_folder(folder):
    """Make the directory to save in before training; raise if it has a file that is not a state."""
    folder = pathlib.Path(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise CheckpointError(f"{folder}: cannot save there ({error.strerror}); give a directory") from None
    if (folder / STATE).exists():
        read_state(folder)


def describe(job):
    """Describe the data: levels, lengths, padding avoided."""
    ids, texts = job.train[0], "texts"
    if job.config.data == "stdlib" and job.corpus.depth > 1:
        texts = f"texts of up to {TOGETHER} docstrings of a module"
    lines = [f"{len(job.corpus.labels):,} {texts}, {len(job.names)} labels, {len(job.words):,} words in training"]
    natural, known = job.corpus.natural, ("modules per package", "docstrings per module", "words per docstring")
    for level in range(natural.lod_level):
        lengths = natural.lengths(level)
        what = known[level] if job.config.data == "stdlib" else "length"
        lines.append(
            f"  level {level}: {len(lengths):,} sequences; {what}: "
            f"min {lengths.min()}, median {int(np.median(lengths))}, max {lengths.max()}"
        )
    waste = 100 * ids.padding_waste()
    lines.append(f"  training texts as one batch: {len(ids.values):,} words; padding avoided: {waste:.1f} %")
    return "\n".join(lines)
