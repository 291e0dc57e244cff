"""Calls for ``test_mistakes``: misspelt names, arrays without lengths, text, tuples."""

from __future__ import annotations

NAMES = [
    ('sequence_pool(x, pool="avrage")', "got 'avrage'", "~sequence_pool(x, pool='average')"),
    ('sequence_pool(x, pool="avg")', "did you mean 'mean'?", "~sequence_pool(x, pool='mean')"),
    ('sequence_pool(x, pool="MAX")', "did you mean 'max'?", "~sequence_pool(x, pool='max')"),
    (
        'segment_reduce(rows, lengths, reduce="avg")',
        "did you mean 'mean'?",
        "~segment_reduce(rows, lengths, reduce='mean')",
    ),
    (
        'segment_reduce(rows, [0, 2, 3], by="offset")',
        "did you mean 'offsets'?",
        "~segment_reduce(rows, [0, 2, 3], by='offsets')",
    ),
    (
        'segment_reduce(rows, [0, 0, 1], by="segment_ids")',
        "did you mean 'ids'?",
        "~segment_reduce(rows, [0, 0, 1], by='ids')",
    ),
    (
        'chunk_eval(label, label, chunk_scheme="iob", num_chunk_types=1)',
        "did you mean 'IOB'?",
        "~chunk_eval(label, label, chunk_scheme='IOB', num_chunk_types=1)",
    ),
    ('sequence_pad(x, side="Left")', "did you mean 'left'?", "~sequence_pad(x, side='left')"),
    (
        'sgd(param, grad, lr=0.1, duplicates="merged")',
        "did you mean 'merge'?",
        "~sgd(param, grad, lr=0.1, duplicates='merge')",
    ),
    ('sequence_pool(x, mode="mean")', "no attribute 'mode'", "~sequence_pool(x, pool='mean')"),
    ('sequence_pool(x, pooltype="SUM")', "did you mean pool='sum'?", "~sequence_pool(x, pool='sum')"),
    ('embedding_bag(table, ids, mode="mean")', "did you mean pool='mean'?", "~embedding_bag(table, ids, pool='mean')"),
    (
        'embedding_bag(table, ids, combiner="mean")',
        "did you mean pool='mean'?",
        "~embedding_bag(table, ids, pool='mean')",
    ),
    (
        "embedding_bag(table, ids, padding_index=0)",
        "did you mean padding_idx=0?",
        "~embedding_bag(table, ids, padding_idx=0)",
    ),
    (
        "embedding_bag(table, ids, per_sample_weights=[1.0, 1, 1])",
        "as the input weights",
        "embedding_bag(table, ids, weights)",
    ),
    (
        "embedding_bag(table, ids, sparse=True)",
        "did you mean is_sparse=True?",
        "~embedding_bag(table, ids, is_sparse=True)",
    ),
    (
        "sequence_attention(query, key, value, num_head=2)",
        "did you mean num_heads=2?",
        "~sequence_attention(query, key, value, num_heads=2)",
    ),
    (
        "sequence_attention(query, key, value, n_heads=2)",
        "did you mean num_heads=2?",
        "~sequence_attention(query, key, value, num_heads=2)",
    ),
    (
        "sequence_attention(query, key, value, is_causal=True)",
        "did you mean causal=True?",
        "~sequence_attention(query, key, value, causal=True)",
    ),
    ("sequence_pool(x, axis=1)", "no attribute 'axis' | pool, pad_value, level", "~sequence_pool(x, level=-1)"),
    ("sequence_pool(x, keepdims=True)", "one row per sequence", "~sequence_pool(x)"),
    ("softmax(rows, axis=-1)", "no attribute 'axis' | it has no attributes", "~softmax(rows)"),
    ("dropout(rows, p=0.5)", "did you mean rate=0.5?", "~dropout(rows, rate=0.5, seed=0)"),
    ("one_hot(flat, num_classes=4)", "did you mean size=4?", "~one_hot(flat, size=4)"),
    ("sgd(param, grad, learning_rate=0.1)", "did you mean lr=0.1?", "~sgd(param, grad, lr=0.1)"),
    (
        "sgd(param, grad, lr=0.1, weight_decy=0.1)",
        "did you mean weight_decay=0.1?",
        "~sgd(param, grad, lr=0.1, weight_decay=0.1)",
    ),
    (
        "adam(param, grad, moment1, moment2, lr=0.1, step=1)",
        "did you mean iteration=1?",
        "~adam(param, grad, moment1, moment2, lr=0.1, iteration=1)",
    ),
    (
        "adam(param, grad, moment1, moment2, lr=0.1, iteration=1, betas=(0.9, 0.99))",
        "did you mean beta1=0.9, beta2=0.99?",
        "~adam(param, grad, moment1, moment2, lr=0.1, iteration=1, beta1=0.9, beta2=0.99)",
    ),
    (
        "adagrad(param, grad, moment, lr=0.1, eps=1e-6)",
        "did you mean epsilon=1e-06?",
        "~adagrad(param, grad, moment, lr=0.1, epsilon=1e-6)",
    ),
    (
        "sequence_conv(x, filter, kernel_size=3)",
        "did you mean context_length=3?",
        "~sequence_conv(x, filter, context_length=3)",
    ),
    ("sequence_mask(lengths, maxlen=3)", "did you mean max_length=3?", "~sequence_mask(lengths, max_length=3)"),
    ("sequence_expand(x, y, level=0)", "did you mean ref_level=0?", "~sequence_expand(x, y, ref_level=0)"),
    ("sparse_matrix(ids, n_columns=3)", "did you mean num_columns=3?", "~sparse_matrix(ids, num_columns=3)"),
    (
        "softmax_with_cross_entropy(rows, [0, 1, 1], ignore_index=1)",
        "no attribute 'ignore_index' | leave rows out",
        "logits[labels != ignored], labels[labels != ignored]",
        "logits, labels, ignored = rows, np.array([0, 1, 1]), 1",
    ),
    (
        "ctc_loss(logits, labels, input_lengths=[4])",
        "no attribute 'input_lengths' | leave it out",
        "~ctc_loss(logits, labels)",
    ),
    ("relu(x, inplace=True)", "no attribute 'inplace' | out=array", "~relu(rows, out=np.empty((3, 2)))"),
    ("sequence_cumsum(t, axis=0)", "level= says of which level", "~sequence_cumsum(t, level=-1)"),
    (
        "lookup_table(table, flat, sparse=True)",
        "did you mean is_sparse=True?",
        "~lookup_table(table, flat, is_sparse=True)",
    ),
    (
        'run("embeding_bag", table, ids)',
        "did you mean embedding_bag",
        "~lodkit.run('embedding_bag', table, ids)",
        "run = lodkit.run",
    ),
    ('OPS["sequence_pol"]', "'sequence_pol' | did you mean sequence_pool", "~OPS['sequence_pool']"),
]

STRUCTURE = [
    ("embedding_bag(table, flat, lengths)", "ids must be a LoDTensor", "LoDTensor(ids, [[2, 1]])", "ids = flat"),
    ("embedding_bag(table, flat, [0, 2])", "ids must be a LoDTensor", "LoDTensor(ids, lod=[[0, 2, 3]])", "ids = flat"),
    (
        "embedding_bag(table, flat, offsets=[0, 2])",
        "holds rows and lengths together",
        "LoDTensor(ids, lod=[[0, 2, 3]])",
        "ids = flat",
    ),
    (
        "embedding_bag(table, flat)",
        "ids=Dense | cpu (table=Dense, ids=LoDTensor",
        "LoDTensor(ids, [lengths])",
        "ids = flat",
    ),
    (
        "embedding_bag(table, [1, 2, 0])",
        "ids must be a LoDTensor, got list",
        "LoDTensor(ids, [lengths])",
        "ids = [1, 2, 0]",
    ),
    (
        "embedding_bag(table, np.ones((2, 2), int))",
        "ids=Dense",
        "LoDTensor.from_uniform(ids)",
        "ids = np.ones((2, 2), int)",
    ),
    ("sequence_pool(rows, lengths)", "x must be a LoDTensor", "LoDTensor(x, [[2, 1]])", "x = rows"),
    ("sequence_pool(rows, lengths=[2, 1])", "x must be a LoDTensor", "LoDTensor(x, [[2, 1]])", "x = rows"),
    (
        "sequence_pool(rows, cu_seqlens=np.array([0, 2, 3]))",
        "x must be a LoDTensor",
        "LoDTensor(x, lod=[[0, 2, 3]])",
        "x = rows",
    ),
    ("sequence_softmax(rows, np.array([2, 1]))", "x must be a LoDTensor", "LoDTensor(x, [[2, 1]])", "x = rows"),
    (
        "sequence_softmax(rows, row_splits=[0, 2, 3])",
        "x must be a LoDTensor",
        "LoDTensor(x, lod=[[0, 2, 3]])",
        "x = rows",
    ),
    ("sequence_reverse(rows, [2, 1])", "x must be a LoDTensor", "LoDTensor(x, [[2, 1]])", "x = rows"),
    ("sequence_pad(rows, [2, 1])", "x must be a LoDTensor", "LoDTensor(x, [[2, 1]])", "x = rows"),
    ("sequence_pool(rows)", "x=Dense", "LoDTensor(x, [lengths])", "x = rows"),
    ("sequence_pool(np.ones((2, 3, 4)))", "x=Dense", "LoDTensor.from_padded(x, lengths)", "x = np.ones((2, 3, 4))"),
    (
        "ctc_loss(logits, np.array([1, 2]))",
        "labels=Dense",
        "LoDTensor(labels, [lengths])",
        "labels, lengths = np.array([1, 2]), [2]",
    ),
    ("greedy_decode(rows)", "scores=Dense", "LoDTensor(scores, [lengths])", "scores = rows"),
    ("lod_rank_table(rows)", "x=Dense", "LoDTensor(x, [lengths])", "x = rows"),
]

TEXT = [
    (
        'edit_distance(["kitten"], ["sitting"])',
        "hyp holds text ('kitten')",
        "LoDTensor.from_nested([[ord(c) for c in text] for text in hyp])",
        "hyp = ['kitten']",
    ),
    (
        'edit_distance("kitten", "sitting")',
        "hyp holds text",
        "LoDTensor.from_nested([[ord(c) for c in text] for text in [hyp]])",
        "hyp = 'kitten'",
    ),
    (
        "embedding_bag(table, sentences)",
        "ids holds text ('to be')",
        "words = [text.split() for text in ids]; vocab = lodkit.vocabulary(words)",
        "ids = sentences",
    ),
    (
        'embedding_bag(table, ["a", "b"])',
        "ids holds text ('a')",
        "words = [ids]; vocab = lodkit.vocabulary(words)",
        "ids = ['a', 'b']",
    ),
    ("embedding_bag(table, texts)", "ids holds text ('to') at [0, 0]", "vocab = lodkit.vocabulary(texts)"),
    (
        "lookup_table(table, texts)",
        "ids holds text ('to')",
        "words = ids; vocab = lodkit.vocabulary(words)",
        "ids = texts",
    ),
    (
        'lookup_table(table, "to be")',
        "ids holds text ('to be')",
        "words = [ids.split()]; vocab = lodkit.vocabulary(words)",
        "ids = 'to be'",
    ),
    ('lookup_table(table, ["to", "be"])', "ids holds text ('to') at [0]", "vocab = lodkit.vocabulary(texts)"),
    (
        "relu(texts)",
        "x holds text ('to') | lodkit.lookup_table(table, ids)",
        "words = x; vocab = lodkit.vocabulary(words)",
        "x = texts",
    ),
    (
        'sequence_pool(["a", "b"])',
        "x holds text ('a')",
        "words = [x]; vocab = lodkit.vocabulary(words)",
        "x = ['a', 'b']",
    ),
    ('lookup_table(table, {"a": 1})', "ids must be | got dict", "~lookup_table(table, [*{'a': 1}.values()])"),
]

TUPLES = [
    (
        "sequence_softmax(sequence_topk(t, k=1))",
        "x is a tuple (LoDTensor, LoDTensor)",
        "x[0]",
        "x = sequence_topk(t, k=1)",
    ),
    ("sequence_pool(sequence_topk(t, k=1))", "x is a tuple", "first, *others = x", "x = sequence_topk(t, k=1)"),
    ("fc(sequence_pool(x, pool='max', return_index=True), weight)", "x is a tuple (ndarray, ndarray)", "x[0]"),
    ("relu((x, (rows, rows)))", "x is a tuple (LoDTensor, tuple)", "x[0]"),
    ("sequence_reverse((x, rows))", "x is a tuple (LoDTensor, ndarray)", "x[0]"),
]

NAMED = [*NAMES, *STRUCTURE, *TEXT, *TUPLES]
