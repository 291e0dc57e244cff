"""tf.ragged, methods of RaggedTensor, and functions of TensorFlow that take one."""

from __future__ import annotations

#: Names of TensorFlow -> what does it here.
RAGGED = {
    "tf.ragged.boolean_mask": (
        "`LoDTensor.from_segment_ids(t.values[keep], t.segment_ids()[keep], num_segments=len(t))`: rows; "
        "`t[mask]`: sequences"
    ),
    "tf.ragged.constant": "`LoDTensor.from_nested([[1, 2], [], [3]])`",
    "tf.ragged.cross tf.ragged.cross_hashed": (
        "not here: crosses of features; hash rows of joined columns, `lodkit.hash_rows(pairs, mod_by=100)`"
    ),
    "tf.ragged.map_flat_values": "`t.with_values(np.sqrt(t.values))`",
    "tf.ragged.range": "`LoDTensor.from_lengths(lodkit.lengths_range_fill(lengths), lengths)`, each from 0",
    "tf.ragged.row_splits_to_segment_ids": "`lodkit.offsets_to_segment_ids(offsets)`",
    "tf.ragged.segment_ids_to_row_splits": "`lodkit.segment_ids_to_offsets(ids)`",
    "tf.ragged.stack": "`LoDTensor.from_sequences([t, u])`",
    "tf.ragged.stack_dynamic_partitions": "`LoDTensor.from_segment_ids(x, index, num_segments=4)`",
    "tf.RaggedTensorSpec": "`lodkit.VarDesc.of(t)`",
    "tf.RaggedTensor": "`LoDTensor`",
}

RAGGED_TENSOR = {
    "RaggedTensor.from_nested_row_lengths": "`LoDTensor.from_lengths(n.values, [2, 0, 1], [2, 1, 3])`",
    "RaggedTensor.from_nested_row_splits": "`LoDTensor.from_offsets(n.values, [0, 2, 2, 3], [0, 2, 3, 6])`",
    "RaggedTensor.from_nested_value_rowids": (
        "`LoDTensor.from_offsets(n.values, lodkit.segment_ids_to_offsets([0, 0, 2]), [0, 2, 3, 6])`: level by level"
    ),
    "RaggedTensor.from_row_lengths": "`LoDTensor.from_lengths(x, lengths)`",
    "RaggedTensor.from_row_limits": "`LoDTensor.from_offsets(x, [0, *offsets[1:]])`",
    "RaggedTensor.from_row_splits": "`LoDTensor.from_offsets(x, offsets)`",
    "RaggedTensor.from_row_starts": "`LoDTensor.from_offsets(x, [*offsets[:-1], len(x)])`",
    "RaggedTensor.from_sparse": "`LoDTensor.from_scipy(matrix)`: ids and scores",
    "RaggedTensor.from_tensor": (
        "`LoDTensor.from_padded(dense, [3, 0, 2])`, or `LoDTensor.from_padded(dense, pad_value=0)`; of one length "
        "`LoDTensor.from_uniform(dense)`"
    ),
    "RaggedTensor.from_uniform_row_length": "`LoDTensor.from_uniform(x.reshape(-1, 3, 2))`",
    "RaggedTensor.from_value_rowids": "`LoDTensor.from_segment_ids(x, ids)`",
    "RaggedTensor.bounding_shape": "`(len(t), t.max_length())`",
    "RaggedTensor.consumers": "not here: TensorFlow's graphs",
    "RaggedTensor.dtype": "`t.dtype`",
    "RaggedTensor.flat_values": "`n.values`",
    "RaggedTensor.get_shape RaggedTensor.shape": "`(len(t), *t.shape[1:])`; `t.shape` is the shape of the rows",
    "RaggedTensor.merge_dims": "`n.drop_level(-1)`, the two inner ones; `n.drop_level(0)`, the two outer ones",
    "RaggedTensor.nested_row_lengths": "`n.recursive_sequence_lengths()`",
    "RaggedTensor.nested_row_splits": "`n.lod()`",
    "RaggedTensor.nested_value_rowids": "`[n.segment_ids(0), n.segment_ids(1)]`, both of rows",
    "RaggedTensor.nrows": "`len(t)`",
    "RaggedTensor.numpy": "`t.sequences()`: a list of arrays",
    "RaggedTensor.ragged_rank": "`n.lod_level`",
    "RaggedTensor.row_lengths": "`t.lengths()`",
    "RaggedTensor.row_limits": "`t.offsets()[1:]`",
    "RaggedTensor.row_splits": "`t.offsets()`",
    "RaggedTensor.row_starts": "`t.offsets()[:-1]`",
    "RaggedTensor.to_list": "`t.to_list()`",
    "RaggedTensor.to_sparse": "`tokens.to_scipy()`: ids as columns",
    "RaggedTensor.to_tensor": "`t.to_padded()`; `t.to_padded(-1, max_length=4)`",
    "RaggedTensor.uniform_row_length": "`t.max_length()`; `t.to_uniform` says by an error whether all are equal",
    "RaggedTensor.value_rowids": "`t.segment_ids()`",
    "RaggedTensor.values": "`t.values`; of two levels `n.drop_level(0)`",
    "RaggedTensor.with_flat_values RaggedTensor.with_values": "`t.with_values(t.values * 2)`",
    "RaggedTensor.with_row_splits_dtype": "not here: offsets are int64",
    "RaggedTensor.__getitem__": (
        "`t[0]`, `t[1:]`, `t[mask]`, `n[0, 1]`; of each sequence `lodkit.sequence_slice(t, 0, 2, clip=True)`"
    ),
    "RaggedTensor.__add__ RaggedTensor.__mul__": (
        "`t + u`, `t * 2`; a number a sequence: `lodkit.per_sequence(t, [1.0, 2.0, 3.0])`"
    ),
}

FUNCTIONS = {
    "tf.reduce_sum": "`lodkit.sequence_pool(t)`, for axis=1; of all `t.values.sum()`",
    "tf.reduce_mean": (
        "`lodkit.sequence_pool(t, pool='mean')`; of an empty sequence 0, not NaN; `lodkit.sequence_pool(t, "
        "pool='mean', pad_value=np.nan)`"
    ),
    "tf.reduce_max": "`lodkit.sequence_pool(t, pool='max', pad_value=-np.inf)`",
    "tf.reduce_min": "`lodkit.sequence_pool(t, pool='min', pad_value=np.inf)`",
    "tf.reduce_prod": "`lodkit.sequence_pool(t, pool='prod', pad_value=1)`",
    "tf.reduce_any": "`lodkit.sequence_pool(t > 2, pool='max') > 0`",
    "tf.reduce_all": "`lodkit.sequence_pool(t > 2, pool='min', pad_value=1) > 0`",
    "tf.reduce_logsumexp": "`lodkit.sequence_pool(t, pool='logsumexp', pad_value=-np.inf)`",
    "tf.concat": "`lodkit.concat([t, u])`, for axis=0; `lodkit.sequence_concat(t, u)`, for axis=1",
    "tf.stack": "`LoDTensor.from_sequences([t, u])`",
    "tf.split": "`lodkit.split(t, 2)`",
    "tf.gather": "`t[[2, 0]]`: sequences; `lodkit.lookup_table(table, tokens)`: rows of a table by ragged ids",
    "tf.gather_nd tf.batch_gather": "`lodkit.sequence_select(n, picks)`: parts of each sequence",
    "tf.expand_dims": "`t.append_level()`: each row a sequence",
    "tf.squeeze": "`t.append_level().drop_level()`",
    "tf.reverse tf.reverse_sequence": "`lodkit.sequence_reverse(t)`, for axis=1; `t[::-1]`, for axis=0",
    "tf.cast": "`t.astype('float32')`",
    "tf.one_hot": "`tokens.with_values(lodkit.one_hot(tokens.values, size=8))`",
    "tf.sequence_mask": "`lodkit.sequence_mask(lengths)`",
    "tf.where": "`np.where(t > 2, t, 0)`",
    "tf.size": "`t.values.size`",
    "tf.tile": "`t[[0, 1, 2, 0, 1, 2]]`, for axis=0; `lodkit.sequence_concat(t, t)`, for axis=1",
    "tf.repeat": "`lodkit.sequence_expand_as(np.arange(3.0), t)`",
    "tf.map_fn": "`LoDTensor.from_sequences([s * 2 for s in t.sequences()])`",
    "tf.zeros_like tf.ones_like": "`t.with_values(np.zeros_like(t.values))`",
    "tf.matmul": "`lodkit.fc(x, weight)`: each row times a matrix",
    "tf.cumsum tf.math.cumsum": "`lodkit.sequence_cumsum(t)`",
    "tf.math.top_k": "`lodkit.sequence_topk(t, k=2)`",
    "tf.sort tf.argsort": "`lodkit.sequence_sort(t, t, level=-1)`; argsort as ak.argsort",
    "tf.unique": "`lodkit.unique(tokens.values)`: of all rows",
    "tf.nn.softmax": "`lodkit.sequence_softmax(t)`",
    "tf.nn.dropout": "`lodkit.dropout(x, rate=0.5, seed=1)`",
    "tf.nn.embedding_lookup": "`lodkit.lookup_table(table, tokens)`",
    "tf.nn.embedding_lookup_sparse tf.nn.safe_embedding_lookup_sparse": (
        "`lodkit.embedding_bag(table, tokens, t, pool='mean')`: t holds the weights"
    ),
    "tf.lookup.StaticVocabularyTable": "`lodkit.vocabulary([['to', 'be']])`",
    "tf.strings.split": "`[text.split() for text in ['to be']]`, and then `lodkit.vocabulary([['to', 'be']])`",
    "tf.strings.ngrams": "`lodkit.sequence_enumerate(tokens, win_size=2)`: windows of ids",
    "tf.edit_distance": "`lodkit.edit_distance(tokens, tokens)`",
    "tf.nn.ctc_loss": "`lodkit.ctc_loss(n2, LoDTensor([1, 1], [[1, 0, 1]]))`",
    "tf.IndexedSlices": "`SelectedRows([3, 1], np.ones((2, 2)), 8)`",
}
