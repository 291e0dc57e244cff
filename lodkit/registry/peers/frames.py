"""Lists in pandas, polars and Arrow, and nested tensors of PyTorch."""

from __future__ import annotations

#: Names of pandas -> what does it here.
PANDAS = {
    "pd.Series": "`LoDTensor.from_nested(series)`, back `pd.Series(t.to_list())`",
    "Series.explode DataFrame.explode": "`t.values`, and the place of each, `t.segment_ids()`",
    "Series.str.len Series.list.len": "`t.lengths()`",
    "Series.str.get Series.list.__getitem__": (
        "`lodkit.sequence_pool(t, pool='first', pad_value=np.nan)`, the last alike; the k-th "
        "`lodkit.sequence_slice(t, 1, 2, clip=True)`"
    ),
    "Series.str.slice": "`lodkit.sequence_slice(t, 0, 2, clip=True)`",
    "Series.list.flatten": "`t.values`",
    "Series.apply Series.map": (
        "`t.with_values(np.sqrt(t.values))`, row by row; `LoDTensor.from_sequences([s * 2 for s in t.sequences()])`"
    ),
    "Series.tolist": "`t.to_list()`",
    "Series.to_numpy": "`t.sequences()`",
    "groupby.agg groupby.apply": "`LoDTensor.from_segment_ids(x, index)`: agg(list)",
    "groupby.sum": "`lodkit.segment_reduce(x, index, by='unsorted_ids')`",
    "groupby.mean": "`lodkit.segment_reduce(x, index, by='unsorted_ids', reduce='mean', pad_value=np.nan)`",
    "groupby.max": "`lodkit.segment_reduce(x, index, by='unsorted_ids', reduce='max')`",
    "groupby.min": "`lodkit.segment_reduce(x, index, by='unsorted_ids', reduce='min')`",
    "groupby.prod": "`lodkit.segment_reduce(x, index, by='unsorted_ids', reduce='prod', pad_value=1)`",
    "groupby.first": "`lodkit.segment_reduce(x, index, by='unsorted_ids', reduce='first')`",
    "groupby.last": "`lodkit.segment_reduce(x, index, by='unsorted_ids', reduce='last')`",
    "groupby.size groupby.count": "`lodkit.segment_ids_to_lengths(ids)`: of sorted ids",
    "groupby.cumsum": "`lodkit.sequence_cumsum(t)`",
    "groupby.cumcount": "`lodkit.lengths_range_fill(lengths)`",
    "groupby.head": "`lodkit.sequence_slice(t, 0, 2, clip=True)`",
    "groupby.tail": "`lodkit.sequence_slice(t, -2, clip=True)`",
    "groupby.nlargest": "`lodkit.sequence_topk(t, k=2)`",
    "groupby.std groupby.var": (
        "`lodkit.sequence_pool(np.square(lodkit.sequence_center(t)), pool='mean')`, which divides by the length "
        "(ddof=0)"
    ),
    "groupby.median groupby.quantile": "not here: `[np.median(s) for s in t.sequences() if len(s)]`",
    "groupby.transform": "`lodkit.per_sequence(t, lodkit.sequence_pool(t, pool='mean'), op='sub')`",
    "groupby.ngroup pd.factorize": (
        "`lodkit.unique(index, return_inverse=True)`; of words `lodkit.vocabulary([['to', 'be']])`"
    ),
    "pd.get_dummies Series.str.get_dummies": "`lodkit.segment_one_hot(tokens, size=8)`",
    "pd.concat": "`lodkit.concat([t, u])`",
}

POLARS = {
    "pl.Series": "`LoDTensor.from_arrow(series)`, back `pl.Series(t)`",
    "list.agg": "`lodkit.sequence_pool(t)`, and the other pools",
    "list.all": "`lodkit.sequence_pool(t > 2, pool='min', pad_value=1) > 0`",
    "list.any": "`lodkit.sequence_pool(t > 2, pool='max') > 0`",
    "list.arg_max": (
        "`lodkit.sequence_pool(t, pool='max', return_index=True)[1] - t.offsets()[:-1]`; of an empty one negative"
    ),
    "list.arg_min": (
        "`lodkit.sequence_pool(t, pool='min', return_index=True)[1] - t.offsets()[:-1]`; of an empty one negative"
    ),
    "list.concat": "`lodkit.sequence_concat(t, u)`",
    "list.contains": "`lodkit.sequence_contains(tokens, tokens=[5])`",
    "list.count_matches": "`lodkit.sequence_pool(tokens == 5)`",
    "list.diff": "not here: `[np.diff(s) for s in t.sequences()]`",
    "list.drop_nulls": (
        "not here: a LoDTensor has no missing values; `LoDTensor.from_arrow(t, nulls='empty')` reads lists"
    ),
    "list.eval": "`t * 2 + 1`, ufuncs, and `t.with_values(np.sqrt(t.values))`",
    "list.explode": "`t.values`, and the place of each, `t.segment_ids()`",
    "list.filter": "`LoDTensor.from_segment_ids(t.values[keep], t.segment_ids()[keep], num_segments=len(t))`",
    "list.first": "`lodkit.sequence_pool(t, pool='first', pad_value=np.nan)`",
    "list.gather": (
        "`lodkit.sequence_select(n, picks)`: parts of each sequence; of rows by "
        "`lodkit.sequence_select(t.append_level(), picks)`"
    ),
    "list.gather_every": "not here: `LoDTensor.from_sequences([s[::2] for s in t.sequences()])`",
    "list.get": "`lodkit.sequence_slice(t, 1, 2, clip=True)`: lists of one",
    "list.head": "`lodkit.sequence_slice(t, 0, 2, clip=True)`",
    "list.item": "`lodkit.sequence_pool(t, pool='first')`",
    "list.join": "`' '.join(words)` of each list of `vocab.words(vocab([['to', 'be']]))`",
    "list.last": "`lodkit.sequence_pool(t, pool='last', pad_value=np.nan)`",
    "list.len": "`t.lengths()`",
    "list.max": "`lodkit.sequence_pool(t, pool='max', pad_value=np.nan)`",
    "list.mean": "`lodkit.sequence_pool(t, pool='mean', pad_value=np.nan)`",
    "list.median": "not here: `[np.median(s) for s in t.sequences() if len(s)]`",
    "list.min": "`lodkit.sequence_pool(t, pool='min', pad_value=np.nan)`",
    "list.n_unique": "`lodkit.merge_id_lists(tokens).lengths()`",
    "list.reverse": "`lodkit.sequence_reverse(t)`",
    "list.sample": "not here: `LoDTensor.from_sequences([rng.choice(s, 2) for s in t.sequences() if len(s)])`",
    "list.set_difference list.set_symmetric_difference list.set_intersection": (
        "not here: tokens of a list of words go by `lodkit.sequence_erase(tokens, tokens=[5])`"
    ),
    "list.set_union": "`lodkit.merge_id_lists(tokens, tokens)`, ascending",
    "list.shift": "`lodkit.sequence_slice(t, 1, clip=True)`, without filling",
    "list.slice": "`lodkit.sequence_slice(t, 1, 3, clip=True)`",
    "list.sort": (
        "`lodkit.sequence_sort(t, t, level=-1)`; from the largest, `lodkit.sequence_sort(t, t, level=-1, "
        "descending=True)`"
    ),
    "list.std": "`np.sqrt(lodkit.sequence_pool(np.square(lodkit.sequence_center(t)), pool='mean'))`, which is ddof=0",
    "list.var": "`lodkit.sequence_pool(np.square(lodkit.sequence_center(t)), pool='mean')`, which is ddof=0",
    "list.sum": "`lodkit.sequence_pool(t)`",
    "list.tail": "`lodkit.sequence_slice(t, -2, clip=True)`",
    "list.to_array": "`LoDTensor.from_uniform(np.ones((2, 3))).to_uniform()`",
    "list.to_map list.to_struct": "not here: a LoDTensor has no fields; `lodkit.Features` has keys",
    "list.unique": "`lodkit.merge_id_lists(tokens)`, ascending",
    "arr.to_list": "`LoDTensor.from_uniform(np.ones((2, 3)))`",
    "arr.dot": "`lodkit.sequence_pool(t * u)`",
    "DataFrame.group_by": "`LoDTensor.from_segment_ids(x, index)`: agg of columns as lists",
}

ARROW = {
    "pc.list_element": "`lodkit.sequence_slice(t, 1, 2, clip=True)`: lists of one",
    "pc.list_flatten ListArray.flatten ListArray.values": "`t.values`",
    "pc.list_parent_indices": "`t.segment_ids()`",
    "pc.list_slice": "`lodkit.sequence_slice(t, 0, 2, clip=True)`",
    "pc.list_value_length": "`t.lengths()`",
    "ListArray.from_arrays": "`LoDTensor.from_offsets(x, offsets)`",
    "ListArray.offsets": "`t.offsets()`",
    "pa.concat_arrays": "`lodkit.concat([t, u])`",
}

NESTED = {
    "torch.nested.nested_tensor torch.nested.as_nested_tensor": "`LoDTensor.from_sequences([t[0], t[2]])`",
    "torch.nested.nested_tensor_from_jagged": "`LoDTensor.from_offsets(x, offsets)`; back `t.to_torch()`",
    "torch.nested.narrow": "`LoDTensor.from_padded(dense, [3, 0, 2])`",
    "torch.nested.masked_select": (
        "`LoDTensor.from_segment_ids(t.values[keep], t.segment_ids()[keep], num_segments=len(t))`"
    ),
    "torch.nested.to_padded_tensor NestedTensor.to_padded_tensor": "`t.to_padded(0)`",
    "NestedTensor.values": "`t.values`",
    "NestedTensor.offsets": "`t.offsets()`",
    "NestedTensor.lengths": "`t.lengths()`",
    "NestedTensor.unbind": "`t.sequences()`",
    "NestedTensor.sum": "`lodkit.sequence_pool(t)`",
    "NestedTensor.mean": "`lodkit.sequence_pool(t, pool='mean', pad_value=np.nan)`",
    "NestedTensor.amax": "`lodkit.sequence_pool(t, pool='max')`",
    "NestedTensor.amin": "`lodkit.sequence_pool(t, pool='min')`",
    "NestedTensor.prod": "`lodkit.sequence_pool(t, pool='prod', pad_value=1)`",
    "NestedTensor.argmax": "`lodkit.sequence_pool(t, pool='max', return_index=True)[1] - t.offsets()[:-1]`",
    "NestedTensor.softmax": "`lodkit.sequence_softmax(t)`",
    "NestedTensor.is_nested": "`t.lod_level > 0`",
}
