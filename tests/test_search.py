"""Words that users type, and what they must find first."""

from __future__ import annotations

import pathlib
import runpy
import subprocess
import sys

import pytest

import lodkit
from lodkit.registry import searching

#: Words -> what must come first in ``lodkit.search``; of several any.
FIRST = {
    "concatenate": "concat",
    "concatenate columns": "concat_columns",
    "convolution": "sequence_conv",
    "Conv1d": "sequence_conv",
    "max pooling": "sequence_pool",
    "mean of each sequence": "sequence_pool",
    "last token": "sequence_pool",
    "flash attention": "sequence_attention",
    "flash": "sequence_attention",
    "varlen": "sequence_attention",
    "cross attention": "sequence_attention",
    "MultiheadAttention": "sequence_attention",
    "scaled_dot_product_attention": "sequence_attention",
    "attention mask": "sequence_mask",
    "ngram": "sequence_enumerate",
    "n-gram": "sequence_enumerate",
    "sliding window": "sequence_enumerate",
    "negative sampling": "sigmoid_cross_entropy_with_logits",
    "click loss": "sigmoid_cross_entropy_with_logits",
    "cu_seqlens": "LoDTensor.from_offsets",
    "row_splits": "LoDTensor.from_offsets",
    "PackedSequence": "LoDTensor.from_torch lstm",
    "RaggedTensor": "LoDTensor",
    "nested tensor": "LoDTensor",
    "list of lists": "LoDTensor.from_nested",
    "parquet": "LoDTensor.from_arrow",
    "rotary": "add_position_encoding",
    "positional encoding": "add_position_encoding",
    "ignore_index": "softmax_with_cross_entropy",
    "cross entropy": "softmax_with_cross_entropy",
    "EmbeddingBag": "interop.torch.EmbeddingBag embedding_bag",
    "nn.Embedding": "lookup_table",
    "embedding_lookup": "lookup_table",
    "many tables": "embedding_bags embedding_bag_columns",
    "hash table": "GrowingTable",
    "segment_sum": "segment_reduce",
    "scatter_add": "segment_reduce",
    "groupby": "segment_reduce",
    "softmax per segment": "sequence_softmax",
    "cumulative sum": "sequence_cumsum",
    "topk": "sequence_topk",
    "sort": "sequence_sort",
    "flip": "sequence_reverse",
    "truncate": "sequence_slice",
    "stop words": "sequence_erase",
    "repeat_interleave": "lengths_tile sequence_expand_as",
    "pad_sequence": "sequence_pad",
    "pack_padded_sequence": "sequence_unpad",
    "jagged_to_padded_dense": "pack_segments",
    "viterbi": "crf_decoding",
    "conditional random field": "linear_chain_crf",
    "speech recognition": "ctc_loss",
    "word error rate": "edit_distance",
    "named entity recognition": "chunk_eval",
    "BiLSTM": "bidirectional",
    "Linear": "fc",
    "LayerNorm": "layer_norm",
    "coalesce": "SelectedRows.merge merge_selected_rows",
    "IndexedSlices": "SelectedRows",
    "weight decay": "adamw",
    "gradient clipping": "clip_by_norm",
    "int8": "quantize_rows",
    "half precision": "cast",
    "one-hot": "one_hot",
    "multi-hot": "segment_one_hot",
    "feature hashing": "hash_rows",
    "tokenizer": "vocabulary",
    "DataLoader": "batches",
    "checkpoint": "save",
    "GradientTape": "Tape",
    "detach": "stop_gradient",
    "custom operator": "op",
    "first call is slow": "warmup",
    "OMP_NUM_THREADS": "set_num_threads",
    "JAX": "interop.jax.to_jax",
    "Hugging Face": "LoDTensor.from_arrow",
    "ListArray": "LoDTensor LoDTensor.from_arrow",
}


@pytest.mark.parametrize("words", FIRST)
def test_what_users_type_finds_it_first(words):
    found = [*lodkit.search(words)]
    assert found, words
    assert found[0] in FIRST[words].split(), found


def test_operators_are_ranked_by_the_same_index():
    """Where no operator has the words, those are found whose text has them."""
    for words, first in FIRST.items():
        operators = [name for name in lodkit.search(words, most=500) if name in lodkit.OPS]
        if operators:
            assert [*lodkit.OPS.search(words)] == operators
        else:
            assert not set(first.split()) & set(lodkit.OPS)


def test_endings_cases_and_parts_of_words_do_not_matter():
    for words in ("MAX POOLING", "max_pool", "max pools", "pooling max"):
        assert next(iter(lodkit.OPS.search(words))) == "sequence_pool"
    assert "edit_distance" in lodkit.OPS.search("levensht")
    assert len(lodkit.search("", most=3)) == 3
    assert not lodkit.search("zebra crossing")


def test_words_belong_to_operators_and_names_that_are_there():
    modules = {op.definition.__module__ for op in lodkit.OPS.values()}
    for module in map(sys.modules.get, modules):
        for name in getattr(module, "SEARCH_WORDS", {}):
            assert lodkit.OPS[name].definition.__module__ == module.__name__, name
    for name in {**searching.PUBLIC_WORDS, **searching.UNIMPORTED_WORDS}:
        assert not set(name.split(".")) & {"torch"} or pytest.importorskip("torch")
        value = lodkit
        for part in name.split("."):
            value = getattr(value, part)
        assert name not in lodkit.OPS


def test_a_search_imports_neither_numba_nor_pytorch():
    code = "import lodkit, sys; lodkit.search('cat'); assert not {'numba', 'torch', 'matplotlib'} & {*sys.modules}"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_findings_are_shown():
    found = lodkit.search("viterbi")
    assert repr(found).startswith("1 name\n  crf_decoding  Return the tags")
    assert "<code>lodkit.crf_decoding</code>" in found._repr_html_()
    assert repr(lodkit.search("xyzzy")) == "0 names"
    assert "0 names" in lodkit.search("xyzzy")._repr_html_()
    with pytest.raises(TypeError, match="words must be a string, got 5"):
        lodkit.search(5)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("concatenate", "use lodkit.concat"),
        ("EmbeddingBag", "use lodkit.embedding_bag, lodkit.interop.torch.EmbeddingBag"),
        ("from_nested", "use lodkit.LoDTensor.from_nested"),
        ("from_sequences", "use lodkit.LoDTensor.from_sequences"),
        ("RaggedTensor", "use lodkit.LoDTensor"),
        ("Linear", "use lodkit.fc"),
        ("LSTM", "use lodkit.lstm"),
        ("Adam", "lodkit.optim.Adam"),
        ("segment_sum", "use lodkit.segment_reduce"),
        ("pad_sequence", "use lodkit.sequence_pad"),
        ("cross_entropy", "use lodkit.softmax_with_cross_entropy"),
        ("GradientTape", "use lodkit.Tape"),
        ("KeyedJaggedTensor", "lodkit.Features"),
        ("max_pool", "lodkit.search('max_pool') finds lodkit.sequence_pool"),
        ("Lodtensor", "LoDTensor"),
        ("sequence_pol", "did you mean sequence_pool"),
        ("xyzzy", "lodkit.search(words) finds names by words"),
    ],
)
def test_a_name_of_another_library_is_answered_by_the_name_here(name, words):
    with pytest.raises(AttributeError, match=f"module 'lodkit' has no attribute '{name}'; ") as caught:
        getattr(lodkit, name)
    assert words in str(caught.value)


def test_the_pages_of_operators_have_the_words():
    """So that the site's search finds them."""
    docs = pathlib.Path(__file__).parents[1] / "docs"
    pages = runpy.run_path(str(docs / "generate_operators.py"))
    text = {group.page: pages["page"](group) for group in pages["GROUPS"]}
    for name, op in lodkit.OPS.items():
        if words := searching.find_words(op):
            assert f"Elsewhere: {words}." in text[pages["page_of"](op)], name
