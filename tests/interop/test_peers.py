"""Rows of docs/coming-from.md beside the libraries that they are about: the same values."""

from __future__ import annotations

import numpy as np
import pytest
from coming_from import ANSWERS, assert_same, run_ours, values_for

#: Library -> names -> an expression of it, of the values of the page: ``of(t)`` is a LoDTensor there.
SAMPLES = {
    "awkward": {
        "ak.Array": "ak.Array([[1.0, 2.0], []])",
        "ak.all": "ak.all(of(t) > 2, axis=1)",
        "ak.any": "ak.any(of(t) > 2, axis=1)",
        "ak.argsort": "ak.argsort(of(t), axis=1)",
        "ak.broadcast_arrays": "ak.broadcast_arrays(np.arange(3.0), of(t))[0]",
        "ak.concatenate": "ak.concatenate([of(t), of(u)])",
        "ak.count": "ak.count(of(t), axis=1)",
        "ak.count_nonzero": "ak.count_nonzero(of(t), axis=1)",
        "ak.firsts": "ak.firsts(of(t))",
        "ak.singletons": "ak.singletons(ak.Array([1.0, None, 2.0]))",
        "ak.flatten": "ak.flatten(of(t))",
        "ak.ravel": "ak.ravel(of(n))",
        "ak.from_iter": "ak.from_iter([[1, 2], [], [3]])",
        "ak.ones_like": "ak.ones_like(of(t))",
        "ak.local_index": "ak.local_index(of(t))",
        "ak.max": "ak.max(of(t), axis=1)",
        "ak.mean": "ak.mean(of(t), axis=1)",
        "ak.min": "ak.min(of(t), axis=1)",
        "ak.nansum": "ak.nansum(of(t), axis=1)",
        "ak.num": "ak.num(of(t))",
        "ak.prod": "ak.prod(of(t), axis=1)",
        "ak.ptp": "ak.fill_none(ak.ptp(of(t), axis=1), 0)",
        "ak.round": "ak.round(of(t))",
        "ak.run_lengths": "ak.run_lengths(ids)",
        "ak.softmax": "ak.softmax(of(t), axis=1)",
        "ak.sort": "ak.sort(of(t), axis=1)",
        "ak.std": "ak.std(of(t), axis=1)",
        "ak.sum": "ak.sum(of(t), axis=1)",
        "ak.to_list": "ak.to_list(of(t))",
        "ak.unflatten": "ak.unflatten(x, lengths)",
        "ak.values_astype": "ak.values_astype(of(t), 'float32')",
        "ak.var": "ak.var(of(t), axis=1)",
        "ak.where": "ak.where(of(t) > 2, of(t), 0)",
    },
    "polars": {
        "list.agg": "of(t).list.sum()",
        "list.all": "(of(t).list.eval(pl.element() > 2)).list.all()",
        "list.any": "(of(t).list.eval(pl.element() > 2)).list.any()",
        "list.concat": "of(t).list.concat([of(u)])",
        "list.contains": "of(tokens).list.contains(5)",
        "list.count_matches": "of(tokens).list.count_matches(5)",
        "list.diff": "[s for s in of(t).list.diff().list.slice(1)]",
        "list.eval": "of(t).list.eval(pl.element() * 2 + 1)",
        "list.filter": "of(t).list.filter(~pl.element().is_in([1.0, 4.0]))",
        "list.first": "of(t).list.first()",
        "list.gather_every": "of(t).list.gather_every(2)",
        "list.get": "[[] if x is None else [x] for x in of(t).list.get(1, null_on_oob=True)]",
        "list.head": "of(t).list.head(2)",
        "list.last": "of(t).list.last()",
        "list.len": "of(t).list.len()",
        "list.max": "of(t).list.max()",
        "list.mean": "of(t).list.mean()",
        "list.median": "of(t).list.median().drop_nulls()",
        "list.min": "of(t).list.min()",
        "list.n_unique": "of(tokens).list.n_unique()",
        "list.reverse": "of(t).list.reverse()",
        "list.set_union": "of(tokens).list.set_union(of(tokens)).list.sort()",
        "list.shift": "of(t).list.slice(1)",
        "list.slice": "of(t).list.slice(1, 2)",
        "list.sort": "of(t).list.sort()",
        "list.std": "of(t).list.std(ddof=0).fill_null(0)",
        "list.sum": "of(t).list.sum()",
        "list.tail": "of(t).list.tail(2)",
        "list.unique": "of(tokens).list.unique().list.sort()",
        "list.var": "of(t).list.var(ddof=0).fill_null(0)",
    },
    "pandas": {
        "Series.explode": "of(t).explode().dropna()",
        "Series.str.len": "of(t).str.len()",
        "Series.str.get": "of(t).str.get(0)",
        "Series.str.slice": "of(t).str.slice(0, 2)",
        "Series.tolist": "of(t).tolist()",
        "groupby.agg": "pd.Series(list(x)).groupby(index).agg(list)",
        "groupby.sum": "pd.DataFrame(x).groupby(index).sum().to_numpy()",
        "groupby.mean": "pd.DataFrame(x).groupby(index).mean().to_numpy()",
        "groupby.max": "pd.DataFrame(x).groupby(index).max().to_numpy()",
        "groupby.min": "pd.DataFrame(x).groupby(index).min().to_numpy()",
        "groupby.prod": "pd.DataFrame(x).groupby(index).prod().to_numpy()",
        "groupby.first": "pd.DataFrame(x).groupby(index).first().to_numpy()",
        "groupby.last": "pd.DataFrame(x).groupby(index).last().to_numpy()",
        "groupby.size": "pd.Series(ids).groupby(pd.Categorical(ids, range(4)), observed=False).size()",
        "groupby.cumcount": "pd.Series(ids).groupby(ids).cumcount()",
        "pd.get_dummies": "pd.get_dummies(of(tokens).explode().astype('category').cat.set_categories(range(8)))"
        ".groupby(level=0).max().to_numpy()",
        "pd.concat": "pd.concat([of(t), of(u)])",
    },
    "pyarrow": {
        "pc.list_flatten": "pc.list_flatten(of(t))",
        "pc.list_parent_indices": "pc.list_parent_indices(of(t))",
        "pc.list_slice": "pc.list_slice(of(t), 0, 2)",
        "pc.list_value_length": "pc.list_value_length(of(t))",
        "ListArray.offsets": "of(t).offsets",
        "pa.concat_arrays": "pa.concat_arrays([of(t), of(u)])",
    },
    "torch": {
        "torch.segment_reduce": "torch.segment_reduce(torch.tensor(x), 'sum', lengths=torch.tensor(lengths))",
        "torch.index_add": "torch.zeros(3, 2, dtype=torch.float64).index_add(0, torch.tensor(index), torch.tensor(x))",
        "torch.scatter_reduce": "torch.zeros(3, 2, dtype=torch.float64).scatter_reduce(0, torch.tensor(index)[:, None]"
        ".expand(6, 2), torch.tensor(x), 'amax', include_self=False)",
        "torch.index_select": "torch.tensor(table).index_select(0, torch.tensor(ids))",
        "torch.repeat_interleave": "torch.tensor(table[:4]).repeat_interleave(torch.tensor(lengths), 0)",
        "torch.unique_consecutive": "torch.unique_consecutive(torch.tensor(ids))",
        "torch.nn.functional.embedding_bag": "torch.nn.functional.embedding_bag(torch.tensor(tokens.values), "
        "torch.tensor(table), torch.tensor(tokens.offsets()[:-1]), mode='sum')",
        "torch.nn.functional.one_hot": "torch.nn.functional.one_hot(torch.tensor(ids), 4)",
        "torch.nn.utils.rnn.pad_sequence": "torch.nn.utils.rnn.pad_sequence([torch.tensor(s) for s in t], True)",
        "torch.nn.utils.rnn.unpad_sequence": "torch.nn.utils.rnn.unpad_sequence(torch.tensor(dense), "
        "torch.tensor([3, 0, 2]), batch_first=True)",
        "torch.nested.nested_tensor": "of(LoDTensor.from_sequences([t[0], t[2]]))",
        "torch.nested.nested_tensor_from_jagged": "torch.nested.nested_tensor_from_jagged(torch.tensor(x), "
        "torch.tensor(offsets))",
        "torch.nested.narrow": "torch.nested.narrow(torch.tensor(dense), 1, torch.zeros(3, dtype=torch.int64), "
        "torch.tensor([3, 0, 2]), layout=torch.jagged)",
        "torch.nested.to_padded_tensor": "torch.nested.to_padded_tensor(of(t), 0)",
        "NestedTensor.values": "of(t).values()",
        "NestedTensor.offsets": "of(t).offsets()",
        "NestedTensor.lengths": "of(t).offsets().diff()",
        "NestedTensor.unbind": "of(t)",
        "NestedTensor.sum": "of(t).sum(1)",
        "NestedTensor.softmax": "[torch.softmax(s, 0) for s in of(t).unbind()]",
        "NestedTensor.is_nested": "of(t).is_nested",
    },
}
#: Library -> its short name in expressions, and how a LoDTensor becomes a value of it by way of lists.
OF = {
    "awkward": ("ak", lambda ak, t: ak.Array(t.to_list())),
    "polars": ("pl", lambda pl, t: pl.Series(t.to_list())),
    "pandas": ("pd", lambda pd, t: pd.Series(t.to_list())),
    "pyarrow": ("pa", lambda pa, t: pa.array(t.to_list())),
    "torch": ("torch", lambda torch, t: torch.nested.nested_tensor([torch.tensor(s) for s in t], layout=torch.jagged)),
}
CASES = [pytest.param(library, name, id=name) for library, names in SAMPLES.items() for name in names]


@pytest.mark.parametrize(("library", "name"), CASES)
def test_a_row_gives_the_same_values(library, name):
    module = pytest.importorskip(library)
    short, convert = OF[library]
    names = values_for(name) | {short: module, "of": lambda t: convert(module, t)}
    if library == "pyarrow":
        names["pc"] = pytest.importorskip("pyarrow.compute")
    theirs = eval(SAMPLES[library][name], names)
    assert_same(run_ours(name), theirs)


#: Of awkward: types, records, files of other programs, and what a LoDTensor has no counterpart of.
NOT_OF_LISTS = {
    *("backend", "broadcast_fields", "enforce_type", "from_arrow_schema", "from_avro_file", "from_cudf"),
    *("from_rdataframe", "is_categorical", "is_tuple", "materialize", "merge_option_of_records"),
    *("merge_union_of_records", "metadata_from_parquet", "mixin_class", "mixin_class_method", "parameters", "to_cudf"),
    *("to_parquet_dataset", "to_parquet_row_groups", "to_rdataframe", "with_name", "with_named_axis"),
    *("with_parameter", "without_named_axis", "without_parameters", "zip_no_broadcast"),
}


@pytest.mark.parametrize(
    ("module", "prefix", "left_out"),
    [
        ("awkward", "ak.", NOT_OF_LISTS),
        ("polars.series.list", "list.", set()),
        ("torch.nested", "torch.nested.", set()),
        ("pyarrow.compute", "pc.", {"list_functions"}),
    ],
)
def test_every_function_of_a_library_has_a_row(module, prefix, left_out):
    found = pytest.importorskip(module)
    if module == "polars.series.list":
        found = found.ListNameSpace
    names = {name for name in dir(found) if name[0].islower() and callable(getattr(found, name))}
    if module == "torch.nested":
        names = {*found.__all__}
    if module == "pyarrow.compute":
        names = {name for name in names if name.startswith("list_")}
    missing = {name for name in names - left_out if prefix + name not in ANSWERS}
    assert len(names) > 2
    assert not missing, f"give these a row in lodkit/registry/peers: {sorted(missing)}"


def test_samples_compare_what_differs():
    """A comparison that could not fail would hold anything."""
    with pytest.raises(AssertionError):
        assert_same([[1.0, 2.0]], [[1.0], [2.0]])
    with pytest.raises(AssertionError):
        assert_same(np.ones(2), [1.0, np.nan])
    assert sum(map(len, SAMPLES.values())) >= 60
