"""Jagged and sparse operators of FBGEMM, and the jagged types of TorchRec."""

from __future__ import annotations

#: Names of FBGEMM -> what does it here.
FBGEMM = {
    "fbgemm.jagged_to_padded_dense fbgemm.jagged_2d_to_dense fbgemm.jagged_1d_to_dense": (
        "`lodkit.pack_segments(x, lengths, max_length=3)`; of a LoDTensor `t.to_padded(0, max_length=3)`"
    ),
    "fbgemm.stacked_jagged_1d_to_dense fbgemm.stacked_jagged_2d_to_dense": (
        "`[part.to_padded() for part in lodkit.split(t, 2)]`"
    ),
    "fbgemm.dense_to_jagged": "`LoDTensor.from_padded(dense, [3, 0, 2])`",
    "fbgemm.jagged_dense_elementwise_add": "`t.to_padded() + dense[:, :3]`",
    "fbgemm.jagged_dense_elementwise_add_jagged_output fbgemm.jagged_dense_dense_elementwise_add_jagged_output": (
        "`t + LoDTensor.from_padded(dense, t.lengths())`"
    ),
    "fbgemm.jagged_dense_elementwise_mul": "`t * LoDTensor.from_padded(dense, t.lengths())`",
    "fbgemm.batched_dense_vec_jagged_2d_mul": (
        "`lodkit.sequence_pool(lodkit.per_sequence(n2, np.ones((3, 2)), op='mul'))`, where each row has a factor"
    ),
    "fbgemm.jagged_index_select fbgemm.jagged_index_select_2d fbgemm.keyed_jagged_index_select_dim1": "`t[[2, 0, 2]]`",
    "fbgemm.jagged_index_add_2d": "not here: the gradient of `t[[2, 0, 2]]`, which a `lodkit.Tape()` takes",
    "fbgemm.jagged_slice": "`lodkit.sequence_slice(t, 0, 2, clip=True)`",
    "fbgemm.jagged_1d_to_truncated_values": "`lodkit.sequence_slice(tokens, 0, 2, clip=True).values`",
    "fbgemm.masked_select_jagged_1d": (
        "`LoDTensor.from_segment_ids(t.values[keep], t.segment_ids()[keep], num_segments=len(t))`"
    ),
    "fbgemm.jagged_softmax": "`lodkit.sequence_softmax(t)`",
    "fbgemm.jagged_jagged_bmm": "not here: a product for each sequence, `[s.T @ s for s in n2.sequences()]`",
    "fbgemm.jagged_dense_bmm": "`n2.with_values(lodkit.fc(n2.values, weight))`, where all share a matrix",
    "fbgemm.jagged_unique_indices": "`lodkit.unique(tokens.values, return_inverse=True)`",
    "fbgemm.jagged_hash_size_cumsum fbgemm.jagged_acc_weights_and_counts": (
        "not here: parts of jagged_unique_indices, `lodkit.unique(tokens.values, return_counts=True)`"
    ),
    "fbgemm.asynchronous_complete_cumsum": "`lodkit.lengths_to_offsets(lengths)`",
    "fbgemm.asynchronous_exclusive_cumsum": "`lodkit.lengths_to_offsets(lengths)[:-1]`",
    "fbgemm.asynchronous_inclusive_cumsum": "`lodkit.lengths_to_offsets(lengths)[1:]`",
    "fbgemm.offsets_range fbgemm.lengths_range": "`lodkit.lengths_range_fill(lengths)`",
    "fbgemm.repeat_arange": "`lodkit.lengths_range_fill(lengths)`",
    "fbgemm.segment_sum_csr": "`lodkit.segment_reduce(x, offsets, by='offsets')`",
    "fbgemm.pack_segments fbgemm.pack_segments_v2": "`lodkit.pack_segments(x, lengths)`",
    "fbgemm.permute_1D_sparse_data fbgemm.permute_2D_sparse_data fbgemm.permute_sparse_features": (
        "`t[[2, 0, 1]]`; of keyed features `lodkit.select_features`"
    ),
    "fbgemm.expand_into_jagged_permute fbgemm.invert_permute": (
        "not here: `np.argsort([2, 0, 1])`, and then `t[[1, 2, 0]]`"
    ),
    "fbgemm.block_bucketize_sparse_features fbgemm.bucketize_sparse_features": (
        "`lodkit.lengths_partition(lengths, np.arange(6), num_outputs=2)`, by key % shards"
    ),
    "fbgemm.bounds_check_indices": (
        "every operator checks its ids, RowIndexError; `lodkit.bounds_check('clamp')` on a GPU"
    ),
    "fbgemm.index_select_dim0 fbgemm.group_index_select_dim0": "`lodkit.gather(table, index)`",
    "fbgemm.batched_unary_embeddings": "`lodkit.embedding_bag(table[:, :1], tokens)`",
    "fbgemm.histogram_binning_calibration fbgemm.generic_histogram_binning_calibration_by_feature": (
        "not here: calibration; scikit-learn has CalibratedClassifierCV"
    ),
    "fbgemm.bottom_k_per_row": "`lodkit.sequence_topk(-t, k=2)`: of the negated numbers",
    "fbgemm.reorder_batched_ad_lengths fbgemm.reorder_batched_ad_indices": "`t[[2, 0, 1]]`",
    "fbgemm.emb_inplace_update": "`lodkit.scatter_assign(table, [1, 2], np.ones((2, 2)))`",
    "fbgemm.FloatToFused8BitRowwiseQuantized": "`lodkit.quantize_rows(table32)`",
    "fbgemm.Fused8BitRowwiseQuantizedToFloat": "`lodkit.dequantize_rows(lodkit.quantize_rows(table32))`",
    "fbgemm.FloatToFusedNBitRowwiseQuantizedSBHalf": "`lodkit.quantize_rows(table32, bits=4)`",
    "fbgemm.FusedNBitRowwiseQuantizedSBHalfToFloat": (
        "`lodkit.dequantize_rows(lodkit.quantize_rows(table32, bits=4), bits=4)`"
    ),
    "fbgemm.zero_collision_hash": "`lodkit.GrowingTable(2)`: keys that come get rows",
    "SplitTableBatchedEmbeddingBagsCodegen": (
        "`lodkit.embedding_bags({'a': table}, {'a': tokens})`, and `lodkit.update_embedding_bags` for the step"
    ),
    "IntNBitTableBatchedEmbeddingBagsCodegen": (
        "`lodkit.quantized_embedding_bag(lodkit.quantize_rows(table32), tokens)`"
    ),
}

TORCHREC = {
    "JaggedTensor": "`LoDTensor(x, [[2, 1, 0, 3]])`",
    "JaggedTensor.from_dense": "`LoDTensor.from_sequences([t[0], t[2]])`",
    "JaggedTensor.from_dense_lengths": "`LoDTensor.from_padded(dense, [3, 0, 2])`",
    "JaggedTensor.to_dense": "`t.sequences()`",
    "JaggedTensor.to_padded_dense": "`t.to_padded(0, max_length=4)`",
    "JaggedTensor.lengths": "`t.lengths()`",
    "JaggedTensor.offsets": "`t.offsets()`",
    "JaggedTensor.values": "`t.values`",
    "JaggedTensor.weights": "not here: a second LoDTensor of the same structure, `t.with_values(np.ones(5))`",
    "KeyedJaggedTensor": (
        "`Features([2, 1], [1, 3, 1], [2, 1, 1], [0, 1, 1, 0])`, from dictionaries "
        "`Features.from_list`, from TorchRec's `LoDTensor.from_torch`"
    ),
    "KeyedJaggedTensor.keys": "`np.unique(f.keys)`",
    "KeyedJaggedTensor.__getitem__": "`f.feature(1)`",
    "KeyedJaggedTensor.permute": "`{key: f.feature(key) for key in (3, 1)}`",
    "KeyedJaggedTensor.concat": "`lodkit.concat([f, f])`: examples; `f.merge(g)`: features",
    "KeyedJaggedTensor.to_dict": "`{key: f.feature(key) for key in (1, 3)}`",
    "KeyedTensor.regroup": "`lodkit.concat_columns(x, x)`",
    "EmbeddingBagCollection": "`lodkit.embedding_bags({'a': table}, {'a': tokens})`",
    "EmbeddingCollection": "`lodkit.lookup_table(table, tokens)`",
    "torchrec.DistributedModelParallel": "`lodkit.distributed.ShardedTable`",
}
