"""What every operator means: signature, documentation, definition, infer rule, gradient. One module a family."""

from .bag_updates import embedding_bag_adagrad, embedding_bag_rowwise_adagrad
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
from .embedding import (
    embedding_bag,
    embedding_bag_grad,
    embedding_bag_weights_grad,
    lookup_table,
    lookup_table_grad,
)
from .gather_scatter import gather, gather_grad
from .moment_optimizers import adadelta, adam, momentum, rmsprop, rowwise_adam
from .norm_optimizers import storm, wngrad
from .optimizers import adagrad, ftrl, rowwise_adagrad, sgd
from .row_updates import rowwise_counter, sparse_lp_regularizer, sparse_normalize
from .segments import segment_reduce, segment_reduce_grad, segment_reduce_weights_grad
from .selected_rows import (
    get_tensor_from_selected_rows,
    merge_selected_rows,
    selected_rows_to_dense,
    sum,
)
from .sequence_pool import sequence_pool, sequence_pool_grad

__all__ = [
    "adadelta",
    "adagrad",
    "adam",
    "embedding_bag",
    "embedding_bag_adagrad",
    "embedding_bag_grad",
    "embedding_bag_rowwise_adagrad",
    "embedding_bag_weights_grad",
    "fc",
    "fc_grad",
    "ftrl",
    "gather",
    "gather_grad",
    "get_tensor_from_selected_rows",
    "lengths_to_offsets",
    "lengths_to_segment_ids",
    "lookup_table",
    "lookup_table_grad",
    "mean",
    "mean_grad",
    "merge_selected_rows",
    "momentum",
    "offsets_to_lengths",
    "offsets_to_segment_ids",
    "relu",
    "relu_grad",
    "rmsprop",
    "rowwise_adagrad",
    "rowwise_adam",
    "rowwise_counter",
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
    "sparse_lp_regularizer",
    "sparse_normalize",
    "storm",
    "sum",
    "tanh",
    "tanh_grad",
    "wngrad",
]
