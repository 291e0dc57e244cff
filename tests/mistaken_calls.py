"""Calls for ``test_mistakes``: inputs swapped, attributes by position, inputs that lack."""

from __future__ import annotations

SWAPPED = [
    ("embedding_bag(ids, table)", "are table and ids swapped? | an array of shape (4, 2)", "embedding_bag(table, ids)"),
    ("embedding_bag(flat, table)", "swapped?", "embedding_bag(table, LoDTensor(ids, [lengths]))", "ids = flat"),
    ("lookup_table(flat, table)", "swapped? | of int64 | of float64", "lookup_table(table, ids)"),
    ("lookup_table(ids, table)", "swapped? | table is a LoDTensor of int64", "lookup_table(table, ids)"),
    ("gather(flat, table)", "are data and ids swapped?", "gather(data, ids)", "ids = flat"),
    ("ctc_loss(labels, logits)", "are logits and labels swapped?", "ctc_loss(logits, labels)"),
    (
        "linear_chain_crf(transition, emission, label)",
        "are emission and transition swapped?",
        "linear_chain_crf(emission, transition, label)",
    ),
    (
        "linear_chain_crf(label, transition, emission)",
        "are emission and label swapped?",
        "linear_chain_crf(emission, transition, label)",
    ),
    ("crf_decoding(transition, emission)", "swapped?", "crf_decoding(emission, transition)"),
    ("sequence_conv(filter, x, context_length=3)", "are x and filter swapped?", "sequence_conv(x, filter"),
    ("row_conv(filter, x)", "are x and filter swapped?", "row_conv(x, filter)"),
    ("fc(weight, x)", "are x and weight swapped?", "fc(x, weight)"),
    ("softmax_with_cross_entropy(np.array([0, 1]), rows)", "are logits and labels swapped?", "logits, labels"),
    ("sequence_scatter(ids, table, t)", "are x and ids swapped?", "sequence_scatter(x, ids, updates)"),
    ("scatter_assign(table, rows, flat)", "are ids and slices swapped?", "scatter_assign(data, ids, slices)"),
    ("gather_selected_rows(flat, s)", "are x and ids swapped?", "gather_selected_rows(x, ids)"),
    ("add_selected_rows(s, table)", "are dense and x swapped?", "add_selected_rows(dense, x)"),
    ("per_sequence(np.ones(2), t)", "swapped? | LoDTensor(x, [lengths])", "per_sequence(x, values)"),
    ("segment_reduce(lengths, rows)", "are data and segments swapped?", "segment_reduce(data, segments)"),
    ("pack_segments(lengths, rows)", "are data and lengths swapped?", "pack_segments(data, lengths)"),
    ("lengths_tile(lengths, np.ones((2, 2)))", "swapped?", "lengths_tile(data, lengths)", "data = rows[:2]"),
    ("gru(np.ones((2, 6)), x)", "are x and input_weight swapped?", "~gru(x, np.ones((2, 6)), np.ones((2, 6)))"),
    ("split_lod_tensor(mask, x)", "are x and mask swapped?", "split_lod_tensor(x, mask)"),
    ("sequence_unpad(lengths, np.ones((2, 2, 1)))", "swapped?", "sequence_unpad(x, lengths)", "x = np.ones((2, 2, 1))"),
    ("reorder_lod_tensor_by_rank(table, x)", "swapped?", "~lod_rank_table(x)", "table = lod_rank_table(x)"),
]
#: Remedies whose names are not those of the table.
GIVEN = {
    "softmax_with_cross_entropy(np.array([0, 1]), rows)": "logits, labels = rows[:2], np.array([0, 1])",
    "sequence_scatter(ids, table, t)": "x, updates = rows[:2] @ np.ones((2, 3)), t",
    "scatter_assign(table, rows, flat)": "data, ids, slices = table, flat, rows",
    "gather_selected_rows(flat, s)": "x, ids = s, flat",
    "add_selected_rows(s, table)": "dense, x = table, s",
    "per_sequence(np.ones(2), t)": "x, values = t, np.ones(2)",
    "row_conv(filter, x)": "filter = np.ones((2, 2))",
}
SWAPPED = [
    (call, words, remedy.replace("sequence_conv(x, filter", "~sequence_conv(x, filter, context_length=3)"), *given)
    for call, words, remedy, *given in SWAPPED
]
SWAPPED = [(*row, GIVEN[row[0]]) if row[0] in GIVEN else row for row in SWAPPED]

BY_POSITION = [
    ('sequence_pool(x, "mean")', "takes 1 input, (x)", "sequence_pool(x, pool='mean')"),
    ('sequence_pool(x, "Mean")', "by name", "sequence_pool(x, pool='mean')"),
    ('sequence_pool(x, "mean", 0.5)', "by name", "sequence_pool(x, pool='mean', pad_value=0.5)"),
    ('embedding_bag(table, ids, "mean")', "(table, ids, weights)", "embedding_bag(table, ids, pool='mean')"),
    ('embedding_bag(table, ids, None, "max")', "by name", "~embedding_bag(table, ids, pool='max')"),
    ('segment_reduce(rows, [2, 1], "mean")', "by name", "segment_reduce(data, segments, reduce='mean')"),
    ("sequence_topk(t, 2)", "by name", "sequence_topk(x, k=2)", "x = t"),
    ("sequence_softmax(x, -1)", "by name", "sequence_softmax(x, level=-1)"),
    ("sequence_reverse(x, 0)", "by name", "sequence_reverse(x, level=0)"),
    ("dropout(rows, 0.5)", "by name", "dropout(x, rate=0.5, seed=0)"),
    ("one_hot(flat, 4)", "by name", "one_hot(ids, size=4)"),
    ("sequence_conv(x, filter, 3)", "by name", "sequence_conv(x, filter, context_length=3)"),
    ("sequence_mask(lengths, 3)", "by name", "sequence_mask(lengths, max_length=3)"),
    ("elementwise_mul(rows, rows, -1)", "(x, y)", "elementwise_mul(x, y, axis=-1)", "x = y = rows"),
    ("sgd(param, grad, 0.1)", "by name", "sgd(param, grad, lr=0.1)"),
    ("adam(param, grad, moment1, moment2, 0.1)", "by name", "adam(param, grad, moment1, moment2, lr=0.1, iteration=1)"),
    ('cast(rows, "float32")', "by name", "cast(x, dtype='float32')"),
    ("cast(rows, np.float32)", "by name", "cast(x, dtype='float32')"),
    ("quantize_rows(table, 4)", "by name", "quantize_rows(table, bits=4)", "table = np.ones((4, 4))"),
    ("sequence_enumerate(ids, 2)", "by name", "sequence_enumerate(x, win_size=2)", "x = ids"),
    ("sequence_erase(ids, [0])", "by name | tokens=", "~sequence_erase(ids, tokens=[0])"),
    ("sequence_reshape(x, 1)", "by name", "sequence_reshape(x, new_dim=1)"),
    ("sequence_attention(query, key, value, 2)", "by name", "sequence_attention(query, key, value, num_heads=2)"),
    ("momentum(param, grad, velocity, 0.1)", "by name", "momentum(param, grad, velocity, lr=0.1)"),
    ("concat_columns([rows, rows])", "one by one | not as a list", "~concat_columns(*[rows, rows])"),
    ("sequence_concat([x, x])", "one by one", "~sequence_concat(x, x)"),
    ("lookup_table(table, ids=flat)", "ids is positional", "lookup_table(table, ids)"),
    ("relu(rows, rows)", "takes 1 input", "relu(x)"),
]

LACKS = [
    ("sgd(param, grad)", "needs the attribute lr", "sgd(param, grad, lr=0.1)"),
    ("sgd(param, lr=0.5)", "lacks grad", "sgd(param, grad, lr=0.5)"),
    (
        "adam(param, grad)",
        "lacks moment1, moment2, lr=, iteration=",
        "adam(param, grad, np.zeros_like(param), np.zeros_like(param), lr=0.1, iteration=1)",
    ),
    (
        "adam(param, grad, lr=0.5)",
        "lacks moment1, moment2, iteration=",
        "adam(param, grad, np.zeros_like(param), np.zeros_like(param), lr=0.5, iteration=1)",
    ),
    (
        "adam(param, grad, moment1, moment2, lr=0.5)",
        "attribute iteration",
        "adam(param, grad, moment1, moment2, lr=0.5, iteration=1)",
    ),
    ("adagrad(param, grad, lr=0.1)", "lacks moment", "adagrad(param, grad, np.zeros_like(param), lr=0.1)"),
    ("momentum(param, grad, lr=0.1)", "lacks velocity", "momentum(param, grad, np.zeros_like(param), lr=0.1)"),
    (
        "rmsprop(param, grad, square, lr=0.1)",
        "lacks velocity",
        "rmsprop(param, grad, square, np.zeros_like(param), lr=0.1)",
    ),
    (
        "ftrl(param, grad, lr=0.1)",
        "lacks squared",
        "ftrl(param, grad, np.zeros((*param.shape, 2), param.dtype), lr=0.1)",
    ),
    (
        "rowwise_adagrad(param, grad, lr=0.1)",
        "lacks moment; | once",
        "rowwise_adagrad(param, grad, np.zeros(len(param), param.dtype), lr=0.1)",
    ),
    (
        "embedding_bag_adagrad(param, ids, np.ones((2, 2)), lr=0.1)",
        "lacks moment",
        "embedding_bag_adagrad(param, ids, grad, np.zeros_like(param), lr=0.1)",
        "grad = np.ones((2, 2))",
    ),
    ("dropout(rows, rate=0.25)", "attribute seed", "dropout(x, rate=0.25, seed=0)"),
    ("sequence_conv(x, filter)", "attribute context_length", "sequence_conv(x, filter, context_length=3)"),
    ("sequence_topk(t)", "attribute k", "~sequence_topk(t, k=1)"),
    ("one_hot(flat)", "attribute size", "~one_hot(flat, size=4)"),
    ("sequence_attention(query)", "lacks key, value", "sequence_attention(query, key, value)"),
    ("sequence_expand(x)", "lacks y", "sequence_expand(x, y)"),
    ("sequence_sort(t)", "lacks keys", "sequence_sort(x, keys)", "keys = [2, 1]"),
    ("fc(x)", "lacks weight", "fc(x, weight)"),
    ("embedding_bag(table)", "lacks ids", "embedding_bag(table, ids)"),
    ("segment_reduce(rows)", "lacks segments", "segment_reduce(data, segments)"),
    ("linear_chain_crf(emission, transition)", "lacks label", "linear_chain_crf(emission, transition, label)"),
    ("lookup_table(weight=table, input=flat)", "lacks table, ids | weight=, input=", "lookup_table(table, ids)"),
    (
        "gru(x, np.ones((2, 6)))",
        "lacks weight | input_weight may be None",
        "gru(x, input_weight, weight)",
        "x, input_weight, weight = LoDTensor(np.ones((3, 6)), [[2, 1]]), None, np.ones((2, 6))",
    ),
    ("sequence_concat()", "lacks xs", "~sequence_concat(*[x, x])"),
    ("relu()", "lacks x", "relu(x)"),
    ("sequence_contains(ids)", "attribute tokens", "~sequence_contains(ids, tokens=[1])"),
    ("optim.SGD({'a': param})", "needs lr", "~optim.SGD({'a': param}, lr=0.1)"),
]

CALLS = [*SWAPPED, *BY_POSITION, *LACKS]
