"""torch_scatter, torch_sparse and the segment functions of PyTorch, TensorFlow, JAX and NumPy."""

from __future__ import annotations

#: Names of torch_scatter -> what does it here.
TORCH_SCATTER = {
    "torch_scatter.scatter": "`lodkit.segment_reduce(x, index, by='unsorted_ids', reduce='sum')`",
    "torch_scatter.scatter_sum torch_scatter.scatter_add": "`lodkit.segment_reduce(x, index, by='unsorted_ids')`",
    "torch_scatter.scatter_mul": "`lodkit.segment_reduce(x, index, by='unsorted_ids', reduce='prod', pad_value=1)`",
    "torch_scatter.scatter_mean": "`lodkit.segment_reduce(x, index, by='unsorted_ids', reduce='mean')`",
    "torch_scatter.scatter_min": (
        "`lodkit.segment_reduce(x, index, by='unsorted_ids', reduce='min')`; with positions "
        "`lodkit.sequence_pool(t, pool='min', return_index=True)`"
    ),
    "torch_scatter.scatter_max": (
        "`lodkit.segment_reduce(x, index, by='unsorted_ids', reduce='max')`; with positions "
        "`lodkit.sequence_pool(t, pool='max', return_index=True)`"
    ),
    "torch_scatter.segment_coo": "`lodkit.segment_reduce(x, ids, by='ids', reduce='sum')`",
    "torch_scatter.segment_sum_coo torch_scatter.segment_add_coo": "`lodkit.segment_reduce(x, ids, by='ids')`",
    "torch_scatter.segment_mean_coo": "`lodkit.segment_reduce(x, ids, by='ids', reduce='mean')`",
    "torch_scatter.segment_min_coo": "`lodkit.segment_reduce(x, ids, by='ids', reduce='min')`",
    "torch_scatter.segment_max_coo": "`lodkit.segment_reduce(x, ids, by='ids', reduce='max')`",
    "torch_scatter.gather_coo": "`lodkit.gather(table, ids)`",
    "torch_scatter.segment_csr": "`lodkit.segment_reduce(x, offsets, by='offsets', reduce='sum')`",
    "torch_scatter.segment_sum_csr torch_scatter.segment_add_csr": "`lodkit.segment_reduce(x, offsets, by='offsets')`",
    "torch_scatter.segment_mean_csr": "`lodkit.segment_reduce(x, offsets, by='offsets', reduce='mean')`",
    "torch_scatter.segment_min_csr": "`lodkit.segment_reduce(x, offsets, by='offsets', reduce='min')`",
    "torch_scatter.segment_max_csr": "`lodkit.segment_reduce(x, offsets, by='offsets', reduce='max')`",
    "torch_scatter.gather_csr": "`lodkit.lengths_tile(table[:4], lodkit.offsets_to_lengths(offsets))`",
    "torch_scatter.scatter_std": (
        "not here: the root of `lodkit.sequence_pool(np.square(lodkit.sequence_center(t)), pool='mean')`, which "
        "divides by the length, not by one less"
    ),
    "torch_scatter.scatter_logsumexp": "`lodkit.segment_reduce(x, index, by='unsorted_ids', reduce='logsumexp')`",
    "torch_scatter.scatter_softmax": (
        "`lodkit.sequence_softmax(LoDTensor.from_segment_ids(x, ids))`, in the order of the segments"
    ),
    "torch_scatter.scatter_log_softmax": (
        "`lodkit.sequence_log_softmax(LoDTensor.from_segment_ids(x, ids))`, in the order of the segments"
    ),
}

TORCH_SPARSE = {
    "torch_sparse.SparseTensor": "`LoDTensor.from_scipy(matrix)`: ids and scores; or `lodkit.sparse_matrix(tokens)`",
    "torch_sparse.SparseTensor.from_dense": "`LoDTensor.from_sparse_matrix(dense)`: ids and scores",
    "torch_sparse.SparseTensor.to_dense": "`tokens.to_sparse_matrix()`",
    "torch_sparse.SparseTensor.from_scipy torch_sparse.from_scipy": "`LoDTensor.from_scipy(matrix)`",
    "torch_sparse.SparseTensor.to_scipy torch_sparse.to_scipy": "`tokens.to_scipy()`",
    "torch_sparse.coalesce": (
        "`s.merge()` of row numbers; of single elements SciPy's `tokens.to_scipy(format='coo')` and its sum_duplicates"
    ),
    "torch_sparse.spmm torch_sparse.matmul": (
        "`lodkit.embedding_bag(table, tokens, t)`: t holds the numbers of the matrix"
    ),
    "torch_sparse.spspmm": "not here: SciPy's product, `tokens.to_scipy(t) @ tokens.to_scipy(t).T`",
    "torch_sparse.transpose torch_sparse.t": "not here: SciPy's, `tokens.to_scipy(t).T`",
    "torch_sparse.sum": "`lodkit.sequence_pool(t)`: of each row of the matrix",
    "torch_sparse.mean": "`lodkit.sequence_pool(t, pool='mean')`, over the stored numbers",
    "torch_sparse.min": "`lodkit.sequence_pool(t, pool='min')`, over the stored numbers",
    "torch_sparse.max": "`lodkit.sequence_pool(t, pool='max')`, over the stored numbers",
    "torch_sparse.cat": "`lodkit.concat([t, u])`: below each other",
    "torch_sparse.index_select": "`t[[2, 0]]`: rows",
    "torch_sparse.masked_select": "`t[mask]`: rows",
    "torch_sparse.narrow": "`t[0:2]`: rows",
    "torch_sparse.select": "`t[0]`: a row",
    "torch_sparse.masked_select_nnz": (
        "`LoDTensor.from_segment_ids(t.values[keep], t.segment_ids()[keep], num_segments=len(t))`"
    ),
    "torch_sparse.mul torch_sparse.mul_nnz": "`t * u`, of one structure",
    "torch_sparse.add torch_sparse.add_nnz": "`t + u`, of one structure",
    "torch_sparse.eye": "`LoDTensor.from_uniform(np.arange(3)[:, None])`: one id a row",
    "torch_sparse.remove_diag torch_sparse.set_diag torch_sparse.fill_diag torch_sparse.get_diag": (
        "not here: SciPy's, `tokens.to_scipy().diagonal()`"
    ),
    "torch_sparse.partition torch_sparse.reverse_cuthill_mckee torch_sparse.bandwidth torch_sparse.permute": (
        "not here: orders of graphs; SciPy has scipy.sparse.csgraph"
    ),
    "torch_sparse.sample torch_sparse.sample_adj torch_sparse.random_walk torch_sparse.saint_subgraph": (
        "not here: samplers of graphs; PyTorch Geometric has them"
    ),
}

SEGMENTS = {
    "torch.segment_reduce": "`lodkit.segment_reduce(x, lengths, reduce='sum')`",
    "torch.index_add torch.Tensor.index_add_ torch.scatter_add": (
        "`lodkit.segment_reduce(x, index, by='unsorted_ids')`; into a table `lodkit.add_selected_rows(table, s)`"
    ),
    "torch.scatter_reduce torch.index_reduce": "`lodkit.segment_reduce(x, index, by='unsorted_ids', reduce='max')`",
    "torch.index_select torch.gather torch.take_along_dim": "`lodkit.gather(table, ids)`: rows",
    "torch.repeat_interleave": "`lodkit.lengths_tile(table[:4], lengths)`",
    "torch.bucketize torch.searchsorted": "not here: NumPy's, `np.searchsorted(offsets, [0, 3])`",
    "torch.unique_consecutive": "`lodkit.unique(ids)`: of sorted ids",
    "torch.nn.functional.embedding_bag": "`lodkit.embedding_bag(table, tokens)`",
    "torch.nn.functional.embedding": "`lodkit.lookup_table(table, tokens)`",
    "torch.nn.functional.one_hot": "`lodkit.one_hot(ids, size=4)`",
    "torch.nn.functional.scaled_dot_product_attention": "`lodkit.sequence_attention(n2, n2, n2)`: each sequence alone",
    "torch.nn.utils.rnn.pad_sequence": "`t.to_padded()`, batch first",
    "torch.nn.utils.rnn.unpad_sequence": "`LoDTensor.from_padded(dense, [3, 0, 2])`",
    "torch.nn.utils.rnn.pack_sequence": "`LoDTensor.from_sequences([t[0], t[2]])`",
    "torch.nn.utils.rnn.unpack_sequence": "`t.sequences()`",
    "torch.nn.utils.rnn.pack_padded_sequence": "`LoDTensor.from_padded(dense, [3, 0, 2])`",
    "torch.nn.utils.rnn.pad_packed_sequence": "`t.to_padded()` and `t.lengths()`",
    "tf.math.segment_sum": "`lodkit.segment_reduce(x, ids, by='ids')`",
    "tf.math.segment_mean": "`lodkit.segment_reduce(x, ids, by='ids', reduce='mean')`",
    "tf.math.segment_max": "`lodkit.segment_reduce(x, ids, by='ids', reduce='max')`",
    "tf.math.segment_min": "`lodkit.segment_reduce(x, ids, by='ids', reduce='min')`",
    "tf.math.segment_prod": "`lodkit.segment_reduce(x, ids, by='ids', reduce='prod', pad_value=1)`",
    "tf.math.unsorted_segment_sum jax.ops.segment_sum": (
        "`lodkit.segment_reduce(x, index, by='unsorted_ids', num_segments=4)`"
    ),
    "tf.math.unsorted_segment_mean": "`lodkit.segment_reduce(x, index, by='unsorted_ids', reduce='mean')`",
    "tf.math.unsorted_segment_max jax.ops.segment_max": (
        "`lodkit.segment_reduce(x, index, by='unsorted_ids', reduce='max', pad_value=-np.inf)`"
    ),
    "tf.math.unsorted_segment_min jax.ops.segment_min": (
        "`lodkit.segment_reduce(x, index, by='unsorted_ids', reduce='min', pad_value=np.inf)`"
    ),
    "tf.math.unsorted_segment_prod jax.ops.segment_prod": (
        "`lodkit.segment_reduce(x, index, by='unsorted_ids', reduce='prod', pad_value=1)`"
    ),
    "tf.math.unsorted_segment_sqrt_n": "`lodkit.segment_reduce(x, index, by='unsorted_ids', reduce='sqrt')`",
    "tf.sparse.segment_sum": "`lodkit.segment_reduce(table, ids, None, index, by='ids')`: the rows `table[index]`",
    "tf.sparse.segment_mean": "`lodkit.segment_reduce(table, ids, None, index, by='ids', reduce='mean')`",
    "tf.sparse.segment_sqrt_n": "`lodkit.segment_reduce(table, ids, None, index, by='ids', reduce='sqrt')`",
    "jax.lax.ragged_dot": "not here: a matrix for each segment; a loop over `t.sequences()`",
    "np.add.reduceat": "`lodkit.segment_reduce(x, offsets, by='offsets')`; an empty segment is 0, not the next row",
    "np.maximum.reduceat": "`lodkit.segment_reduce(x, offsets, by='offsets', reduce='max')`",
    "np.bincount": "`lodkit.segment_ids_to_lengths(ids)`: of sorted ids",
    "np.split": "`LoDTensor.from_offsets(x, offsets).sequences()`",
}
