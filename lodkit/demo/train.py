"""Predict a text's label from its words, with sparse gradients for the word table."""

from __future__ import annotations

import collections
import dataclasses
import time
import timeit
import typing

import numpy as np

import lodkit

from ..arrays import to_device
from . import corpus as corpora
from .checkpoint import CheckpointError, check_parameters, check_settings, read_state, unreadable, write_state
from .models import MODELS, OPTIMIZERS, ModelError
from .progress import Bar, Kernels, say
from .stdlib import standard_library

TOGETHER = 4  # docstrings that a nested model reads as one example
PAYS = 1.1  # by how much the sparse update must be faster, beyond the noise of measuring
# A batch that has more than one in this number of the words is a large part of the table.
DENSE_STEP_ABOVE = 10


class Model:
    """A model with its optimizer, on the CPU or a GPU."""

    def __init__(self, words, labels, config, device="cpu"):
        self.config, self.device = config, device
        self.network = MODELS[config.model](config)
        parameters = self.network.parameters(words, labels, config.seed)
        self.parameters = {name: lodkit.parameter(to_device(array, device)) for name, array in parameters.items()}
        self.optimizer = OPTIMIZERS[config.optimizer](self.parameters, lr=config.lr)

    def restore(self, parameters, state):
        """Take saved parameters and the state of the optimizer."""
        self.parameters = {name: lodkit.parameter(to_device(parameters[name], self.device)) for name in self.parameters}
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


class Epoch:
    """Loss and speed of one epoch; what was compiled meanwhile does not count as its time."""

    def __init__(self, name, kernels):
        self.name, self.kernels = name, kernels
        self.started, self.compiling = time.perf_counter(), kernels.seconds
        self.losses, self.words = [], 0

    def step(self, loss, words):
        self.losses.append(loss)
        self.words += words

    def seconds(self):
        return max(time.perf_counter() - self.started - self.kernels.seconds + self.compiling, 1e-9)

    def rate(self):
        return self.words / self.seconds()

    def __str__(self):
        return f"loss {np.mean(self.losses):.4f}  {self.rate():,.0f} words/s"


def read_corpus(config):
    """Read the texts as deeply nested as the model reads them."""
    depth = MODELS[config.model].depth
    if config.data == "stdlib":
        return standard_library(together=None if depth == 1 else TOGETHER)
    found = corpora.read(config.data)
    if depth > 1 and found.depth != depth:
        raise ModelError(
            f'{config.data}: --model {config.model} reads JSON lines of texts in lists, {{"label": "x", "words": '
            f'[["one", "text"], ["another"]]}}; here words are nested {found.depth} deep, not {depth}'
        )
    return found


class Job:
    """Data, model and state of one training run."""

    make, read = staticmethod(Model), staticmethod(read_state)

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
        state = (
            None if resume is None else self.check_saved(resume)
        )  # before memory is taken for the model that it tells
        self.model = self.make(len(self.vocabulary), len(self.names), config, device)
        if state:
            self.restore(resume, state)

    def run(self, epochs, save=None, kernels=None):
        """Train up to ``epochs``, saving the state after each."""
        ids, labels = self.train
        kernels = kernels or Kernels(0)
        first, size = self.epoch, len(labels)
        bar = Bar("training", size * (epochs - first), "")
        while self.epoch < epochs:
            seed = self.config.seed * 10_007 + self.epoch
            done = size * (self.epoch - first)
            self.epoch += 1
            epoch = Epoch(f"epoch {self.epoch:3}/{epochs}", kernels)
            bar.name = epoch.name
            bucket = self.model.network.bucket
            for words, truth in lodkit.batches(ids, labels, size=self.config.batch, seed=seed, bucket=bucket):
                epoch.step(self.model.step(words, truth), len(words.values))
                done += len(truth)
                bar.at(done, epoch)
            facts, seconds, self.rate = str(epoch), epoch.seconds(), epoch.rate()
            accuracy = 100 * self.model.accuracy(*self.test)
            kernels.report()
            say(f"{epoch.name}  {facts}  {seconds:.2f} s  test accuracy {accuracy:.1f} %")
            if np.isnan(epoch.losses).any():
                raise ModelError(f"{epoch.name}: the loss is NaN, and is not saved; try --lr below {self.config.lr:g}")
            if save is not None:
                self.save(save)

    def save(self, folder):
        """Write the state atomically."""
        model = {"parameters": self.model.parameters, "optimizer": self.model.optimizer.state_dict()}
        write_state(folder, config=self.config, epoch=self.epoch, labels=self.names, words=self.words, **model)

    def check_saved(self, folder):
        """Return a saved state of this model, and of these data."""
        state = self.read(folder)
        check_settings(folder, state["config"], dataclasses.asdict(self.config))
        if state["labels"] != self.names or state["words"] != self.words:
            data = state["config"].data
            raise CheckpointError(f"{folder}: saved for other data, labels or words differ; --data was {data!r:.200}")
        check_parameters(folder, state, len(self.vocabulary), len(self.names))
        return state

    def restore(self, folder, state):
        try:
            self.model.restore(state["parameters"], state["optimizer"])
        except MemoryError:
            raise
        except Exception as error:  # whatever settings of all kinds and types make it do
            raise unreadable(folder, f"the optimizer's state does not fit: {error}") from None
        self.epoch = state["epoch"]

    def prepare(self):
        """Compile nearly all that a step takes, and time updates of the table."""
        self.update = self.update_times()

    def facts(self):
        """What the run says at its end of the table."""
        return f"table update: {self.update}"

    def majority(self):
        """Return the test accuracy of always predicting the most frequent training label."""
        top = collections.Counter(self.train[1].tolist()).most_common(1)[0][0]
        return float((self.test[1] == top).mean())

    def update_times(self):
        """Time updates of the table by a batch's sparse gradient, and by the same gradient, dense."""
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

        taken = [min(timeit.repeat(lambda g=g: update(g), number=1, repeat=20)) for g in (sparse, sparse.to_dense())]
        return UpdateTimes(*taken, len(np.unique(words.values)), len(table))


class UpdateTimes(typing.NamedTuple):
    """Seconds of an update by a sparse gradient and by a dense one, and how many of the table's rows the batch has."""

    sparse: float
    dense: float
    rows: int
    height: int

    def __str__(self):
        facts = f"sparse {1e3 * self.sparse:.3f} ms, dense {1e3 * self.dense:.3f} ms"
        batch = f"a batch has {self.rows:,} of {self.height:,} words"
        if self.dense > PAYS * self.sparse:
            return f"{facts} ({self.dense / self.sparse:.1f} times); {batch}"
        if DENSE_STEP_ABOVE * self.rows > self.height:
            return f"{facts}: sparse does not pay here, {batch}; it does in taller tables"
        return f"{facts}: sparse does not pay with this optimizer and width, though {batch}"


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
