"""Words that users look for and that are not here, each with what is nearest."""

from __future__ import annotations

#: Words, apart by commas -> what is nearest.
ABSENT = {
    "auc, roc, roc auc, area under the curve": "not here: scikit-learn has roc_auc_score(labels, scores)",
    "accuracy, f1 score, confusion matrix": (
        "not here: scikit-learn's sklearn.metrics; of chunks, as named entities are, `lodkit.chunk_eval(tokens, "
        "tokens, chunk_scheme='IOB', num_chunk_types=4)`"
    ),
    "ndcg, recall@k, precision@k, hit rate, mrr": (
        "not here: scikit-learn has ndcg_score; the best k of each sequence are `lodkit.sequence_topk(t, k=2)`"
    ),
    "perplexity": "`np.exp(loss)`, of the mean of `lodkit.softmax_with_cross_entropy(logits, labels)`",
    "bleu, rouge": "not here: sacrebleu and rouge_score; `lodkit.edit_distance(tokens, tokens)` is here",
    "sampled softmax, nce, noise contrastive estimation, hierarchical softmax": (
        "not here: negative samples by `lodkit.sigmoid_cross_entropy_with_logits`"
    ),
    "triplet loss, contrastive loss, contrastive, hinge loss, hinge, focal loss, huber loss, kl divergence": (
        "not here: write it with NumPy below a `lodkit.Tape()`; losses here are "
        "`lodkit.softmax_with_cross_entropy`, `lodkit.sigmoid_cross_entropy_with_logits`, "
        "`lodkit.mean_squared_error`, `lodkit.ctc_loss`"
    ),
    "batch norm, batch normalization, BatchNorm1d, group norm, rms norm": (
        "not here: `lodkit.layer_norm` of each row, `lodkit.sequence_center(t)` of each sequence"
    ),
    "conv2d, Conv2d, max pool 2d": "not here: images; `lodkit.im2sequence` takes windows of them, as sequences",
    "kv cache, key value cache, grouped query attention, alibi, sliding window attention, sparse attention": (
        "not here: `lodkit.sequence_attention` attends to all rows of a sequence, or up to its own, "
        "`lodkit.sequence_attention(n2, n2, n2, causal=True)`"
    ),
    "bpe, sentencepiece, subword, wordpiece": (
        "not here: the packages tokenizers and sentencepiece; their lists of ids go into "
        "`LoDTensor.from_nested([[1, 2], [], [3]])`"
    ),
    "learning rate schedule, scheduler, lr_scheduler, warmup steps": (
        "not here: rates are numbers, pass another lr at each step, or set the rate of a `lodkit.optim.SGD`"
    ),
    "early stopping": "not here: keep the best state by `lodkit.save('best.npz', t)`",
    "autocast, amp": "not here: operators keep the type of their inputs, `t.astype('float16')`",
    "tpu, mps, rocm, opencl": "not here: devices are 'cpu' and 'cuda', `t.to('cpu')`",
    "transducer, rnnt, rnn-t": "not here: torchaudio's rnnt_loss; `lodkit.ctc_loss` is here",
    "knn, nearest neighbour, nearest neighbor, faiss": "not here: faiss; scores of a matrix by `lodkit.fc(x, weight)`",
    "pca, matrix factorization, svd": "not here: scikit-learn; `lodkit.embedding_bag_sgd` steps tables of factors",
    "std, variance, standard deviation": (
        "`lodkit.sequence_pool(np.square(lodkit.sequence_center(t)), pool='mean')` of each sequence, and its root"
    ),
    "median, quantile, percentile": "not here: `[np.median(s) for s in t.sequences() if len(s)]`",
    "lag, lead, shift": "`lodkit.sequence_slice(t, 1, clip=True)`: each sequence from its second row on",
    "diff, difference": "not here: `[np.diff(s) for s in t.sequences()]`",
    "rolling mean, moving average, rolling, exponential moving average, ewm": (
        "`lodkit.row_conv(n2, filter)`, or `lodkit.sequence_conv`: weighted sums of the rows around each"
    ),
    "csv, sql, hdf5, avro": (
        "not here: a table of pandas, polars, pyarrow or DuckDB, and then `LoDTensor.from_arrow(column)`"
    ),
    "onnx": "not here: `lodkit.save('t.npz', t)` keeps arrays and LoDTensors",
    "tensorboard, wandb, mlflow": "not here: they take the numbers that a training step returns",
    "profiler, profile": "`lodkit.OPS['sequence_pool'].explain(t)`: what a call would do; times by Python's cProfile",
    "missing values, null, fillna, nan": (
        "a LoDTensor has no missing values: `LoDTensor.from_arrow(t, nulls='empty')` reads them, NaN by "
        "`t.with_values(np.nan_to_num(t.values))`"
    ),
    "set intersection, intersect, jaccard, set difference": (
        "not here: unions by `lodkit.merge_id_lists(tokens, tokens)`, whether one is in by `lodkit.sequence_contains`"
    ),
    "dedupe, drop_duplicates, distinct": (
        "`lodkit.merge_id_lists(tokens)` in each sequence, `lodkit.unique(ids)` in all"
    ),
    "einsum, outer product, tensordot": "not here: `lodkit.fc(x, weight)`, `lodkit.match_matrix(n2, n2, cross)`",
    "cartesian, cartesian product, combinations, pairs": "not here: `itertools.product` of each of `t.sequences()`",
    "interpolate, resample, fft, stft, mfcc, spectrogram": (
        "not here: SciPy and librosa, array by array: `LoDTensor.from_sequences([s * 2 for s in t.sequences()])`"
    ),
    "temperature, nucleus, top p, gumbel": (
        "not here: divide scores before `lodkit.softmax(x)`; `lodkit.greedy_decode` and `lodkit.beam_search` choose"
    ),
    "tf-idf, tfidf, bm25": (
        "not here: weights of your own in `lodkit.embedding_bag(table, tokens, t)`; counts by `lodkit.segment_one_hot`"
    ),
    "glove, fasttext, pretrained embeddings": "`lodkit.lookup_table(table, tokens)` of the array that NumPy reads",
    "gradient checkpointing": "not here: a `lodkit.Tape()` keeps what gradients read",
    "ddp, fsdp, horovod, ray, dask, spark": (
        "`lodkit.distributed.ShardedTable` for tables, over MPI or torch.distributed; `lodkit.split(t, 2)` for batches"
    ),
    "cupy, triton": "arrays of CuPy and GPU tensors of PyTorch go in as they are; kernels are Numba's, by `lodkit.op`",
    "tensorflow, tf": "names of its functions are found, too; values cross as arrays, `t.values`, `t.offsets()`",
    "bloom filter, count sketch": (
        "not here: `lodkit.hash_rows(pairs, mod_by=100)` hashes, `lodkit.rowwise_counter` counts"
    ),
    "feature cross, crossed column, hashed cross": "`lodkit.hash_rows(pairs, mod_by=100)`: rows of ids to one id",
    "bucketize, binning, digitize, quantile binning": "not here: NumPy's, `np.digitize(x, [1, 2])`",
    "factorization machine, fm, deepfm, dlrm, dcn": (
        "not here as a layer: `lodkit.embedding_bags({'a': table}, {'a': tokens})`, `lodkit.fc(x, weight)`, and a tape"
    ),
    "attention pooling, set transformer, DIN": "`lodkit.sequence_pool(lodkit.sequence_softmax(t) * u)`: weighted sums",
    "graph neural network, gnn, message passing, edge index": (
        "`lodkit.segment_reduce(table, ids, None, index, by='ids')`: sums of neighbours; layers are PyTorch Geometric's"
    ),
    "time series, point cloud": "`LoDTensor.from_segment_ids(x, index)`: rows of each series or cloud",
    "progress bar, tqdm": (
        "bars of tqdm, where it is installed, for `lodkit.warmup`, `lodkit.save` and `lodkit.load` that take over "
        "a second; LODKIT_PROGRESS=0 or 1 says never or always"
    ),
    "reproducible, deterministic, seed": (
        "results have the same bits for any number of threads; what is random takes a seed"
    ),
    "num_workers, prefetch, pin_memory": "`lodkit.interop.torch.collate` in a DataLoader of PyTorch, which has them",
    "memory usage, nbytes, peak memory": "`t.nbytes`",
}
