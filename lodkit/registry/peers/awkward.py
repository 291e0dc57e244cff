"""Functions of awkward that concern lists."""

from __future__ import annotations

#: Names of awkward -> what does it here.
AWKWARD = {
    "ak.Array": (
        "`LoDTensor.from_awkward(a)`, back `t.to_awkward()`; of lists `LoDTensor.from_nested([[1, 2], [], [3]])`"
    ),
    "ak.all": "`lodkit.sequence_pool(t > 2, pool='min', pad_value=1) > 0`",
    "ak.almost_equal ak.isclose": "`t.same_lod(u) and np.allclose(t.values, u.values)`",
    "ak.any": "`lodkit.sequence_pool(t > 2, pool='max') > 0`",
    "ak.argcartesian ak.cartesian": (
        "`lodkit.match_matrix(n2, n2, cross)`: products of all pairs; the pairs alone are not here"
    ),
    "ak.argcombinations ak.combinations": "not here: `itertools.combinations` of each of `t.sequences()`",
    "ak.argmax": (
        "`lodkit.sequence_pool(t, pool='max', return_index=True)[1] - t.offsets()[:-1]`; of an empty one negative"
    ),
    "ak.argmin": (
        "`lodkit.sequence_pool(t, pool='min', return_index=True)[1] - t.offsets()[:-1]`; of an empty one negative"
    ),
    "ak.argsort": "`lodkit.sequence_sort(t.with_values(lodkit.lengths_range_fill(t.lengths())), t, level=-1)`",
    "ak.array_equal": "`t.equals(u)`",
    "ak.broadcast_arrays": "`lodkit.sequence_expand_as(np.arange(3.0), t)`: a row for each element",
    "ak.concatenate": "`lodkit.concat([t, u])`, for axis=0; `lodkit.sequence_concat(t, u)`, for axis=1",
    "ak.copy": "`t.copy()`",
    "ak.corr ak.covar ak.linear_fit ak.moment": (
        "not here: means of products, `lodkit.sequence_pool(lodkit.sequence_center(t) * u, pool='mean')` is the "
        "covariance"
    ),
    "ak.count": "`t.lengths()`",
    "ak.count_nonzero": "`lodkit.sequence_pool(t != 0)`",
    "ak.drop_none ak.fill_none ak.is_none ak.pad_none ak.nan_to_none": (
        "not here: a LoDTensor has no missing values; pad by `t.to_padded(-1)`, and read nulls of Arrow by "
        "`LoDTensor.from_arrow(t, nulls='empty')`"
    ),
    "ak.firsts": "`lodkit.sequence_pool(t, pool='first', pad_value=np.nan)`",
    "ak.singletons": "`LoDTensor.from_lengths([1.0, 2.0], [1, 0, 1])`",
    "ak.flatten": "`t.values`; for axis=1 of two levels `n.drop_level(0)`, for axis=2 `n.drop_level(-1)`",
    "ak.ravel": "`n.values`",
    "ak.from_arrow": "`LoDTensor.from_arrow(t)`",
    "ak.from_buffers": "`LoDTensor.from_offsets(x, offsets)`",
    "ak.from_dlpack ak.from_numpy ak.from_jax ak.from_cupy": "`LoDTensor(x, [[2, 1, 0, 3]])`",
    "ak.from_iter": "`LoDTensor.from_nested([[1, 2], [], [3]])`",
    "ak.from_json": "not here: `json.loads`, and then `LoDTensor.from_nested([[1, 2], [], [3]])`",
    "ak.from_parquet ak.from_feather": "pyarrow reads the file, and then `LoDTensor.from_arrow(column)`",
    "ak.from_raggedtensor ak.from_tensorflow": "`LoDTensor.from_offsets(x, offsets)`: flat_values and row_splits",
    "ak.from_regular ak.to_regular": (
        "`LoDTensor.from_uniform(np.ones((2, 3)))`, back by `LoDTensor.from_uniform(np.ones((2, 3))).to_uniform()`"
    ),
    "ak.from_safetensors ak.to_safetensors": "`lodkit.save('t.safetensors', t)`, `lodkit.load('t.safetensors')`",
    "ak.from_torch": "`LoDTensor(tensor, [[1, 2]])`",
    "ak.full_like ak.ones_like ak.zeros_like": "`t.with_values(np.ones_like(t.values))`",
    "ak.is_valid ak.validity_error": "`t.has_valid_recursive_sequence_lengths()`; made ones are checked",
    "ak.local_index": "`t.with_values(lodkit.lengths_range_fill(t.lengths()))`",
    "ak.mask": (
        "`np.where(t > 2, t, np.nan)`; without them as ak.drop_none of it would, "
        "`LoDTensor.from_segment_ids(t.values[keep], t.segment_ids()[keep], num_segments=len(t))`"
    ),
    "ak.max": "`lodkit.sequence_pool(t, pool='max', pad_value=np.nan)`",
    "ak.mean": "`lodkit.sequence_pool(t, pool='mean', pad_value=np.nan)`",
    "ak.min": "`lodkit.sequence_pool(t, pool='min', pad_value=np.nan)`",
    "ak.nan_to_num": "`t.with_values(np.nan_to_num(t.values))`",
    "ak.nanargmax ak.nanargmin ak.nanmax ak.nanmin": (
        "not here: fill first, `lodkit.sequence_pool(np.where(np.isnan(t), -np.inf, t), pool='max')`"
    ),
    "ak.nanmean ak.nanstd ak.nanvar": (
        "not here: leave NaN out first, as boolean_mask does, or divide "
        "`lodkit.sequence_pool(np.where(np.isnan(t), 0, t))` by `lodkit.sequence_pool(~np.isnan(t))`"
    ),
    "ak.nansum": "`lodkit.sequence_pool(np.where(np.isnan(t), 0, t))`",
    "ak.nanprod": "`lodkit.sequence_pool(np.where(np.isnan(t), 1, t), pool='prod', pad_value=1)`",
    "ak.num": "`t.lengths()`; of the outer level `n.lengths(0)`, of all `n.recursive_sequence_lengths()`",
    "ak.prod": "`lodkit.sequence_pool(t, pool='prod', pad_value=1)`",
    "ak.ptp": "`lodkit.sequence_pool(t, pool='max') - lodkit.sequence_pool(t, pool='min')`",
    "ak.real ak.imag ak.angle": "`t.with_values(np.real(t.values))`; operators take real numbers",
    "ak.round": "`np.rint(t)`",
    "ak.run_lengths": "`lodkit.unique(ids, return_counts=True)[1]`: of sorted ids",
    "ak.softmax": "`lodkit.sequence_softmax(t)`",
    "ak.sort": (
        "`lodkit.sequence_sort(t, t, level=-1)`; from the largest, `lodkit.sequence_sort(t, t, level=-1, "
        "descending=True)`"
    ),
    "ak.std": "`np.sqrt(lodkit.sequence_pool(np.square(lodkit.sequence_center(t)), pool='mean', pad_value=np.nan))`",
    "ak.sum": (
        "`lodkit.sequence_pool(t)`; of the outer level `lodkit.sequence_pool(n, level=0)`, of all `t.values.sum()`"
    ),
    "ak.to_arrow ak.to_arrow_table": "`t.to_arrow()`",
    "ak.to_buffers": "`t.values`, `t.lod()`",
    "ak.to_dataframe": "`pd.Series(t.to_list()).explode()`",
    "ak.to_jax ak.to_cupy": "`t.values`, which jax.dlpack.from_dlpack shares, and `t.offsets()`",
    "ak.to_json": "`json.dumps(t.to_list())`",
    "ak.to_layout ak.type": "`t.lod_level`, `t.dtype`, `t.shape`",
    "ak.to_list": "`t.to_list()`",
    "ak.to_numpy": (
        "`t.values`; padded `t.to_padded()`; of equal lengths `LoDTensor.from_uniform(np.ones((2, 3))).to_uniform()`"
    ),
    "ak.to_packed": "`t.copy()`",
    "ak.to_parquet ak.to_feather": "pyarrow writes the file, of `t.to_arrow()`",
    "ak.to_raggedtensor ak.to_tensorflow": "`t.values`, `t.offsets()`: flat_values and row_splits",
    "ak.to_torch": "`t.to_torch()`: a nested tensor",
    "ak.transform": "`t.with_values(np.sqrt(t.values))`",
    "ak.unflatten": "`LoDTensor.from_lengths(x, lengths)`; a level more `t.append_level([1, 1, 1, 0, 2])`",
    "ak.values_astype": "`t.astype('float32')`",
    "ak.var": "`lodkit.sequence_pool(np.square(lodkit.sequence_center(t)), pool='mean', pad_value=np.nan)`",
    "ak.where": "`np.where(t > 2, t, 0)`",
    "ak.zip ak.unzip ak.fields ak.with_field ak.without_field": (
        "not here: a LoDTensor has no fields; several tensors of one structure, or `lodkit.Features`"
    ),
    "ak.to_backend": "`t.to('cpu')`, or 'cuda'",
    "ak.strings_astype ak.from_categorical ak.categories": "`lodkit.vocabulary([['to', 'be']])`: words to ids",
}
