"""LoDTensors and SelectedRows over PyTorch's CPU tensors: values are tensors, and are shared."""

from __future__ import annotations

import copy
import gc
import operator
import pickle
import warnings

import numpy as np
import pytest

import lodkit
from lodkit import DTypeError, LoDError, LodkitError, LoDTensor, RowIndexError, SelectedRows

torch = pytest.importorskip("torch")
LENGTHS = [[2, 1], [3, 1, 2]]


@pytest.fixture
def values():
    return torch.arange(12.0).reshape(6, 2)


@pytest.fixture
def t(values):
    return LoDTensor(values, LENGTHS)


@pytest.fixture
def n(values):
    """The same over an array."""
    return LoDTensor(values.numpy(), LENGTHS)


def same(got, expected):
    assert isinstance(got.values, torch.Tensor) and got.lod() == expected.lod() and got.shape == expected.shape
    assert got.values.numpy().dtype == expected.values.dtype
    np.testing.assert_allclose(got.values.numpy(), expected.values, rtol=1e-6)


def test_values_are_the_tensor(t, values):
    assert t.values is values and t.device == "cpu" and t.dtype is torch.float32
    assert t.shape == (6, 2) and type(t.shape) is tuple and t.nbytes == 48 + 24 + 32
    assert t.to("cpu") is t and t.lod_level == 2 and len(t) == 2
    values[0] = 7
    assert t[0, 0][0].tolist() == [7, 7]


def test_structure_is_copied_from_tensors(values):
    lengths, offsets = torch.tensor([3, 1, 2], dtype=torch.int32), torch.tensor([0, 3, 4, 6])
    made = [LoDTensor(values, [lengths]), LoDTensor.from_offsets(values, offsets), LoDTensor(values, lod=[offsets])]
    made.append(LoDTensor.from_segment_ids(values, torch.tensor([0, 0, 0, 1, 2, 2])))
    offsets[1], lengths[0] = 99, 99
    for t in made:
        assert t.values is values and t.lod() == [[0, 3, 4, 6]] and not t.offsets().flags.writeable


def test_bad_structure_in_tensors_raises(values):
    for wrong, text in (
        ([torch.tensor([3, -1, 4])], r"\[1\] = -1 is negative"),
        ([torch.tensor([3.5])], "must be integers"),
        ([torch.tensor(3)], "one-dimensional"),
        (torch.tensor([3, 3]), "one-dimensional"),
        ([torch.tensor([3, 4])], "1 too many"),
    ):
        with pytest.raises(LodkitError, match=text):
            LoDTensor(values, wrong)
    with pytest.raises(RowIndexError, match=r"rows\[1\] = 9"):
        SelectedRows(torch.tensor([0, 9]), values[:2], 6)


def test_indexing_gives_views(t, n, values):
    assert t[1, 0].data_ptr() == values[4:].data_ptr() and t[0, 0, 1].tolist() == [2, 3]
    for key in (0, -1, np.s_[:1], np.s_[::-1], [1, 0], np.array([True, False]), torch.tensor([1, 0]), torch.tensor(1)):
        same(t[key], n[key.tolist() if isinstance(key, torch.Tensor) else key])
    same(t[torch.tensor([True, False])], n[[0]])
    same(t.slice(0, 1), n.slice(0, 1))
    assert [x.tolist() for x in t.sequences()] == [x.tolist() for x in n.sequences()]
    assert all(isinstance(x, torch.Tensor) for _, x in t.branches()) and [len(x) for x in t] == [2, 1]
    assert all(isinstance(row, torch.Tensor) for row in LoDTensor(values))
    with pytest.raises(RowIndexError, match="out of range"):
        t[torch.tensor([5])]


def test_views_live_longer_than_their_source():
    view = LoDTensor(torch.full((1000, 100), 3.0), [[400, 600]])[1:]
    taken = LoDTensor(torch.full((1000, 100), 3.0), [[400, 600]])[[1, 0]]
    gc.collect()
    assert (view.values == 3).all() and (taken.values == 3).all() and len(view.values) == 600


def test_other_encodings_are_tensors(t, n, values):
    for made, expected in (
        (t.to_padded(-1), n.to_padded(-1)),
        (t.to_padded(max_length=2), n.to_padded(max_length=2)),
        (LoDTensor(values, [[3, 3]]).to_uniform(), values.numpy().reshape(2, 3, 2)),
    ):
        assert isinstance(made, torch.Tensor) and torch.equal(made, torch.from_numpy(expected))
    padded = LoDTensor(values, [[3, 1, 2]]).to_padded()
    same(LoDTensor.from_padded(padded, torch.tensor([3, 1, 2])), LoDTensor(values.numpy(), [[3, 1, 2]]))
    same(LoDTensor.from_padded(padded, pad_value=0), LoDTensor(values.numpy(), [[3, 1, 2]]))
    same(LoDTensor.from_uniform(values), LoDTensor.from_uniform(values.numpy()))
    ids = torch.tensor([1, 0, 1, 0, 2, 0])
    same(LoDTensor.from_segment_ids(values, ids), LoDTensor.from_segment_ids(values.numpy(), ids.numpy()))
    assert t.to_list() == n.to_list()


def test_sequences_and_batches_are_joined_by_torch(t, n, values):
    same(LoDTensor.from_sequences([values[:3], [], values[3:]]), LoDTensor(values.numpy(), [[3, 0, 3]]))
    same(lodkit.concat([t, n, t]), lodkit.concat([n, n, n]))
    same(LoDTensor.from_sequences([t, t]), LoDTensor.from_sequences([n, n]))
    for part, expected in zip(lodkit.split(t, 2), lodkit.split(n, 2), strict=True):
        same(part, expected)
    assert [x.shape for x in lodkit.split(values, 3)] == [(2, 2)] * 3
    labels = torch.tensor([5, 6])
    for batch, label in lodkit.batches(t, labels, size=1, seed=0):
        assert isinstance(batch.values, torch.Tensor) and isinstance(label, torch.Tensor)
        assert len(batch[0]) == (2 if label.item() == 5 else 1)
    with pytest.raises(LoDError, match="sequence 1 has shape"):
        LoDTensor.from_sequences([values, torch.ones(2, 3)])


def test_relevelling_shares(t, values):
    assert t.append_level().values is values and t.drop_level(0).values is values
    assert t.with_values(values).values is values
    t.set_values(values[:, 0])
    assert t.shape == (6,)
    with pytest.raises(LoDError, match=r"values\.shape\[0\]=5"):
        t.set_values(values[:5])


def test_reprs(t, n):
    assert repr(t) == repr(n) and t._repr_html_() == n._repr_html_()
    s = SelectedRows([1, 2], torch.ones(2, 2), 4)
    assert repr(s) == "SelectedRows(rows=[1, 2], value=[[1., 1.], [1., 1.]], height=4)" and "4 rows" in s._repr_html_()
    assert "bfloat16" in repr(t.with_values(t.values.bfloat16()))
    big = LoDTensor(torch.zeros(10_000, 3), [[10_000]])
    assert len(repr(big)) < 2000 and len(big._repr_html_()) < 10_000


BINARY = [operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod, operator.pow]
BINARY += [operator.lt, operator.ge, operator.eq, operator.ne, np.maximum, np.arctan2, np.logaddexp, np.copysign]


@pytest.mark.parametrize("function", BINARY)
def test_arithmetic_keeps_structure(function, t, n):
    t, n = t + 1, n + 1
    row = np.array([1.0, 3.0], np.float32)
    for x in (2.0, row):
        same(function(t, x), function(n, x))
    same(function(t, torch.from_numpy(row)), function(n, row))
    same(function(t, t), function(n, n))
    same(function(n, t), function(n, n))
    same(function(2.0, t), function(2.0, n))


@pytest.mark.parametrize("ufunc", [np.exp, np.negative, np.absolute, np.isnan, np.rint, np.fabs, np.square, np.sign])
def test_ufuncs(ufunc, t, n):
    made, expected = ufunc(t), ufunc(n)
    assert isinstance(made.values, torch.Tensor) and made.values.numpy().dtype == expected.dtype
    np.testing.assert_allclose(made.values, expected.values, rtol=1e-6)


def test_types_follow_pytorch():
    whole = LoDTensor(torch.tensor([1, 2]), [[2]])
    assert [(whole / 2).dtype, (whole * 0.5).dtype, (whole + 1).dtype] == [torch.float32, torch.float32, torch.int64]
    half = LoDTensor(torch.ones(2, dtype=torch.bfloat16), [[2]])
    assert (half * 2).dtype is torch.bfloat16 and np.exp(half).dtype is torch.bfloat16
    assert half.to_padded().dtype is torch.bfloat16 and half[[0]].dtype is torch.bfloat16


def test_ufuncs_into_and_where(t, n):
    out = t.with_values(torch.zeros(6, 2))
    version = out.values._version
    assert np.add(t, 1, out=out) is out and out.equals(n + 1) and out.values._version > version
    same(np.where(t > 3, t, 0.0), np.where(n > 3, n, np.float32(0)))
    same(np.clip(t, 2, 5), np.clip(n, 2, 5))
    assert all(isinstance(part.values, torch.Tensor) for part in np.modf(t))
    with pytest.raises(LoDError, match="lod_level 2 against 1"):
        t + LoDTensor(t.values, [[6]])


def test_autograd_records_what_torch_computes():
    leaf = torch.ones(6, 2, requires_grad=True)
    t = LoDTensor(leaf, LENGTHS)
    (lodkit.concat([t * 2, t[1:]])[[0, 1]].values ** 2).sum().backward()
    assert leaf.grad.tolist() == [[8.0, 8.0]] * 6
    assert (
        t.equals(LoDTensor(np.ones((6, 2), np.float32), LENGTHS))
        and "1." in repr(t)
        and t.to_list()[1] == [[[1, 1]] * 2]
    )
    with pytest.raises(TypeError, match=r"lodkit.interop.torch.*\.detach\(\)"):
        t.to_padded()


def test_pickle_and_copy(t):
    for made in (pickle.loads(pickle.dumps(t)), copy.deepcopy(t)):
        assert made.equals(t) and made.lod() == t.lod() and isinstance(made.values, torch.Tensor)
        assert made.values.data_ptr() != t.values.data_ptr()
    assert copy.copy(t).values is t.values
    s = SelectedRows([1, 0], torch.ones(2, 2), 4)
    for made in (pickle.loads(pickle.dumps(s)), copy.deepcopy(s)):
        assert torch.equal(made.value, s.value) and made.rows.tolist() == [1, 0] and made.height == 4


def test_selected_rows():
    rows, value = torch.tensor([2, 0, 2], dtype=torch.int32), torch.tensor([[1.0, 2], [3, 4], [5, 6]])
    s, n = SelectedRows(rows, value, 4), SelectedRows(rows.numpy(), value.numpy(), 4)
    rows[0] = 77
    assert s.value is value and s.get_tensor() is value and s.rows.tolist() == [2, 0, 2] and s.device == "cpu"
    assert not s.rows.flags.writeable and s.shape == (4, 2) and s.nbytes == n.nbytes and s.dtype is torch.float32
    for made, expected in (
        (s.merge(), n.merge()),
        (s * 2, n * 2),
        (-s, -n),
        (s / 2, n / 2),
        (s + s, n + n),
        (s - s, n - n),
        (s.clip_by_norm(1.0), n.clip_by_norm(1.0)),
        (s.split([2, 2])[1], n.split([2, 2])[1]),
        (s * torch.tensor(2.0), n * 2),
    ):
        assert isinstance(made.value, torch.Tensor) and made.rows.tolist() == expected.rows.tolist()
        np.testing.assert_allclose(made.value, expected.value, rtol=1e-6)
    assert s.norm() == n.norm() and s.merge().merge() is not s
    assert torch.equal(s.to_dense(), torch.from_numpy(n.to_dense()))
    dense = torch.ones(4, 2)
    for made in (s + dense, dense + s, dense - s):
        assert isinstance(made, torch.Tensor) and made.shape == (4, 2)
    assert torch.equal(dense - s, dense - s.to_dense())
    sparse = s.to_torch()
    assert torch.equal(sparse.to_dense(), s.to_dense()) and sparse._values().data_ptr() == value.data_ptr()
    with pytest.raises(LoDError, match="3 rows, but value has shape"):
        SelectedRows([0, 1, 2], torch.ones(2, 2), 4)


def test_what_is_no_dense_cpu_tensor_is_refused():
    with pytest.warns(UserWarning, match="deprecated|prototype"):
        quantized = torch.quantize_per_tensor(torch.ones(3), 0.1, 0, torch.qint8)
    for make in (lambda x: LoDTensor(x), lambda x: SelectedRows([0, 1, 2], x, 3), lodkit.relu):
        for x, error, text in (
            (torch.eye(3).to_sparse(), TypeError, "SelectedRows.from_torch"),
            (torch.eye(3).to_mkldnn(), TypeError, "to_dense"),
            (torch.nested.nested_tensor([torch.ones(2)], layout=torch.jagged), TypeError, "LoDTensor.from_torch"),
            (torch.empty(3, device="meta"), TypeError, "on meta, which has no numbers"),
            (quantized, DTypeError, "dequantize"),
        ):
            with pytest.raises(error, match=text):
                make(x)


def test_a_storage_that_was_resized_is_not_read():
    for dtype in (torch.float32, torch.bfloat16):
        x = torch.ones(1000, dtype=dtype)
        t = LoDTensor(x[500:], [[500]])
        x.untyped_storage().resize_(0)
        for read in (lambda: lodkit.sequence_pool(t), t.to_padded, lambda: t.equals(t), lambda: t + 1):
            with pytest.raises(LodkitError, match="was resized"):
                read()
    x = torch.ones(6)
    t = LoDTensor(x, [[6]])
    x.resize_(4)
    with pytest.raises(LoDError, match="its values have 4 now"):
        lodkit.sequence_pool(t)


def test_scipy_takes_tensors():
    pytest.importorskip("scipy")
    ids = LoDTensor(torch.tensor([1, 2, 1]), [[1, 2]])
    assert ids.to_scipy().toarray().tolist() == [[0, 1, 0], [0, 1, 1]]
    scores = LoDTensor(torch.tensor([0.5, 1.5, 2.0]), [[1, 2]])
    assert ids.to_scipy(scores).toarray().tolist() == [[0, 0.5, 0], [0, 2, 1.5]]
    assert ids.to_sparse_matrix(scores).tolist() == [[0, 0.5, 0], [0, 2, 1.5]]
    assert SelectedRows([1], torch.ones(1, 2), 2).to_scipy().toarray().tolist() == [[0, 0], [1, 1]]


def test_optimizers_of_arrays_name_the_way():
    with pytest.raises(TypeError, match=r"table\.detach\(\)\.numpy\(\), which shares"):
        lodkit.optim.SGD({"table": torch.ones(3)}, lr=0.1)


@pytest.mark.parametrize("count", [2, 5000])
def test_what_a_tensor_writes_to_offsets_is_no_structure(count):
    """PyTorch shares read-only arrays with a warning, once in a process."""
    t = LoDTensor(np.ones(2 * count), [np.full(count, 2)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        shared = torch.from_numpy(t.offsets())
    shared[1] = 1 << 40
    assert lodkit.sequence_pool(t).tolist() == [2.0] * count and t.lod()[0][1] == 2
