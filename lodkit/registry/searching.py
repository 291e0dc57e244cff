"""One index of what there is, by names, first lines and search words: ``lodkit.search`` and ``OPS.search`` rank by it.

Search words of operators stand in their module of ``lodkit/ops``, below ``DOCS_PAGE``: what other libraries and tasks
call them, apart by commas. Those of other public names are here. What functions of other libraries are called, one by
one, stands in ``peers``.
"""

from __future__ import annotations

import re
import sys
from html import escape
from typing import Any, NamedTuple

from ..base.suggesting import find_nearest
from .catalogue import OPS
from .docstrings import brief, summary
from .peers import Peer, find_code, find_parts, find_peers

#: Public names that are no operators -> search words.
PUBLIC_WORDS = {
    "LoDTensor": (
        "ragged tensor, RaggedTensor, ragged, jagged tensor, JaggedTensor, nested tensor, awkward array, list of "
        "sequences, variable length batch, ListArray"
    ),
    "LoDTensor.from_nested": "from lists, list of lists, tf.ragged.constant, from_iter, from_list, from_pylist",
    "LoDTensor.from_sequences": "list of arrays, from_sequences, rnn.pack_sequence, pack_sequence",
    "LoDTensor.from_offsets": "cu_seqlens, row_splits, from_row_splits, indptr, nested_tensor_from_jagged",
    "LoDTensor.from_lengths": "row_lengths, from_row_lengths, recursive_sequence_lengths, seq_lens",
    "LoDTensor.from_segment_ids": "value_rowids, from_value_rowids, group by key, groupby to lists, batch vector",
    "LoDTensor.from_padded": "padded batch, padding to ragged, attention_mask, RaggedTensor.from_tensor",
    "LoDTensor.from_uniform": "equal lengths, matrix to sequences",
    "LoDTensor.from_torch": "PackedSequence, nested tensor of PyTorch, torch.nested, torchrec.JaggedTensor",
    "LoDTensor.from_arrow": (
        "pyarrow, parquet, polars, pandas, DuckDB, ListArray, list column, dataframe, Hugging Face, huggingface"
    ),
    "LoDTensor.from_awkward": "awkward, ak.Array",
    "LoDTensor.from_scipy": "csr_matrix, scipy sparse, CSR",
    "LoDTensor.to_padded": "to dense, to_tensor, to_padded_tensor, pad, rectangular array",
    "LoDTensor.to_torch": "to nested tensor, torch",
    "LoDTensor.with_values": "apply, map, map_flat_values, same structure",
    "LoDTensor.sequences": "unbind, iterate over sequences, list of arrays",
    "LoDTensor.equals": "array_equal, allclose, compare",
    "LoDTensor.lengths": "row_lengths, ak.num, length of each sequence",
    "LoDTensor.offsets": "splits, indptr of a tensor, offsets of a level",
    "SelectedRows": "sparse gradient, IndexedSlices, sparse tensor, sparse COO, row_sparse",
    "SelectedRows.merge": "coalesce, sum duplicates",
    "SelectedRows.to_dense": "densify, todense, toarray",
    "Features": "feature map, KeyedJaggedTensor, KeyedTensor, SparseFeatures, dictionary of features",
    "Features.from_list": "list of dictionaries, records, JSON",
    "PackedRows": "quantized table, int8 table, compressed table, float8 table, fp8",
    "concat": "concatenate, concatenate batches, cat, torch.cat, tf.concat, append, vstack, join batches, stack",
    "split": "chunk, array_split, split a batch, data parallel, scatter to workers",
    "batches": "DataLoader, mini-batches, minibatch, shuffle, epoch, bucketing, bucket by length, BucketIterator",
    "vocabulary": "tokenizer, StringLookup, words to ids, text to ids, LabelEncoder, factorize, TextVectorization",
    "embedding_bags": "EmbeddingBagCollection, many tables, DLRM, multiple tables",
    "update_embedding_bags": "fused optimizer of many tables",
    "GrowingTable": "dynamic embedding, hash table, unseen keys, out of vocabulary, HKV, new ids",
    "bidirectional": "BiLSTM, bidirectional LSTM, both directions",
    "stacked": "num_layers, deep RNN, multi-layer",
    "dynamic_rnn": "DynamicRNN, while loop over steps, custom recurrence, own cell, scan",
    "Tape": "autograd, GradientTape, backward, differentiate, automatic differentiation, grad",
    "parameter": "requires_grad, Variable, nn.Parameter, Parameter",
    "stop_gradient": "detach, no_grad",
    "save": "checkpoint, torch.save, savez, npz, safetensors, state_dict, export",
    "load": "restore, torch.load, load a checkpoint",
    "empty": "allocate, huge pages, aligned memory",
    "run": "call by name",
    "op": "custom operator, custom op, own operator, register an operator, extend",
    "bounds_check": "bad ids on a GPU, asynchronous checks",
    "check_lod": "validate offsets",
    "optim.SGD": "torch.optim.SGD, SGD, optimizer",
    "optim.Adam": "torch.optim.Adam, Adam, SparseAdam, optimizer",
    "optim.AdamW": "torch.optim.AdamW, AdamW",
    "optim.Adagrad": "torch.optim.Adagrad, Adagrad, optimizer",
    "plot.structure": "draw, picture of a batch, visualize, visualise",
    "plot.lengths": "histogram of lengths, length distribution",
    "testing.assert_equal": "assert_array_equal, compare in tests",
}
#: Of modules that import Numba, PyTorch or others, which no search waits for: words, and the first line.
UNIMPORTED_WORDS = {
    "warmup": (
        "compile ahead of time, AOT, first call is slow, cold start, latency, precompile",
        "Compile kernels ahead of their first use, those of small batches and of large ones.",
    ),
    "set_num_threads": (
        "threads, OMP_NUM_THREADS, cores, parallel, number of threads",
        "Let every parallel kernel, and every matrix product of an operator or a gradient, use ...",
    ),
    "interop.torch.EmbeddingBag": (
        "torch.nn.EmbeddingBag, nn.EmbeddingBag, module, drop-in",
        "``torch.nn.EmbeddingBag`` by lodkit's kernels, for PyTorch.",
    ),
    "interop.torch.collate": (
        "collate_fn, DataLoader, default_collate",
        "Collate samples of a DataLoader into LoDTensors.",
    ),
    "interop.jax.to_jax": (
        "JAX, jax array, jnp, DLPack of JAX, BCOO, Flax",
        "Return the arrays of JAX that hold a LoDTensor, SelectedRows or an array.",
    ),
    "interop.jax.from_jax": (
        "from JAX, jax to lodkit",
        "Return the LoDTensor, SelectedRows or array of arrays of JAX on the CPU; values are shared, read-only.",
    ),
    "interop.torch.optim": ("torch.optim, fused optimizers of PyTorch", "Optimizers for PyTorch's parameters."),
    "distributed.ShardedTable": (
        "sharded embedding, distributed embedding, DistributedModelParallel, MPI, torchrun, parameter server",
        "A table whose rows lie on several processes.",
    ),
}


class Entry(NamedTuple):
    """What the index has of a name: the words that are compared with those of a search."""

    name: str
    words: str
    line: str
    text: str


class Findings(dict[str, str]):
    """Names in ``lodkit`` and their first lines, the best first; Jupyter shows a table.

    Attributes
    ----------
    elsewhere : dict
        Names of other libraries that were meant, or words of a task, and what does it here, or that lodkit lacks it.
    """

    elsewhere: dict[str, str]

    def __init__(self, names=(), elsewhere=()):
        super().__init__(names)
        self.elsewhere = dict(elsewhere)

    def __reduce__(self):
        return type(self), (dict(self), self.elsewhere)

    def __repr__(self):
        lines = [_count(self, ""), *_columns(self)] if self or not self.elsewhere else []
        if self.elsewhere:
            answers = {name: answer.replace("`", "") for name, answer in self.elsewhere.items()}
            lines += [_count(self.elsewhere, " of other libraries, or of what is not here"), *_columns(answers)]
        return "\n".join(lines)

    def _repr_html_(self):
        from ..base.markup import box, code, table
        from .docstrings import mark_code

        rows = [(code(f"lodkit.{name}"), mark_code(line)) for name, line in self.items()]
        shown = table(f"{len(rows)} names", ("name", "what it does"), rows)
        if self.elsewhere:
            rows = [(code(name), mark_code(answer.replace("`", "``"))) for name, answer in self.elsewhere.items()]
            shown += table("of other libraries, or not here", ("name", "here"), rows)
        return box(shown or escape(repr(self)))

    def _repr_pretty_(self, printer, cycle):
        printer.text(repr(self))


def _count(names, of):
    return f"{len(names)} name{'s' * (len(names) != 1)}{of}"


def _columns(lines):
    width = max(map(len, lines), default=0)
    return [f"  {name:{width}}  {line}" for name, line in lines.items()]


def search(words: str, most: int = 10) -> Findings:
    """Find operators, classes, methods and functions by words: what they do, or what other libraries call them.

    Parameters
    ----------
    words : str
        Words, or parts of them, separated by blanks; upper and lower case are the same. Results have all of the words.
        Or a function of another library, such as ``ak.flatten``.
    most : int
        Names to return at most.

    Returns
    -------
    Findings
        A dictionary of names in ``lodkit`` and the first lines of their documentation, the best first. Its
        ``elsewhere`` has the functions of other libraries that were meant, with the calls that do the same, and what is
        not here.

    Examples
    --------
    >>> import lodkit
    >>> lodkit.search("cu_seqlens", most=1)
    1 name
      LoDTensor.from_offsets  Make a LoDTensor from rows and offsets per level, outermost first.
    >>> next(iter(lodkit.search("max pooling")))
    'sequence_pool'
    >>> lodkit.search("tf.ragged.row_splits_to_segment_ids").elsewhere
    {'tf.ragged.row_splits_to_segment_ids': '`lodkit.offsets_to_segment_ids(offsets)`'}
    """
    found, peers = _find([*_list_operators(OPS), *_list_public()], check_words(words))
    return Findings({entry.name: entry.line for entry in found[:most]}, peers[:most])


def search_operators(ops, words, whole=False):
    """Return the names of the operators among ``ops`` that have all of some words, the best first."""
    entries = [*_list_operators(ops)]
    return [entry.name for entry in (rank(entries, words, whole) if whole else _find(entries, check_words(words))[0])]


def _find(entries: list[Entry], query: str) -> tuple[list[Entry], list[Peer]]:
    """Return the entries that a query finds, the best first, and the names of other libraries that it means.

    A query that is such a name finds whole words alone, and what does it here.
    """
    peers = find_peers(query)
    found = rank(entries, query, whole=bool(peers), texts=False)
    if not found:
        peers = peers or find_parts(query)
    if peers:
        named = dict.fromkeys(name for peer in peers for name in _find_names(peer.answer))
        by_name = {entry.name: entry for entry in entries if entry not in found}
        found = [*found, *(by_name[name] for name in named if name in by_name)]
    return found or (rank(entries, query) if not peers else []), peers


def _find_names(answer):
    """Names of the index in the code of an answer, in their order."""
    for code in find_code(answer):
        for owner, name in re.findall(r"\b(lodkit|LoDTensor|SelectedRows|Features|t|n|s|f)\.([A-Za-z][\w.]*)", code):
            classes = {"t": "LoDTensor", "n": "LoDTensor", "s": "SelectedRows", "f": "Features"}
            yield name if owner == "lodkit" else f"{classes.get(owner, owner)}.{name}"


def check_words(words):
    """Return words, which must be a string."""
    if not isinstance(words, str):
        raise TypeError(f"words must be a string, got {words!r:.80}")
    return words


def suggest_names(name, public):
    """Say what does what is called ``name`` elsewhere: by its search words, by names like it, or by a search."""
    entries, near = [*_list_operators(OPS), *_list_public()], find_nearest(name, public, cutoff=0.8)
    called = [e for e in entries if _join(name) in map(_join, [*e.words.split(","), e.name.rpartition(".")[2]])]
    if called:
        cased = [entry for entry in called if name in re.findall(r"\w+", f"{entry.words} {entry.name}")]
        return f"; use {', '.join(f'lodkit.{entry.name}' for entry in (cased or called)[:3])}"
    if not near and (peers := find_peers(name)):
        answer = peers[0].answer.replace("`", "")
        return f"; {'' if answer.startswith('not here') else 'use '}{answer}"
    if not near and (found := rank(entries, name, whole=True)):
        return f"; lodkit.search({name!r}) finds {', '.join(f'lodkit.{entry.name}' for entry in found[:3])}"
    near = near or find_nearest(name, public)
    return f"; did you mean {', '.join(near)}?" if near else "; lodkit.search(words) finds names by words"


def rank(entries: list[Entry], query: str, whole: bool = False, texts: bool = True) -> list[Entry]:
    """Return the entries that have all words of a query, the best first; where there are none, all texts are searched.

    ``whole``: words alone are found, no parts of them, and no texts are searched; nor are they without ``texts``.
    """
    tokens = _split(query)
    if not tokens:
        return sorted(entries, key=lambda entry: entry.name)
    scores = [(_score(entry, tokens, whole), entry) for entry in entries]
    if texts and not whole and not any(score for score, _ in scores):
        scores = [(all(token in entry.text.lower() for token in query.lower().split()), entry) for entry in entries]
    found = [(-score, "_grad" in entry.name, len(_split(entry.name)), entry) for score, entry in scores if score]
    return [entry for *_, entry in sorted(found)]


def _score(entry, tokens, whole):
    """How well an entry fits the tokens of a query: 0 unless it has them all."""
    name, phrases = _split(entry.name.rpartition(".")[2]), [_split(phrase) for phrase in entry.words.split(",")]
    joined, words, line = "".join(tokens), {word for phrase in phrases for word in phrase}, _split(entry.line)
    total = 0.0
    for token in tokens:
        points = max(
            8.0 * (token in name),
            6.0 * (token in words),
            0.0 if whole else 3.0 * (token in line),
            0.0 if whole else 4.0 * any(token in word for word in name),
            0.0 if whole else 2.0 * any(token in word for word in words),
            0.0 if whole else 1.0 * any(token in word for word in line),
        )
        if not points:
            return 0.0
        total += points
    if joined == "".join(name):
        return total + 100
    same = [phrase for phrase in phrases if "".join(phrase) == joined]
    inside = [phrase for phrase in phrases if set(tokens) <= set(phrase)]
    return total / len(tokens) + 60.0 * bool(same) + 20.0 * bool(inside) + 10.0 * (set(tokens) <= set(name))


def _split(text):
    """The words of a text without their endings: ``max_pooling`` and ``max pools`` have the same."""
    words = re.findall(r"[a-z0-9]+", str(text).lower())
    return [re.sub(r"(?<=[a-z]{3})(ing|s)$", "", re.sub(r"(?<=[a-z]{3})s$", "", word)) for word in words]


def _join(text):
    return "".join(re.findall(r"[a-z0-9]+", str(text).lower()))


def _list_operators(ops):
    for name, op in sorted(ops.items()):
        words = find_words(op)
        yield Entry(name, words, brief(op, 96), f"{name} {op.family} {op.__doc__}")


def find_words(op):
    """Search words of an operator, apart by commas, as its module declares them; of a gradient and others none."""
    return getattr(sys.modules.get(op.definition.__module__), "SEARCH_WORDS", {}).get(op.name, "")


def _list_public():
    package: Any = sys.modules[__package__.partition(".")[0]]  # the names that users see stand above the registry
    for name, words in PUBLIC_WORDS.items():
        value = package
        for part in name.split("."):
            value = getattr(value, part)
        yield Entry(name, words, brief(value, 96), f"{name} {words} {summary(value)}")
    for name, (words, line) in UNIMPORTED_WORDS.items():
        yield Entry(name, words, line, f"{name} {words} {line}")
