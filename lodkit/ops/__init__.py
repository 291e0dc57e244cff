"""What every operator means: signature, documentation, definition, infer rule, gradient. One module a family."""

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
from .edge_padding import (
    add_padding,
    gather_padding,
    pad_empty_samples,
    pad_empty_samples_grad,
    remove_padding,
)
from .embedding import (
    embedding_bag,
    embedding_bag_grad,
    embedding_bag_weights_grad,
    lookup_table,
    lookup_table_grad,
)
from .gather_scatter import gather, gather_grad
from .optimizers import adagrad, sgd
from .padding import (
    lengths_pad,
    pack_segments,
    pack_segments_grad,
    unpack_segments,
    unpack_segments_grad,
)
from .segments import segment_reduce, segment_reduce_grad, segment_reduce_weights_grad
from .selected_rows import (
    get_tensor_from_selected_rows,
    merge_selected_rows,
    selected_rows_to_dense,
    sum,
)
from .sequence_pool import sequence_pool, sequence_pool_grad
from .time_major import pack_rnn_sequence, reverse_packed_segs, unpack_rnn_sequence

__all__ = [
    "adagrad",
    "add_padding",
    "embedding_bag",
    "embedding_bag_grad",
    "embedding_bag_weights_grad",
    "fc",
    "fc_grad",
    "gather",
    "gather_grad",
    "gather_padding",
    "get_tensor_from_selected_rows",
    "lengths_pad",
    "lengths_to_offsets",
    "lengths_to_segment_ids",
    "lookup_table",
    "lookup_table_grad",
    "mean",
    "mean_grad",
    "merge_selected_rows",
    "offsets_to_lengths",
    "offsets_to_segment_ids",
    "pack_rnn_sequence",
    "pack_segments",
    "pack_segments_grad",
    "pad_empty_samples",
    "pad_empty_samples_grad",
    "relu",
    "relu_grad",
    "remove_padding",
    "reverse_packed_segs",
    "segment_ids_to_lengths",
    "segment_ids_to_offsets",
    "segment_reduce",
    "segment_reduce_grad",
    "segment_reduce_weights_grad",
    "selected_rows_to_dense",
    "sequence_pool",
    "sequence_pool_grad",
    "sgd",
    "sigmoid",
    "sigmoid_grad",
    "softmax_with_cross_entropy",
    "softmax_with_cross_entropy_grad",
    "sum",
    "tanh",
    "tanh_grad",
    "unpack_rnn_sequence",
    "unpack_segments",
    "unpack_segments_grad",
]
