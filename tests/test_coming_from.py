"""The tables of docs/coming-from.md: what they name is there, and gives what the other library documents."""

from __future__ import annotations

import ast

import numpy as np
import pytest
from coming_from import ANSWERS, assert_same, run_ours, values_for
from conftest import with_all_types

import lodkit
from lodkit.registry.peers import TABLES, find_code, find_parts, find_peers, split_names

CODE = list(dict.fromkeys(code for answer in ANSWERS.values() for code in find_code(answer)))


@pytest.mark.parametrize("code", CODE)
def test_the_names_of_a_row_are_there(code):
    """Without a call: what compiles for each row runs in the lane of all types."""
    known = {"lodkit": lodkit, "LoDTensor": lodkit.LoDTensor, "SelectedRows": lodkit.SelectedRows, "np": np}
    known |= {"Features": lodkit.Features, "t": lodkit.LoDTensor, "n": lodkit.LoDTensor, "tokens": lodkit.LoDTensor}
    known |= {"s": lodkit.SelectedRows, "f": lodkit.Features}
    bound = {node.id for node in ast.walk(ast.parse(code)) if isinstance(getattr(node, "ctx", None), ast.Store)}
    for node in ast.walk(ast.parse(code)):
        path, names = node, []
        while isinstance(path, ast.Attribute):
            path, names = path.value, [path.attr, *names]
        if isinstance(path, ast.Name) and path.id in set(known) - bound and "torch" not in names:
            value = known[path.id]
            for name in names[: 2 if path.id == "lodkit" else 1]:
                value = getattr(value, name)


@with_all_types
@pytest.mark.parametrize("code", CODE)
def test_the_code_of_a_row_runs(code, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    if code.startswith("lodkit.load"):
        lodkit.save("t.safetensors", lodkit.LoDTensor([1.0], [[1]]))
    mode = lodkit.bounds_check()
    eval(code, values_for(code))
    lodkit.bounds_check(mode)


def test_a_name_stands_in_one_row_and_every_row_answers():
    names = [name for rows in TABLES.values() for key in rows for name in split_names(key)]
    twice = {name for name in names if names.count(name) > 1}
    assert not twice
    for name, answer in ANSWERS.items():
        assert find_code(answer) or answer.startswith("not here: ") or len(answer) > 30, name
        assert answer.count("`") % 2 == 0, name
        assert name in {peer.name for peer in find_peers(name)}, name


#: Names of libraries that no test installs -> what they document for the values of the page.
X = [[1.0, 4.0], [3.0, 2.0], [8.0, 1.0], [9.0, 4.0], [5.0, 8.0], [7.0, 6.0]]
DOCUMENTED = {
    "torch_scatter.scatter_sum": [[15, 16], [9, 4], [9, 5]],
    "torch_scatter.scatter_mean": [[5, 16 / 3], [9, 4], [4.5, 2.5]],
    "torch_scatter.scatter_mul": [[105, 96], [9, 4], [8, 4]],
    "torch_scatter.scatter_max": [[7, 8], [9, 4], [8, 4]],
    "torch_scatter.scatter_min": [[3, 2], [9, 4], [1, 1]],
    "torch_scatter.segment_sum_coo": [[4, 6], [8, 1], [0, 0], [21, 18]],
    "torch_scatter.segment_mean_coo": [[2, 3], [8, 1], [0, 0], [7, 6]],
    "torch_scatter.segment_max_csr": [[3, 4], [8, 1], [0, 0], [9, 8]],
    "torch_scatter.segment_min_csr": [[1, 2], [8, 1], [0, 0], [5, 4]],
    "torch_scatter.gather_csr": [[0, 1], [0, 1], [2, 3], [6, 7], [6, 7], [6, 7]],
    "torch_scatter.gather_coo": [[0, 1], [0, 1], [2, 3], [6, 7], [6, 7], [6, 7]],
    "torch_scatter.scatter_logsumexp": np.log(
        [
            [np.exp(3) + np.exp(5) + np.exp(7), np.exp(2) + np.exp(8) + np.exp(6)],
            [np.exp(9), np.exp(4)],
            [np.exp(1) + np.exp(8), np.exp(4) + np.exp(1)],
        ]
    ),
    "torch_sparse.index_select": [[5, 4], [3, 1, 2]],
    "torch_sparse.masked_select_nnz": [[3, 2], [], [5]],
    "tf.math.segment_prod": [[3, 8], [8, 1], [1, 1], [315, 192]],
    "tf.math.unsorted_segment_sum": [[15, 16], [9, 4], [9, 5], [0, 0]],
    "tf.math.unsorted_segment_sqrt_n": [[15 / 3**0.5, 16 / 3**0.5], [9, 4], [9 / 2**0.5, 5 / 2**0.5]],
    "tf.sparse.segment_sum": [[4, 6], [4, 5], [0, 0], [2, 5]],
    "tf.ragged.boolean_mask": [[3, 2], [], [5]],
    "tf.ragged.constant": [[1, 2], [], [3]],
    "tf.ragged.row_splits_to_segment_ids": [0, 0, 1, 3, 3, 3],
    "tf.ragged.segment_ids_to_row_splits": [0, 2, 3, 3, 6],
    "tf.ragged.range": [[0, 1], [0], [], [0, 1, 2]],
    "tf.ragged.map_flat_values": [[3**0.5, 1, 2**0.5], [], [5**0.5, 2]],
    "tf.ragged.stack_dynamic_partitions": [[X[1], X[4], X[5]], [X[3]], [X[0], X[2]], []],
    "tf.ragged.stack": [[[3, 1, 2], [], [5, 4]], [[10, 20, 30], [], [40, 50]]],
    "RaggedTensor.from_row_lengths": [X[:2], [X[2]], [], X[3:]],
    "RaggedTensor.from_row_splits": [X[:2], [X[2]], [], X[3:]],
    "RaggedTensor.from_row_starts": [X[:2], [X[2]], [], X[3:]],
    "RaggedTensor.from_row_limits": [X[:2], [X[2]], [], X[3:]],
    "RaggedTensor.from_value_rowids": [X[:2], [X[2]], [], X[3:]],
    "RaggedTensor.from_nested_row_lengths": [[[1, 2], [3]], [], [[4, 5, 6]]],
    "RaggedTensor.from_nested_row_splits": [[[1, 2], [3]], [], [[4, 5, 6]]],
    "RaggedTensor.from_nested_value_rowids": [[[1, 2], [3]], [], [[4, 5, 6]]],
    "RaggedTensor.from_tensor": [[0, 1, 2], [], [8, 9]],
    "RaggedTensor.from_uniform_row_length": [X[:3], X[3:]],
    "RaggedTensor.bounding_shape": [3, 3],
    "RaggedTensor.merge_dims": [[1, 2, 3], [], [4, 5, 6]],
    "RaggedTensor.nested_row_splits": [[0, 2, 2, 3], [0, 2, 3, 6]],
    "RaggedTensor.nested_row_lengths": [[2, 0, 1], [2, 1, 3]],
    "RaggedTensor.row_limits": [3, 3, 5],
    "RaggedTensor.row_starts": [0, 3, 3],
    "RaggedTensor.value_rowids": [0, 0, 0, 2, 2],
    "RaggedTensor.to_tensor": [[3, 1, 2], [0, 0, 0], [5, 4, 0]],
    "tf.reduce_sum": [6, 0, 9],
    "tf.reduce_max": [3, -np.inf, 5],
    "tf.reduce_prod": [6, 1, 20],
    "tf.reduce_any": [True, False, True],
    "tf.reduce_all": [False, True, True],
    "tf.concat": [[3, 1, 2], [], [5, 4], [10, 20, 30], [], [40, 50]],
    "tf.gather": [[5, 4], [3, 1, 2]],
    "tf.batch_gather": [[[3], [1, 2]], [], [[4, 5, 6]]],
    "tf.reverse": [[2, 1, 3], [], [4, 5]],
    "tf.tile": [[3, 1, 2], [], [5, 4], [3, 1, 2], [], [5, 4]],
    "tf.repeat": [[0, 0, 0], [], [2, 2]],
    "tf.cumsum": [[3, 4, 6], [], [5, 9]],
    "tf.sequence_mask": [[1, 1, 0], [1, 0, 0], [0, 0, 0], [1, 1, 1]],
    "tf.where": [[3, 0, 0], [], [5, 4]],
    "tf.expand_dims": [[[3], [1], [2]], [], [[5], [4]]],
    "tf.nn.embedding_lookup_sparse": [[(30 + 4 + 20) / 6, (33 + 5 + 22) / 6], [0, 0], [(70 + 16) / 9, (75 + 20) / 9]],
    "tf.strings.ngrams": [[[5, 2], [2, 5], [5, 0]], [], [[7, 2], [2, 0]]],
    "fbgemm.jagged_to_padded_dense": [[X[0], X[1], [0, 0]], [X[2], [0, 0], [0, 0]], [[0, 0]] * 3, X[3:]],
    "fbgemm.dense_to_jagged": [[0, 1, 2], [], [8, 9]],
    "fbgemm.asynchronous_complete_cumsum": [0, 2, 3, 3, 6],
    "fbgemm.asynchronous_exclusive_cumsum": [0, 2, 3, 3],
    "fbgemm.asynchronous_inclusive_cumsum": [2, 3, 3, 6],
    "fbgemm.jagged_dense_elementwise_add": [[3, 2, 4], [4, 5, 6], [13, 13, 10]],
    "fbgemm.jagged_dense_elementwise_add_jagged_output": [[3, 2, 4], [], [13, 13]],
    "fbgemm.jagged_dense_elementwise_mul": [[0, 1, 4], [], [40, 36]],
    "fbgemm.jagged_index_select": [[5, 4], [3, 1, 2], [5, 4]],
    "fbgemm.jagged_slice": [[3, 1], [], [5, 4]],
    "fbgemm.lengths_range": [0, 1, 0, 0, 1, 2],
    "fbgemm.masked_select_jagged_1d": [[3, 2], [], [5]],
    "fbgemm.segment_sum_csr": [[4, 6], [8, 1], [0, 0], [21, 18]],
    "fbgemm.jagged_1d_to_truncated_values": [5, 2, 7, 2],
    "JaggedTensor.to_padded_dense": [[3, 1, 2, 0], [0, 0, 0, 0], [5, 4, 0, 0]],
}


@pytest.mark.parametrize("name", DOCUMENTED)
def test_a_row_gives_what_the_other_library_documents(name):
    assert_same(run_ours(name), DOCUMENTED[name])


#: Words -> a name of another library, or of what is not here, that answers.
FOUND = {
    "scatter_mean": "torch_scatter.scatter_mean",
    "torch_scatter.scatter_mean": "torch_scatter.scatter_mean",
    "tf.ragged.boolean_mask": "tf.ragged.boolean_mask",
    "boolean_mask": "tf.ragged.boolean_mask",
    "ak.flatten": "ak.flatten",
    "flatten": "ak.flatten",
    "list.eval": "list.eval",
    "jagged_to_padded_dense": "fbgemm.jagged_to_padded_dense",
    "nn.functional.embedding_bag": "torch.nn.functional.embedding_bag",
    "AUC": "auc",
    "roc auc": "roc auc",
    "accuracy": "accuracy",
    "ndcg": "ndcg",
    "kv cache": "kv cache",
    "early stopping": "early stopping",
    "Nearest Neighbour": "nearest neighbour",
    "median": "median",
    "moving average": "moving average",
    "onnx": "onnx",
    "tf-idf": "tf-idf",
    "bpe": "bpe",
    "learning rate schedule": "learning rate schedule",
    "hinge": "hinge",
    "batch normalization": "batch normalization",
    "missing values": "missing values",
    "cartesian": "ak.cartesian",
    "message passing": "message passing",
    "tqdm": "tqdm",
    "fsdp": "fsdp",
    "hierarchical softmax": "hierarchical softmax",
    "cupy": "cupy",
    "spectrogram": "spectrogram",
    "wandb": "wandb",
}


@pytest.mark.parametrize("words", FOUND)
def test_a_name_of_another_library_is_found(words):
    found = lodkit.search(words)
    assert FOUND[words] in found.elsewhere
    assert found.elsewhere[FOUND[words]] == ANSWERS[FOUND[words]]
    assert ANSWERS[FOUND[words]].replace("`", "") in repr(found)
    assert FOUND[words] in found._repr_html_()


def test_what_does_it_is_among_the_names():
    assert [*lodkit.search("list.eval")] == ["LoDTensor.with_values"]
    assert "sequence_slice" in lodkit.search("groupby.head")
    assert not lodkit.search("auc")
    assert repr(lodkit.search("auc")).startswith("1 name of other libraries, or of what is not here\n  auc  not here: ")
    # Parts of words are no answer to a whole name: "ddp" is in add_padding.
    assert "add_padding" not in lodkit.search("ddp")


def test_words_of_a_name_find_it_where_nothing_else_does():
    assert [peer.name for peer in find_parts("dynamic partitions")] == ["tf.ragged.stack_dynamic_partitions"]
    assert find_parts("no such words") == []
    assert [peer.name for peer in find_parts("stack ragged tf", most=1)] == ["tf.ragged.stack"]
    assert not find_peers("")
    assert not find_parts("")
    assert lodkit.search("torch_scatter scatter_mul").elsewhere


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("flatten", "use t.values"),
        ("auc", "not here: scikit-learn has roc_auc_score"),
        ("scatter_mul", "use lodkit.segment_reduce"),
        ("boolean_mask", "use LoDTensor.from_segment_ids"),
    ],
)
def test_a_missing_attribute_is_answered(name, words):
    with pytest.raises(AttributeError, match=f"module 'lodkit' has no attribute '{name}'; {words}"):
        getattr(lodkit, name)
