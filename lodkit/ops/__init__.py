"""What every operator means: signature, documentation, definition, infer rule, gradient. One module a family."""

from .bag_updates import embedding_bag_adagrad, embedding_bag_rowwise_adagrad
from .columns import concat_columns, concat_columns_grad, slice_columns, slice_columns_grad
from .conversions import (
    lengths_to_offsets,
    lengths_to_segment_ids,
    offsets_to_lengths,
    offsets_to_segment_ids,
    segment_ids_to_lengths,
    segment_ids_to_offsets,
)
from .dense import (
    fc,
    fc_grad,
    mean,
    mean_grad,
    relu,
    relu_grad,
    sigmoid,
    sigmoid_grad,
    softmax_with_cross_entropy,
    softmax_with_cross_entropy_grad,
    tanh,
    tanh_grad,
)
from .edge_padding import add_padding, gather_padding, pad_empty_samples, pad_empty_samples_grad, remove_padding
from .embedding import embedding_bag, embedding_bag_grad, embedding_bag_weights_grad, lookup_table, lookup_table_grad
from .features import (
    merge_features,
    merge_features_grad,
    pack_features,
    pack_features_grad,
    select_features,
    select_features_grad,
    stack_features,
    stack_features_grad,
)
from .gather_scatter import batch_gather, batch_gather_grad, gather, gather_grad
from .id_lists import find, find_duplicate_elements, merge_id_lists, unique
from .im2sequence import im2sequence, im2sequence_grad
from .lengths import lengths_split, lengths_top_k, lengths_top_k_grad
from .lod_levels import lod_append, lod_reset, sequence_reshape
from .moment_optimizers import adadelta, adam, momentum, rmsprop, rowwise_adam
from .norm_optimizers import storm, wngrad
from .one_hot import dense_to_id_lists, one_hot, segment_one_hot
from .optimizers import adagrad, ftrl, rowwise_adagrad, sgd
from .padding import lengths_pad, pack_segments, pack_segments_grad, unpack_segments, unpack_segments_grad
from .quantized import (
    cast,
    dequantize_rows,
    quantize_rows,
    quantized_embedding_bag,
    quantized_embedding_bag_weights_grad,
)
from .ranges import (
    gather_ranges,
    gather_ranges_grad,
    gather_ranges_to_dense,
    lengths_gather,
    lengths_gather_grad,
    lengths_tile,
)
from .reduce_dims import reduce_dims, reduce_dims_grad, reduce_dims_weights_grad
from .row_updates import rowwise_counter, sparse_lp_regularizer, sparse_normalize
from .scatter import scatter, scatter_assign, scatter_grad
from .segmentation import (
    lengths_range_fill,
    lengths_to_ranges,
    lengths_to_shape,
    lengths_to_weights,
    segment_ids_to_ranges,
)
from .segments import segment_reduce, segment_reduce_grad, segment_reduce_weights_grad
from .selected_rows import get_tensor_from_selected_rows, merge_selected_rows, selected_rows_to_dense, sum
from .sequence_arithmetic import add_position_encoding, per_sequence, per_sequence_values_grad
from .sequence_conv import row_conv, row_conv_grad, sequence_conv, sequence_conv_grad
from .sequence_cumsum import sequence_cumsum
from .sequence_mask import sequence_mask
from .sequence_padding import (
    sequence_pad,
    sequence_pad_grad,
    sequence_pad_value_grad,
    sequence_unpad,
    sequence_unpad_grad,
)
from .sequence_pool import sequence_pool, sequence_pool_grad
from .sequence_scatter import sequence_scatter, sequence_scatter_grad
from .sequence_selection import (
    sequence_select,
    sequence_select_grad,
    sequence_slice,
    sequence_slice_grad,
    sequence_sort,
    sequence_sort_grad,
)
from .sequence_softmax import sequence_log_softmax, sequence_log_softmax_grad, sequence_softmax, sequence_softmax_grad
from .sequence_structure import (
    sequence_concat,
    sequence_concat_grad,
    sequence_expand,
    sequence_expand_as,
    sequence_expand_grad,
    sequence_reverse,
)
from .sequence_tokens import sequence_enumerate, sequence_erase
from .sequence_topk import sequence_topk, sequence_topk_avg_pooling, sequence_topk_avg_pooling_grad, sequence_topk_grad
from .shards import gather_by_key, lengths_partition, partition
from .sparse_dense import sparse_to_dense, sparse_to_dense_mask, sparse_to_dense_mask_grad
from .sparse_matrix import batch_dense_to_sparse, batch_sparse_to_dense, batch_sparse_to_dense_grad, sparse_matrix
from .split_merge import merge_lod_tensor, split_lod_tensor
from .time_major import pack_rnn_sequence, reverse_packed_segs, unpack_rnn_sequence
from .weighted_sums import scatter_weighted_sum, weighted_sum, weighted_sum_weights_grad

__all__ = [
    "adadelta",
    "adagrad",
    "adam",
    "add_padding",
    "add_position_encoding",
    "batch_dense_to_sparse",
    "batch_gather",
    "batch_gather_grad",
    "batch_sparse_to_dense",
    "batch_sparse_to_dense_grad",
    "cast",
    "concat_columns",
    "concat_columns_grad",
    "dense_to_id_lists",
    "dequantize_rows",
    "embedding_bag",
    "embedding_bag_adagrad",
    "embedding_bag_grad",
    "embedding_bag_rowwise_adagrad",
    "embedding_bag_weights_grad",
    "fc",
    "fc_grad",
    "find",
    "find_duplicate_elements",
    "ftrl",
    "gather",
    "gather_by_key",
    "gather_grad",
    "gather_padding",
    "gather_ranges",
    "gather_ranges_grad",
    "gather_ranges_to_dense",
    "get_tensor_from_selected_rows",
    "im2sequence",
    "im2sequence_grad",
    "lengths_gather",
    "lengths_gather_grad",
    "lengths_pad",
    "lengths_partition",
    "lengths_range_fill",
    "lengths_split",
    "lengths_tile",
    "lengths_to_offsets",
    "lengths_to_ranges",
    "lengths_to_segment_ids",
    "lengths_to_shape",
    "lengths_to_weights",
    "lengths_top_k",
    "lengths_top_k_grad",
    "lod_append",
    "lod_reset",
    "lookup_table",
    "lookup_table_grad",
    "mean",
    "mean_grad",
    "merge_features",
    "merge_features_grad",
    "merge_id_lists",
    "merge_lod_tensor",
    "merge_selected_rows",
    "momentum",
    "offsets_to_lengths",
    "offsets_to_segment_ids",
    "one_hot",
    "pack_features",
    "pack_features_grad",
    "pack_rnn_sequence",
    "pack_segments",
    "pack_segments_grad",
    "pad_empty_samples",
    "pad_empty_samples_grad",
    "partition",
    "per_sequence",
    "per_sequence_values_grad",
    "quantize_rows",
    "quantized_embedding_bag",
    "quantized_embedding_bag_weights_grad",
    "reduce_dims",
    "reduce_dims_grad",
    "reduce_dims_weights_grad",
    "relu",
    "relu_grad",
    "remove_padding",
    "reverse_packed_segs",
    "rmsprop",
    "row_conv",
    "row_conv_grad",
    "rowwise_adagrad",
    "rowwise_adam",
    "rowwise_counter",
    "scatter",
    "scatter_assign",
    "scatter_grad",
    "scatter_weighted_sum",
    "segment_ids_to_lengths",
    "segment_ids_to_offsets",
    "segment_ids_to_ranges",
    "segment_one_hot",
    "segment_reduce",
    "segment_reduce_grad",
    "segment_reduce_weights_grad",
    "select_features",
    "select_features_grad",
    "selected_rows_to_dense",
    "sequence_concat",
    "sequence_concat_grad",
    "sequence_conv",
    "sequence_conv_grad",
    "sequence_cumsum",
    "sequence_enumerate",
    "sequence_erase",
    "sequence_expand",
    "sequence_expand_as",
    "sequence_expand_grad",
    "sequence_log_softmax",
    "sequence_log_softmax_grad",
    "sequence_mask",
    "sequence_pad",
    "sequence_pad_grad",
    "sequence_pad_value_grad",
    "sequence_pool",
    "sequence_pool_grad",
    "sequence_reshape",
    "sequence_reverse",
    "sequence_scatter",
    "sequence_scatter_grad",
    "sequence_select",
    "sequence_select_grad",
    "sequence_slice",
    "sequence_slice_grad",
    "sequence_softmax",
    "sequence_softmax_grad",
    "sequence_sort",
    "sequence_sort_grad",
    "sequence_topk",
    "sequence_topk_avg_pooling",
    "sequence_topk_avg_pooling_grad",
    "sequence_topk_grad",
    "sequence_unpad",
    "sequence_unpad_grad",
    "sgd",
    "sigmoid",
    "sigmoid_grad",
    "slice_columns",
    "slice_columns_grad",
    "softmax_with_cross_entropy",
    "softmax_with_cross_entropy_grad",
    "sparse_lp_regularizer",
    "sparse_matrix",
    "sparse_normalize",
    "sparse_to_dense",
    "sparse_to_dense_mask",
    "sparse_to_dense_mask_grad",
    "split_lod_tensor",
    "stack_features",
    "stack_features_grad",
    "storm",
    "sum",
    "tanh",
    "tanh_grad",
    "unique",
    "unpack_rnn_sequence",
    "unpack_segments",
    "unpack_segments_grad",
    "weighted_sum",
    "weighted_sum_weights_grad",
    "wngrad",
]
